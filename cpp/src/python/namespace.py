"""What the namespace itself has in Python: a version, and names for dir() and the completion of a prompt."""

import re


def public_classes():
    """Of the namespace itself; templates without their parameters."""
    import ROOT

    ROOT.gClassTable.Init()
    names = set()
    while name := ROOT.gClassTable.Next():
        names.add(str(name))
    ours = {name for name in names if name[:11] == "CladTorch::" and ROOT.TClass.GetClass(name).Property() & (ROOT.kIsClass | ROOT.kIsStruct)}
    kinds = {name.partition("<")[0][11:] for name in ours}
    return {kind for kind in kinds if "::" not in kind}


def enumerations(headers=None):
    """{"EReader": ["kAutoReader", ...], ...} of the headers, by default all of the namespace itself."""
    found = {}
    listed = re.findall(r"<CladTorch/(\w+\.hxx)>", text_of("Headers.hxx"))
    for header in headers or [each for each in listed if each != "Signal.hxx"]:
        for name, body in re.findall(r"^enum (\w+) \{(.*?)^\};", text_of(header), re.M | re.S):
            found[name] = re.findall(r"^ +(k\w+)", body, re.M)
    return found


def complete_namespace():
    """PyROOT itself lists no enumerator and every name inside."""
    import ROOT

    space = ROOT.CladTorch
    space.__version__ = VERSION

    def names(self):
        if self is not space:
            return type.__dir__(self)
        enumerators = enumerations()
        return sorted({*public_classes(), *FUNCTIONS["CladTorch"], "FloatView", "Signal", "__version__", *enumerators, *sum(enumerators.values(), [])})

    type(space).__dir__ = names
