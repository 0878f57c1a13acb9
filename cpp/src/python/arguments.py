"""Chooses a method's overload from the arguments, before C++ is called.

PyROOT tries one overload after the other, also after an exception: work which failed late is done twice, and the error
comes once for each overload. It takes any enumeration for an integer, and cannot read the default of an argument that
keywords leave out.
"""

import collections
import numbers
import re

Parameter = collections.namedtuple("Parameter", "kind name default")


def split(text):
    """The parts of `text` between commas that are in no brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "<({") - (letter in ">)}")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]


def parameters(signature):
    """Of a line of PyROOT's documentation, `History CladTorch::Mlp::Fit(const CladTorch::Dataset& data, ...)`."""
    inside = re.search(r"\((.*)\)", signature.replace("operator()", "operator")).group(1)
    found = []
    for at, text in enumerate(split(inside)):
        declared, _, default = text.partition(" = ")
        match = re.fullmatch(r"(.+[ &*>])(\w+)", declared)
        kind, name = match.groups() if match else (declared, f"argument {at + 1}")
        found.append(Parameter(kind.strip(), name, default or None))
    return found


def bare(kind):
    return re.sub(r"\bconst |[&*]|std::", "", kind).strip()


def named(value):
    """`value` as a message shows it."""
    name = getattr(type(value), "__cpp_name__", None)
    if is_enumerator(value):
        return f"an enumerator of {name}"
    if name:
        return f"a {name}"
    text = repr(value) if isinstance(value, (str, numbers.Number, list, tuple)) else ""
    return text if 0 < len(text) < 80 else f"a {type(value).__name__}"


def is_enumerator(value):
    return isinstance(value, int) and "::" in getattr(type(value), "__cpp_name__", "")


def is_list(value, fits):
    if isinstance(value, (str, bytes, dict)) or is_text(value) or not hasattr(value, "__len__"):
        return False
    return not isinstance(value, (list, tuple)) or all(fits(each) for each in value)


def is_text(value):
    return isinstance(value, str) or getattr(type(value), "__cpp_name__", "") == "std::string"


def is_integer(value):
    return isinstance(value, numbers.Integral) and not isinstance(value, bool) and not is_enumerator(value)


def is_natural(value):
    return is_integer(value) and value >= 0


def is_real(value):
    return isinstance(value, numbers.Real) and not isinstance(value, bool) and not is_enumerator(value)


UNSIGNED = {"size_t", "uint64_t", "unsigned long", "unsigned int", "uint32_t"}
# What a parameter takes, in words, and the test for it.
FITS = {
    "string": ("a string", is_text),
    "bool": ("True or False", lambda value: isinstance(value, (bool, numbers.Integral)) and not is_enumerator(value)),
    **{kind: ("an integer", is_integer) for kind in ("int", "long", "int64_t")},
    **{kind: ("an integer of 0 or more", is_natural) for kind in UNSIGNED},
    **{kind: ("a number", is_real) for kind in ("float", "double")},
    "vector<string>": ("a list of strings", lambda value: is_list(value, is_text)),
    **{f"vector<{kind}>": ("a list of integers of 0 or more", lambda value: is_list(value, is_natural)) for kind in UNSIGNED},
    **{f"vector<{kind}>": ("a list of numbers", lambda value: is_list(value, is_real)) for kind in ("float", "double")},
    **{f"pair<{kind},{kind}>": ("two integers of 0 or more", lambda value: is_list(value, is_natural)) for kind in UNSIGNED},
}


def is_a(value, kind):
    """Whether `value` is an object of the C++ class or enumeration `kind`, or of a class that is derived from it."""
    return any(getattr(each, "__cpp_name__", "") == kind for each in type(value).__mro__)


def converted(kind, value):
    """`value`, which fits, as PyROOT takes it: NumPy has numbers of its own."""
    test = (expected(kind) or ("", None))[1]
    return int(value) if test in (is_integer, is_natural) else float(value) if test is is_real else value


def expected(kind):
    """What a parameter of type `kind` takes, in words, and the test for it; nothing for what is left to PyROOT."""
    kind = bare(kind)
    if kind in FITS:
        return FITS[kind]
    if kind == "CladTorch::Label":
        return "a number, the name of a column or a list of names", lambda value: is_a(value, kind)
    if kind.startswith("CladTorch::") and "<" not in kind and "::Internal::" not in kind:
        return f"a {kind}", lambda value: is_a(value, kind)
    return None


def signatures(method):
    """The overloads of `method` for users: not those that move or take a part of CladTorch's inside, nor what PyROOT
    makes of an aggregate.
    """
    hidden = ("&&", "CladTorch::Internal::", "__cppyy_internal")
    return [line for line in (method.__doc__ or "").splitlines() if "(" in line and not any(h in line for h in hidden)]


class Defaults(dict):
    """Names of C++ as a default of an argument uses them."""

    def __missing__(self, name):
        import ROOT

        return {"true": True, "false": False, "CladTorch": ROOT.CladTorch}.get(name) or getattr(ROOT.CladTorch, name)


class Mismatch(Exception):
    """Why an overload does not take the arguments, and how many of them it takes."""

    def __init__(self, text, taken):
        super().__init__(text)
        self.taken = taken


def bind(wanted, args, kwargs):
    """The arguments in the order of the parameters `wanted`, up to the last one given."""
    if len(args) > len(wanted):
        raise Mismatch(f"takes {len(wanted)} argument{'s' * (len(wanted) != 1)}, {len(args)} were given", 0)
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
        value = given[each.name] if each.name in given else eval(each.default.replace("::", "."), {}, Defaults())
        if fault := misfit(each.kind, value):
            raise Mismatch(f"takes for '{each.name}' {fault}", len(bound))
        bound.append(converted(each.kind, value))
    return bound


def missing(wanted, given):
    """How many of the arguments an overload takes that lacks others."""
    fits = [each.name in given and not misfit(each.kind, given[each.name]) for each in wanted]
    return fits.index(False)


def misfit(kind, value):
    """What a parameter of type `kind` takes instead of `value`; "" where that fits."""
    words, fits = expected(kind) or ("", lambda _: True)
    if fits(value):
        return ""
    if isinstance(value, str) and words.startswith("a list"):
        words += f", [{value!r}] for one,"
    return f"{words}, not {named(value)}" if not words.endswith(",") else f"{words} not {named(value)}"


def is_copy(where, wanted):
    return len(wanted) == 1 and bare(wanted[0].kind) == where


def choose(where, method, args, kwargs):
    """The overload that takes the arguments, and those in its order; TypeError in one sentence where none does."""
    faults = []
    for signature in signatures(method):
        wanted = parameters(signature)
        try:
            bound = bind(wanted, args, kwargs)
        except Mismatch as fault:
            if is_copy(where, wanted):
                continue  # nobody means it who gave something else
            faults.append(fault)
            continue
        return without_lock(where, method.__overload__(", ".join(each.kind for each in wanted))), bound
    nearest = max((fault.taken for fault in faults), default=0)
    texts = dict.fromkeys(str(fault) for fault in faults if fault.taken == nearest)
    raise TypeError(f"{where} " + ("; or ".join(texts) or "is not made by hand"))


def checked(where, method):
    """`method` with its arguments bound and checked here."""

    def call(self, *args, **kwargs):
        overload, bound = choose(where, method, args, kwargs)
        return overload(self, *bound)

    call.__doc__ = method.__doc__
    call.__name__ = where.rpartition("::")[2]
    return call


def checked_static(where, method):
    def call(*args, **kwargs):
        overload, bound = choose(where, method, args, kwargs)
        return overload(*bound)

    call.__doc__ = method.__doc__
    call.__name__ = where.rpartition("::")[2]
    return staticmethod(call)


def check_arguments(cls, name):
    """Every method of the class `name`, and its constructors; not its operators, and not templates."""
    for method, overloads in list(cls.__dict__.items()):
        if type(overloads).__name__ != "CPPOverload" or not (method == "__init__" or method[0].isupper()):
            continue
        where = name if method == "__init__" else f"{name}::{method}"
        wrap = checked_static if overloads.__doc__.startswith("static ") else checked
        setattr(cls, method, wrap(where, overloads))
