"""Chooses a method's overload from the arguments, before C++ is called.

PyROOT tries one overload after the other, even after an exception: work that failed late is done twice, and the error
appears once for each overload. It cannot read the default of an argument that keywords leave out.
"""

import collections
import operator
import re

Parameter = collections.namedtuple("Parameter", "kind name default")


def split(text):
    """The parts of `text` between commas outside brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "<({") - (letter in ">)}")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]


def parameters(signature):
    """Parses a line of PyROOT's documentation, `History CladTorch::Mlp::Fit(const CladTorch::Dataset& data, ...)`."""
    inside = re.search(r"\((.*)\)", signature.replace("operator()", "operator")).group(1)
    found = []
    for at, text in enumerate(split(inside)):
        declared, _, default = text.partition(" = ")
        match = re.fullmatch(r"(.+[ &*>])(\w+)", declared)
        kind, name = match.groups() if match else (declared, f"argument {at + 1}")
        found.append(Parameter(kind.strip(), name, default or None))
    return found


def signatures(method):
    """The overloads of `method` for users: not those that move or take CladTorch's internal types, nor PyROOT's
    constructor of an aggregate.
    """
    hidden = ("&&", "CladTorch::Internal::", "__cppyy_internal")
    lines = (method.__doc__ or "").partition("\n\n")[0].splitlines()  # the comment of the header follows
    return [line for line in lines if "(" in line and not any(h in line for h in hidden)]


class Defaults(dict):
    """Names of C++ as they occur in defaults of arguments."""

    def __missing__(self, name):
        import ROOT

        return {"true": True, "false": False, "CladTorch": ROOT.CladTorch}.get(name) or getattr(ROOT.CladTorch, name)


def default_of(parameter):
    """The default value of a parameter, which C++ states as text."""
    text = "[]" if parameter.default == "{}" else parameter.default.replace("::", ".")
    return eval(text, {}, Defaults())


class Mismatch(Exception):
    """Why an overload does not take the arguments, how many of them it takes, and whether a value is to blame."""

    def __init__(self, text, taken, value=False):
        super().__init__(text)
        self.taken = taken
        self.value = value


def bind(wanted, args, kwargs):
    """The arguments in the order of the parameters `wanted`, up to the last one given."""
    if len(args) > len(wanted):
        raise Mismatch(f"takes {len(wanted)} argument{'s' * (len(wanted) != 1)}, {len(args)} were given{instead_of_several(wanted)}", 0)
    given = dict(zip((each.name for each in wanted), args))
    for name, value in kwargs.items():
        if name not in (each.name for each in wanted):
            takes = ", ".join(each.name for each in wanted) or "none"
            raise Mismatch(f"has no argument '{name}': it takes {takes}", len(args))
        if name in given:
            raise Mismatch(f"got the argument '{name}' twice", len(args))
        given[name] = value
    last = max((at for at, each in enumerate(wanted) if each.name in given), default=-1)
    for each in wanted[last + 1 :]:
        if each.default is None:
            raise Mismatch(f"lacks the argument '{each.name}'", missing(wanted, given))
    bound = []
    for each in wanted[: last + 1]:
        if each.name not in given and each.default is None:
            raise Mismatch(f"lacks the argument '{each.name}'", missing(wanted, given))
        value = given[each.name] if each.name in given else default_of(each)
        if fault := misfit(each.kind, value):
            raise Mismatch(f"takes for '{each.name}' {fault}", len(bound), True)
        try:
            bound.append(converted(each.kind, value))
        except Unfit as fault:
            raise Mismatch(f"takes for '{each.name}' {fault}", len(bound), True) from None
    return bound


def instead_of_several(wanted):
    """How to give a method of one argument what others take as several."""
    kind = bare(wanted[0].kind) if len(wanted) == 1 else ""
    if kind.startswith("vector<"):
        return ": give them as one list"
    return ": arrays go into a dataset first, Dataset(columns).Add(x, y)" if kind == "CladTorch::Dataset" else ""


def missing(wanted, given):
    """Number of arguments that an overload takes before the first missing one."""
    fits = [each.name in given and not misfit(each.kind, given[each.name]) for each in wanted]
    return fits.index(False)


def is_copy(where, wanted):
    return len(wanted) == 1 and bare(wanted[0].kind) == where


def choose(where, method, args, kwargs):
    """The overload that takes the arguments, and those in its order; a TypeError of one sentence if none does."""
    faults = []
    for signature in signatures(method):
        wanted = parameters(signature)
        try:
            bound = bind(wanted, args, kwargs)
        except Mismatch as fault:
            if is_copy(where, wanted):
                continue  # other arguments are not meant for it
            faults.append(fault)
            continue
        return without_lock(where, method.__overload__(", ".join(each.kind for each in wanted))), bound
    nearest = max(((fault.taken, fault.value) for fault in faults), default=0)
    texts = dict.fromkeys(str(fault) for fault in faults if (fault.taken, fault.value) == nearest)
    raise TypeError(f"{where} " + ("; or ".join(texts) or "is not made by hand"))


def run(overload, *args):
    """Calls C++. PyROOT puts signatures before the message of an error; the exception raised here has only the message.
    """
    try:
        return plain_text_of(overload(*args))
    except Exception as error:
        if not is_a(error, "CladTorch::Error"):
            raise
        said = type(error)(str(error).partition(f"{plain(type(error).__cpp_name__)}: ")[2] or str(error))
    raise said


def checked(where, method):
    """`method` with its arguments bound and checked here."""

    def call(self, *args, **kwargs):
        overload, bound = choose(where, method, args, kwargs)
        return run(overload, self, *bound)

    call.__doc__ = method.__doc__
    call.__name__ = where.rpartition("::")[2]
    return call


def checked_function(where, function):
    """A function, or a method without an object."""

    def call(*args, **kwargs):
        overload, bound = choose(where, function, args, kwargs)
        return run(overload, *bound)

    call.__doc__ = function.__doc__
    call.__name__ = where.rpartition("::")[2]
    return call


def check_arguments(cls, name):
    """Every method of the class `name`, and its constructors; not its operators, and not templates."""
    for method, overloads in list(cls.__dict__.items()):
        if type(overloads).__name__ != "CPPOverload" or not (method == "__init__" or method[0].isupper()):
            continue
        where = name if method == "__init__" else f"{name}::{method}"
        if overloads.__doc__.startswith("static "):
            setattr(cls, method, staticmethod(checked_function(where, overloads)))
        else:
            setattr(cls, method, checked(where, overloads))


# For each namespace.
FUNCTIONS = {
    "CladTorch": ("Auc", "Rank", "Ranks", "ToFrame", "ToMatrix", "WriteFriend"),
    "CladTorch::Signal": (
        *("AntennaPattern", "AucBound", "BandPass", "BayesStatistic", "BinarySpectrum", "BinaryStrain", "Blip", "Chirp"),
        *("Delay", "DetectorNoise", "DetectorPsd", "DrawResponses", "EfficiencyBound", "FindCandidates", "InterpolatePsd", "NetworkSnr", "Noise", "Notch"),
        *("PhaseShift", "Project", "QTransform", "ReadHdf5", "ReadStrain", "Ringdown", "ScaleToSnr", "ScatteredLight", "SearchBounds", "SensitiveDistance"),
        *("SineGaussian", "SineGaussianFisher", "Snr", "Spectrogram", "TruncateInverse", "Welch", "Whiten", "WhitenByOwn", "WhitenInBlocks", "Window"),
        "WriteCandidates",
    ),
}


def check_functions():
    """PyROOT has no hook for functions: called once, with the first class."""
    import ROOT

    for space, names in FUNCTIONS.items():
        texts = meanings(of_signal=space != "CladTorch")
        owner = operator.attrgetter(space.replace("::", "."))(ROOT)
        for name in names:
            function = checked_function(f"{space}::{name}", getattr(owner, name))
            with_meaning(function, texts.get(name))
            setattr(owner, name, raising(function) if is_long(f"{space}::{name}") else function)
