/// \file Notebook.hxx
/// \brief Output of a fit in a notebook of Jupyter, renewed in place while the cell runs. The file `python/notebook.py` shows it.

#ifndef CLADTORCH_NOTEBOOK
#define CLADTORCH_NOTEBOOK

#include <string>

namespace CladTorch {
namespace Internal {

/// Whether this process runs the cells of a notebook and has met the plugin's classes in Python.
bool InNotebook();

/// Shows a line below the cell.
/// \param owner Who shows it.
/// \param again Whether it replaces the last line of the same owner.
void ShowLine(const void *owner, const std::string &line, bool again);

/// Shows a canvas below the cell; it replaces the picture of the same canvas.
void ShowCanvas(const std::string &name);

} // namespace Internal
} // namespace CladTorch

#endif
