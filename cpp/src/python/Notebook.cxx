#include "Notebook.hxx"

namespace CladTorch {
namespace Internal {

namespace {
// Made by Python's ctypes, which takes Python's lock for them and prints their exceptions.
using ShowLine_t = void (*)(const void *owner, const char *line, bool again);
using ShowCanvas_t = void (*)(const char *name);

ShowLine_t gShowLine = nullptr;
ShowCanvas_t gShowCanvas = nullptr;
} // namespace

bool InNotebook()
{
   return gShowLine && gShowCanvas;
}

void ShowLine(const void *owner, const std::string &line, bool again)
{
   gShowLine(owner, line.c_str(), again);
}

void ShowCanvas(const std::string &name)
{
   gShowCanvas(name.c_str());
}

} // namespace Internal
} // namespace CladTorch

/// Called when Python has found that this is a notebook.
extern "C" void CladTorchSetNotebook(CladTorch::Internal::ShowLine_t line, CladTorch::Internal::ShowCanvas_t canvas)
{
   CladTorch::Internal::gShowLine = line;
   CladTorch::Internal::gShowCanvas = canvas;
}
