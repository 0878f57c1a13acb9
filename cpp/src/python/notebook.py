"""Fits in Jupyter notebooks: the progress line and the curves of fLive are updated in place while the cell runs.

JupyROOT, which ROOT loads in such a kernel, draws the other canvases after the cell has ended.
"""

import ctypes
import importlib
import sys


def display_of_notebook():
    """IPython's module `display`, or None if no Jupyter kernel runs."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return importlib.import_module("IPython.display") if hasattr(shell, "kernel") else None


def drawer_of(canvas):
    """JupyROOT's drawer, which records below which cell it drew the canvas; None in a ROOT whose JupyROOT has no such
    class.
    """
    helpers = sys.modules.get("ROOT._jupyroot.helpers.utils") or sys.modules.get("JupyROOT.helpers.utils")
    drawer = getattr(helpers, "NotebookDrawerTCanvas", None)
    return drawer and drawer(canvas)


def shows_in_notebook():
    display = display_of_notebook()
    if display is None:
        return
    lines = {}

    def show_line(owner, line, again):
        shown = {"text/plain": line.decode(errors="replace")}
        if again and owner in lines:
            lines[owner].update(shown, raw=True)
        else:
            lines[owner] = display.display(shown, raw=True, display_id=True)

    def show_canvas(name):
        import ROOT

        drawer = drawer_of(ROOT.gROOT.GetListOfCanvases().FindObject(name.decode()))
        if drawer:
            drawer.Draw(display.display)

    line = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_bool)
    canvas = ctypes.CFUNCTYPE(None, ctypes.c_char_p)
    CALLED.extend((line(show_line), canvas(show_canvas)))
    of_cpp("CladTorchSetNotebook", None, line, canvas)(*CALLED[-2:])
