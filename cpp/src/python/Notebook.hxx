/// \file Notebook.hxx
/// \brief Output of a fit in a notebook of Jupyter, renewed in place while the cell runs. The file `python/notebook.py` shows it.

#ifndef CLADTORCH_NOTEBOOK
#define CLADTORCH_NOTEBOOK

#include <string>

namespace CladTorch {
namespace Internal {

/// Whether this process runs the cells of a notebook and Python has loaded the plugin's classes.
bool InNotebook();

/// Shows a line below the cell.
/// \param owner Identifies the source of the line.
/// \param again Whether it replaces the previous line of the same owner.
void ShowLine(const void *owner, const std::string &line, bool again);

/// Shows a canvas below the cell; it replaces the picture of the same canvas.
void ShowCanvas(const std::string &name);

} // namespace Internal
} // namespace CladTorch

#endif
