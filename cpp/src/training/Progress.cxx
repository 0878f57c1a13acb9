#include "Progress.hxx"

#include "Notebook.hxx"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>

namespace CladTorch {
namespace Internal {

namespace {
constexpr std::size_t kBarWidth = 10;
constexpr std::size_t kPlainLines = 10;
constexpr std::chrono::seconds kPlainInterval(4);
constexpr std::chrono::milliseconds kTerminalInterval(100);
constexpr std::chrono::milliseconds kNotebookInterval(500);

template <class... T>
std::string Text(const char *format, T... values)
{
   char text[128];
   std::snprintf(text, sizeof text, format, values...);
   return text;
}

/// "45 s", "3 min 20 s", "2 h 05 min", "3 days"
std::string Duration(double seconds)
{
   if (seconds < 60)
      return Text("%.0f s", seconds);
   if (seconds < 3600)
      return Text("%d min %02d s", static_cast<int>(seconds / 60), static_cast<int>(std::fmod(seconds, 60)));
   if (seconds > 48 * 3600)
      return Text("%.0f days", seconds / (24 * 3600));
   return Text("%.0f h %02d min", std::floor(seconds / 3600), static_cast<int>(std::fmod(seconds, 3600) / 60));
}

/// Columns of the terminal; a longer line would wrap, and could not be overwritten.
std::size_t Width()
{
   winsize size{};
   return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col - 1u : 79u;
}
} // namespace

Progress::Progress(std::size_t epochs, std::size_t before, bool silent)
   : fEpochs(epochs), fBefore(before), fSilent(silent), fNotebook(InNotebook()), fTerminal(!fNotebook && isatty(STDOUT_FILENO)),
     fDone(before), fShown(before)
{
}

void Progress::Part(std::uint64_t rows, std::uint64_t expected)
{
   fRows += rows - fEpochRows;
   fEpochRows = rows;
   fShare = expected ? static_cast<double>(rows) / static_cast<double>(expected) : 0;
   if (fShare >= 1 || !Due(Interval()))
      return;
   const auto epoch = Text("epoch %zu/%zu", fDone + 1, fEpochs);
   Write(Renews() ? Bar() + epoch + fFigures + Pace() : epoch + Text("  %.0f %%", 100 * fShare) + fFigures + Pace());
}

void Progress::Epoch(const std::string &figures, double seconds)
{
   ++fDone;
   fShare = 0;
   fEpochRows = 0;
   fFigures = figures;
   const bool last = fDone == fEpochs;
   const std::size_t step = std::max<std::size_t>(1, fEpochs / kPlainLines);
   const auto epoch = Text("epoch %zu/%zu", fDone, fEpochs);
   if (Renews()) {
      if (last || fDone == fBefore + 1 || Due(Interval())) {
         Write(Bar() + epoch + fFigures + (last ? Text("  %.3g s", seconds) : Pace()));
         fShown = fDone;
      }
   } else if (last || fDone == fBefore + 1 || fDone % step == 0 || Due(kPlainInterval)) {
      Write(epoch + fFigures + Text("  %.3g s", seconds) + (last ? "" : Pace()));
   }
}

void Progress::Finish()
{
   if (fOpen && fShown != fDone)
      Write(Bar() + Text("epoch %zu/%zu", fDone, fEpochs) + fFigures);
   fShown = fDone;
   if (fOpen && fTerminal)
      std::cout << std::endl;
   fOpen = false;
}

bool Progress::Renews() const
{
   return fNotebook || fTerminal;
}

Progress::Clock_t::duration Progress::Interval() const
{
   return fNotebook ? kNotebookInterval : fTerminal ? Clock_t::duration(kTerminalInterval) : kPlainInterval;
}

bool Progress::Due(Clock_t::duration interval) const
{
   return Clock_t::now() - fLast >= interval;
}

void Progress::Write(const std::string &line)
{
   fLast = Clock_t::now();
   if (fSilent)
      return;
   if (fNotebook)
      ShowLine(this, line, fOpen);
   else if (fTerminal)
      std::cout << "\r\033[K" << line.substr(0, Width()) << std::flush;
   else
      std::cout << line << std::endl;
   fOpen = Renews();
}

std::string Progress::Pace() const
{
   const double seconds = std::chrono::duration<double>(Clock_t::now() - fStart).count();
   const double done = static_cast<double>(fDone - fBefore) + fShare;
   if (seconds <= 0 || done <= 0)
      return "";
   return "  " + Duration(seconds * (static_cast<double>(fEpochs - fBefore) / done - 1)) + " left" +
          Text("  %.2g events/s", static_cast<double>(fRows) / seconds);
}

std::string Progress::Bar() const
{
   const double share = (static_cast<double>(fDone) + fShare) / static_cast<double>(fEpochs);
   const auto full = std::min(kBarWidth, static_cast<std::size_t>(share * kBarWidth));
   return "[" + std::string(full, '=') + std::string(kBarWidth - full, ' ') + "] ";
}

} // namespace Internal
} // namespace CladTorch
