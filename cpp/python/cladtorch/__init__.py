"""CladTorch: networks trained in ROOT, with gradients made by Clad.

    import cladtorch as ct

    events = ct.Dataset(["jet1_pt", "m_bb"]).Add("events", "run*.root", "is_signal")
    model = ct.Mlp([2, 64, 64, 1])
    model.Fit(events, fEpochs=10)

Importing loads the plugin. The names of this module are those of ROOT.CladTorch, which stay what they are.
"""

import difflib
import os
import threading

try:
    import ROOT
except ImportError as error:
    raise ImportError(
        "cladtorch needs ROOT's Python modules: put their folder into PYTHONPATH, or install the wheel of ROOT"
    ) from error


def _load():
    """The plugin of the lib folder that holds python/cladtorch; otherwise ROOT looks for it."""
    here = os.path.dirname(os.path.abspath(__file__))
    beside = os.path.join(os.path.dirname(os.path.dirname(here)), "libcladtorch.so")
    found = beside if os.path.exists(beside) else "libcladtorch"
    if ROOT.gSystem.Load(found) < 0:
        raise ImportError(
            f"ROOT cannot load {found}: see its message above"
            if found == beside
            else "there is no libcladtorch.so: put its folder into LD_LIBRARY_PATH"
        )
    return ROOT.CladTorch


_space = _load()
_space.Dataset  # PyROOT adds what Python has beside C++ when it meets the first class
__version__ = _space.__version__
# PyROOT hands a class to other threads before it has added what Python has beside C++.
_meeting = threading.RLock()


def __getattr__(name):
    if name == "__all__":
        return [each for each in dir(_space) if each[0] != "_"]
    if name[:1] == "_":
        raise AttributeError(f"module 'cladtorch' has no attribute '{name}'")
    with _meeting:
        try:
            return getattr(_space, name)
        except AttributeError:
            raise AttributeError(_unknown(name)) from None


def _unknown(name):
    """What is said of a name that the namespace does not have, with the one that may be meant."""
    lower = {each.lower(): each for each in dir(_space)}
    near = difflib.get_close_matches(name.lower(), lower, 1, 0.75)
    remedy = f"write {lower[near[0]]}" if near else "dir(cladtorch) lists those that it has"
    return f"module 'cladtorch' has no attribute '{name}': {remedy}"


def __dir__():
    return sorted({*globals(), *dir(_space)})
