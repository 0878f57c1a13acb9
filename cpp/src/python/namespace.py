"""Attributes of the namespace itself in Python: a version, and names for dir() and the completion of a prompt."""

import re


def public_classes(space="CladTorch"):
    """The public classes of the namespace `space` itself; templates without their parameters."""
    import ROOT

    ROOT.gClassTable.Init()
    names = set()
    while name := ROOT.gClassTable.Next():
        names.add(str(name))
    ours = {name for name in names if name.startswith("CladTorch::") and ROOT.TClass.GetClass(name).Property() & (ROOT.kIsClass | ROOT.kIsStruct)}
    kinds = {name.partition("<")[0].rpartition("::") for name in ours}
    return {kind for owner, _, kind in kinds if owner == space}


def headers(of_signal):
    """The headers of the namespace itself, or of CladTorch::Signal."""
    listed = re.findall(r"<CladTorch/(\w+\.hxx)>", text_of("Headers.hxx"))
    return [each for each in listed if ("\nnamespace Signal {" in text_of(each)) == of_signal]


def enumerations(of_signal=False):
    """{"EReader": ["kAutoReader", ...], ...} for the namespace itself, or for CladTorch::Signal, as in the headers."""
    found = {}
    for header in headers(of_signal):
        for name, body in re.findall(r"^enum (\w+) \{(.*?)^\};", text_of(header), re.M | re.S):
            found[name] = re.findall(r"^ +(k\w+)", body, re.M)
    return found


def meanings(of_signal):
    """The comments of the functions."""
    found = {}
    for header in headers(of_signal):
        found.update(documents_of(header))
    return found


def complete_namespace():
    """PyROOT itself lists every internal name, but no enumerators."""
    import ROOT

    space = ROOT.CladTorch
    space.__version__ = VERSION
    space.Compile = compile_function

    def names(self):
        if self is not space:
            return type.__dir__(self)
        enumerators = enumerations()
        return sorted({*public_classes(), *FUNCTIONS["CladTorch"], "Compile", "FloatView", "Signal", "__version__", *enumerators, *sum(enumerators.values(), [])})

    type(space).__dir__ = names
