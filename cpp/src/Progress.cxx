#include "Progress.hxx"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <string>

namespace CladTorch {
namespace Internal {

namespace {
constexpr std::size_t kBarWidth = 24;
constexpr std::size_t kPlainLines = 10;

std::string Bar(std::size_t epoch, std::size_t epochs)
{
   const std::size_t full = kBarWidth * epoch / epochs;
   return "[" + std::string(full, '=') + std::string(kBarWidth - full, ' ') + "] ";
}
} // namespace

Progress::Progress(std::size_t epochs, bool silent)
   : fEpochs(epochs), fSilent(silent), fTerminal(isatty(STDOUT_FILENO))
{
}

void Progress::Show(std::size_t epoch, double trainLoss, double validationLoss, double seconds)
{
   const std::size_t step = std::max<std::size_t>(1, fEpochs / kPlainLines);
   if (fSilent || (!fTerminal && epoch % step != 0 && epoch != 1 && epoch != fEpochs))
      return;
   char text[128];
   std::snprintf(text, sizeof text, "epoch %zu/%zu  loss %.5g", epoch, fEpochs, trainLoss);
   std::string line = text;
   if (!std::isnan(validationLoss)) {
      std::snprintf(text, sizeof text, "  validation %.5g", validationLoss);
      line += text;
   }
   std::snprintf(text, sizeof text, "  %.3g s", seconds);
   line += text;
   if (fTerminal)
      std::cout << "\r\033[K" << Bar(epoch, fEpochs) << line << std::flush;
   else
      std::cout << line << std::endl;
   fOpen = fTerminal;
}

void Progress::Finish()
{
   if (fOpen)
      std::cout << std::endl;
   fOpen = false;
}

} // namespace Internal
} // namespace CladTorch
