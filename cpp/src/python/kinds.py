"""The values that a C++ parameter accepts from Python: their description, the test for them, and the value for PyROOT.

PyROOT takes the bytes of an array for numbers of the type that C++ expects, whatever they are: the integer 1 for the
double 5e-324. It accepts any enumeration for an integer, and a set for a list.
"""

import collections
import collections.abc
import numbers
import os
import re

# `words` describes valid values; `fits` is the test; `convert` makes PyROOT's value; `ends` are the least and most
# integer.
Kind = collections.namedtuple("Kind", "words fits convert ends", defaults=(lambda value: value, None))

# Types of a view's elements, by all names of these types.
DTYPES = {"float": "<f4", "double": "<f8", **dict.fromkeys(("long", "int64_t", "long long", "Long64_t"), "<i8")}


# The names by which PyROOT has one class for each type.
VIEWS = {"long": "std::int64_t", "int64_t": "std::int64_t", "long long": "Long64_t"}


class Unfit(Exception):
    """The value has a valid type but cannot be converted."""


def bare(kind):
    return re.sub(r"\bconst |[&*]|std::", "", kind).replace("> >", ">>").strip()


def plain(name):
    return name.partition("<")[0].rpartition("::")[2]


def named(value):
    """`value` as messages show it."""
    name = getattr(type(value), "__cpp_name__", None)
    if is_enumerator(value):
        return f"an enumerator of {name}"
    if isinstance(value, type):
        return f"the class {getattr(value, '__cpp_name__', value.__name__)} itself"
    if name:
        return f"a {name}"
    if isinstance(value, collections.abc.Set) and not isinstance(value, collections.abc.KeysView):
        return f"a {type(value).__name__}, which has no order"
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        if hasattr(value, "mask") and array_of(value, ranks=(value.ndim,)) is None:
            return "an array with masked values"
        return f"an array of {value.dtype} with shape {tuple(value.shape)}"
    text = repr(value) if isinstance(value, (str, numbers.Number, list, tuple)) else ""
    return text if 0 < len(text) < 80 else f"a {type(value).__name__}"


def is_a(value, kind):
    """Whether `value` is an object of the C++ class or enumeration `kind`, or of a class that is derived from it."""
    return not isinstance(value, type) and any(getattr(each, "__cpp_name__", "") == kind for each in type(value).__mro__)


def is_enumerator(value):
    return isinstance(value, int) and "::" in getattr(type(value), "__cpp_name__", "")


def is_text(value):
    return isinstance(value, str) or getattr(type(value), "__cpp_name__", "") == "std::string"


def is_text_or_path(value):
    return is_text(value) or (isinstance(value, os.PathLike) and isinstance(os.fspath(value), str))


def as_text(value):
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def is_truth(value):
    """NumPy has its own truth values."""
    own = getattr(getattr(value, "dtype", None), "kind", "") == "b" and value.shape == ()
    return own or isinstance(value, bool) or (is_integer(value) and value in (0, 1))


def is_integer(value):
    return isinstance(value, numbers.Integral) and not isinstance(value, bool) and not is_enumerator(value)


def is_real(value):
    return isinstance(value, numbers.Real) and not isinstance(value, bool) and not is_enumerator(value)


def array_of(value, ranks=(1,), letters="iuf"):
    """`value` as a NumPy array with one of these ranks and kinds of numbers, or None."""
    if is_text(value) or isinstance(value, (bytes, dict, collections.abc.Set)) or not hasattr(value, "__len__"):
        return None
    try:
        import numpy

        if numpy.ma.is_masked(value):
            return None  # an array would drop the mask
        array = numpy.asarray(value)
    except Exception:  # NumPy is missing, or the array interface of another library raises
        return None
    return array if array.ndim in ranks and (array.dtype.kind in letters or array.size == 0) else None


def exact(array, dtype):
    """`array` as numbers of type `dtype`: fractions are rounded, but an integer stays exact."""
    import numpy

    if array.dtype == dtype:
        return numpy.ascontiguousarray(array)
    with numpy.errstate(all="ignore"):
        new = array.astype(dtype)
        if new.dtype.kind in "iu":
            lost = new != array
        elif array.dtype.kind in "iu":
            lost = numpy.abs(array.astype("f8")) > 2.0**24 if dtype == "<f4" else numpy.abs(array.astype("f8")) >= 2.0**53
        else:
            lost = numpy.isinf(new) & numpy.isfinite(array)
    if new.dtype.kind == "f" and array.any() and not new.any():
        raise Unfit(f"numbers that {new.dtype} holds: all of these, such as {array[array != 0][0]}, become 0; give them in another unit")
    if lost.any():
        raise Unfit(f"numbers that {new.dtype} holds, not {array[lost][0]}")
    return numpy.ascontiguousarray(new)


def integers(words, least, most):
    return Kind(words, lambda value: is_integer(value) and least <= value <= most, int, (least, most))


def listed(element, words, letters, dtype):
    """A list of numbers, each of which fits `element`."""

    def fits(value):
        if isinstance(value, (list, tuple)):
            return all(map(element.fits, value))
        array = array_of(value, letters=letters)
        return array is not None and ("f" in letters or bool((array >= 0).all()))

    def convert(value):
        if isinstance(value, (list, tuple)):
            return [element.convert(each) for each in value]
        return exact(array_of(value, letters=letters), dtype)

    return Kind(words, fits, convert)


def is_texts(value):
    is_vector = getattr(type(value), "__cpp_name__", "").startswith("std::vector<")  # which has no __iter__
    iterates = is_vector or hasattr(value, "__iter__")
    if is_text(value) or isinstance(value, (bytes, dict)) or not hasattr(value, "__len__") or not iterates:
        return False
    ordered = not isinstance(value, collections.abc.Set) or isinstance(value, collections.abc.KeysView)
    return ordered and getattr(value, "ndim", 1) == 1 and all(map(is_text, value))


def objects(name, words):
    """Lists of objects of one of our classes."""
    kind = f"CladTorch::{name}"

    def fits(value):
        if getattr(type(value), "__cpp_name__", "").startswith(f"std::vector<{kind}"):
            return True
        return isinstance(value, (list, tuple)) and all(is_a(each, kind) for each in value)

    return {f"vector<{kind}>": Kind(words, fits, lambda value: vector_of(name, value))}


def series_of(value):
    """Arrays of numbers, one for each row, or None. The rows may differ in length."""
    if getattr(type(value), "__cpp_name__", "").startswith("std::vector<std::vector<double"):
        return value
    if is_text(value) or isinstance(value, (bytes, dict, collections.abc.Set)) or not hasattr(value, "__len__"):
        return None
    rows = [array_of(row) for row in value] if getattr(value, "ndim", 2) == 2 else [None]
    return None if any(row is None for row in rows) else rows


def as_series(value):
    """A std::vector of vectors."""
    import ROOT

    rows = series_of(value)
    if rows is value:
        return value
    made = ROOT.std.vector["std::vector<double>"]()
    for row in rows:
        made.push_back(ROOT.std.vector["double"](exact(row, "f8")))
    return made


SIGNED = integers("an integer", -(2**63), 2**63 - 1)
UNSIGNED = integers("an integer of 0 or more", 0, 2**64 - 1)
UNSIGNED_NAMES = ("size_t", "uint64_t", "unsigned long")
REAL = Kind("a number", is_real, float)
COMPLEX = Kind(
    "a complex number", lambda value: is_real(value) or (isinstance(value, numbers.Complex) and not isinstance(value, bool)), complex
)
LONG_LIST = listed(UNSIGNED, "a list of integers of 0 or more", "iu", "u8")
KINDS = {
    "string": Kind("a string", is_text_or_path, as_text),
    "bool": Kind("True or False", is_truth, bool),
    "int": integers("an integer", -(2**31), 2**31 - 1),
    **dict.fromkeys(("long", "int64_t", "long long", "Long64_t"), SIGNED),
    **dict.fromkeys(UNSIGNED_NAMES, UNSIGNED),
    **dict.fromkeys(("unsigned int", "uint32_t"), integers("an integer of 0 or more", 0, 2**32 - 1)),
    **dict.fromkeys(("float", "double"), REAL),
    "vector<string>": Kind("a list of strings", is_texts, lambda value: [str(each) for each in value]),
    **{f"vector<{name}>": LONG_LIST for name in UNSIGNED_NAMES},
    "vector<float>": listed(REAL, "a list of numbers", "iuf", "f4"),
    "vector<double>": listed(REAL, "a list of numbers", "iuf", "f8"),
    "vector<complex<double>>": listed(COMPLEX, "a list of complex numbers", "iufc", "c16"),
    **{
        f"pair<{name},{name}>": Kind(
            "two integers of 0 or more",
            lambda value: LONG_LIST.fits(value) and len(value) == 2,
            lambda value: tuple(map(int, value)),
        )
        for name in UNSIGNED_NAMES
    },
    **dict.fromkeys(
        ("TTree",), Kind("a tree", lambda value: hasattr(type(value), "GetListOfBranches") and not isinstance(value, type))
    ),
    "CladTorch::Files": Kind(
        'the name of a file, a glob ("run*.root") or a list of them',
        lambda value: is_a(value, "CladTorch::Files") or names_of(value) is not None,
        lambda value: as_files(value),
    ),
    **objects("Model", "a list of models"),
    **objects("Signal::Candidate", "a list of candidates, as FindCandidates() gives it"),
    **objects("Signal::Injection", "a list of injections"),
    **objects("Signal::MatchedFilter", "a list of matched filters"),
    **objects("Signal::Response", "a list of responses, as DrawResponses() gives it"),
    "vector<vector<double>>": Kind(
        "a list of series, one for each detector",
        lambda value: series_of(value) is not None,
        lambda value: as_series(value),
    ),
    "vector<CladTorch::Metric>": Kind(
        "a list of metrics, as [kAuc, Metric(\"name\", function)]",
        lambda value: isinstance(value, (list, tuple))
        and all(is_a(each, "CladTorch::EMetric") or is_a(each, "CladTorch::Metric") for each in value),
        lambda value: vector_of("Metric", value),
    ),
    "function<bool(Epoch)>": Kind("a function of an Epoch, or None", lambda value: value is None or callable(value)),
    "CladTorch::Label": Kind(
        "a number, the name of a column or a list of names", lambda value: is_a(value, "CladTorch::Label")
    ),
}
# The remedy if the value is something else.
MADE_BY = {
    "CladTorch::Dataset": " (as Dataset(columns).Add(source, label))",
    "CladTorch::FitOptions": " (as FitOptions(fEpochs=3))",
    "CladTorch::Source": " (Source(\"tree\", \"file.root\"), a tree or a data frame)",
}


def vector_of(name, values):
    """A std::vector of objects of a CladTorch class."""
    import ROOT

    made = ROOT.std.vector[f"CladTorch::{name}"]()
    for value in values:
        made.push_back(value)
    return made


def enumerators(kind):
    """ (kAdam, kSGD) for an enumeration, nothing for other types."""
    import ROOT

    members = ROOT.TEnum.GetEnum(kind) if plain(kind)[:1] == "E" else None
    return f" ({', '.join(each.GetName() for each in members.GetConstants())})" if members else ""


def as_view(number, value):
    import ROOT

    view = ROOT.CladTorch.View[VIEWS.get(number, number)]
    if isinstance(value, view):
        return value
    return view(exact(array_of(value, ranks=(1, 2), letters="biuf"), DTYPES[number]))


def view_of(number):
    return Kind(
        "a view, an array or a list of numbers",
        lambda value: array_of(value, ranks=(1, 2), letters="biuf") is not None,
        lambda value: as_view(number, value),
    )


def is_columns(value):
    return is_map(value) or (isinstance(value, dict) and all(map(is_text, value)))


def is_map(value):
    return getattr(type(value), "__cpp_name__", "").startswith("std::map<")


def as_columns(columns):
    if is_map(columns):
        return columns
    made = {}
    kind = view_of("float")
    for name, value in columns.items():
        if not kind.fits(value):
            raise Unfit(f"{kind.words} under '{name}', not {named(value)}")
        try:
            made[name] = kind.convert(value)
        except Unfit as fault:
            raise Unfit(f"{fault} under '{name}'") from None
    return made


COLUMNS = Kind("a dictionary of names and their columns", is_columns, as_columns)


def expected(kind):
    """The values that a parameter of type `kind` accepts; None for types left to PyROOT."""
    name = bare(kind)
    if "*" in kind and name in KINDS and name != "TTree":
        return Kind("a pointer of C++, which Python has none of", lambda _: False)
    if name in KINDS:
        return KINDS[name]
    if name == "CladTorch::NamedColumns_t":
        return COLUMNS
    if name == "CladTorch::FloatView" or name.startswith("CladTorch::View<"):
        return view_of(name.partition("<")[2].removesuffix(">") or "float")
    if name.startswith("CladTorch::") and "<" not in name and "::Internal::" not in name:
        return Kind(f"a {name}", lambda value: is_a(value, name))
    return None


def converted(kind, value):
    """`value`, which fits, as PyROOT expects it."""
    found = expected(kind)
    return found.convert(value) if found else value


def misfit(kind, value):
    """What a parameter of type `kind` accepts instead of `value`; "" if that fits."""
    found = expected(kind)
    if not found or found.fits(value):
        return ""
    words = found.words + (MADE_BY.get(bare(kind)) or enumerators(bare(kind)))
    if found.ends and is_integer(value) and (value > 0 or found.ends[0] < 0):
        words = "an integer from {} to {}".format(*found.ends)
    if isinstance(value, str) and words == "a list of strings":
        return f"{words}, [{value!r}] for one, not {value!r}"
    return f"{words}, not {named(value)}"
