"""Writes cladtorch/__init__.pyi, the types of the module for editors and type checkers.

    cargo xtask python cpp/python/make_stub.py

Classes, signatures and meanings come from PyROOT's reflection and the headers; EXTRA has what cpp/src/python adds to them. A test
fails where the file is not what this script writes.
"""

import os
import re
import sys

import cladtorch
import ROOT

space = ROOT.CladTorch
ours = space.Dataset.Rows.__globals__  # the names of cpp/src/python
bare, fields, parameters, plain, signatures = (ours[name] for name in ("bare", "fields", "parameters", "plain", "signatures"))

HEAD = '''"""CladTorch: networks trained in ROOT, with gradients made by Clad. Written by cpp/python/make_stub.py."""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Generic, TypedDict, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from typing_extensions import Self, Unpack

_T = TypeVar("_T")
_Path = str | os.PathLike[str]
_Table = ArrayLike | Mapping[str, ArrayLike] | Any  # an array [events, features], a dictionary of columns or a frame of pandas
_Tree = Any  # a tree, a chain or a data frame of ROOT's

__version__: str

class _Pair(Generic[_T]):
    """A std::pair."""

    first: _T
    second: _T
    def __iter__(self) -> Iterator[_T]: ...
    def __getitem__(self, index: int) -> _T: ...
    def __len__(self) -> int: ...
'''

# What Python adds to a class: lines of the stub.
EXTRA = {
    "Batches": ["def __iter__(self) -> Iterator[tuple[View, View, View]]: ..."],
    "Dataset": [
        "def __add__(self, other: Dataset) -> Dataset: ...",
        "def __radd__(self, other: int) -> Dataset: ...",
        "def __len__(self) -> int: ...",
    ],
    "Evaluation": ["def __len__(self) -> int: ..."],
    "Functor": ["def __call__(self, row: ArrayLike) -> float: ..."],
    "Whitener": ["def __call__(self, strain: ArrayLike) -> Sequence[float]: ..."],
    "History": [
        "def __iter__(self) -> Iterator[dict[str, float]]: ...",
        "def __len__(self) -> int: ...",
        "@overload",
        "def __getitem__(self, key: int) -> dict[str, float]: ...",
        "@overload",
        "def __getitem__(self, key: slice) -> list[dict[str, float]]: ...",
    ],
    "Jagged": [
        "def __class_getitem__(cls, kind: Any) -> type[Jagged]: ...",
        "def __iter__(self) -> Iterator[NDArray[Any]]: ...",
        "def __len__(self) -> int: ...",
        "def __getitem__(self, key: Any) -> Any: ...",
    ],
    "View": [
        "def __class_getitem__(cls, kind: Any) -> type[View]: ...",
        "def __call__(self, row: int, column: int = ...) -> float: ...",
        "def __array__(self, dtype: Any = ..., copy: bool | None = ...) -> NDArray[Any]: ...",
        "def __dlpack__(self, **options: Any) -> Any: ...",
        "def __dlpack_device__(self) -> tuple[int, int]: ...",
        "def __iter__(self) -> Iterator[Any]: ...",
        "def __len__(self) -> int: ...",
        "def __getitem__(self, key: Any) -> Any: ...",
    ],
}
# Overloads that Python adds to a method.
OVERLOADS = {
    "Dataset.Add": [
        "def Add(self, source: _Table, label: float | str | Sequence[str] | ArrayLike, cut: ArrayLike | None = ..., weight: str | ArrayLike | None = ...) -> Self: ..."
    ],
    "Model.Fit": [
        "def Fit(self, x: _Table, y: float | str | Sequence[str] | ArrayLike, weight: str | ArrayLike | None = ..., validation: Dataset | _Table | tuple[_Table, ...] | None = ..., options: FitOptions = ..., **words: Unpack[_Options]) -> History: ..."
    ],
    "Ensemble.Predict": ["def Predict(self, data: _Table) -> NDArray[np.float32]: ..."],
    "Ensemble.Spread": ["def Spread(self, data: _Table) -> NDArray[np.float32]: ..."],
    "Model.Predict": ["def Predict(self, data: _Table) -> NDArray[np.float32]: ..."],
    "Model.Logits": ["def Logits(self, data: _Table) -> NDArray[np.float32]: ..."],
    "Model.Gradient": ["def Gradient(self, data: _Table) -> NDArray[np.float32]: ..."],
}
RETURNS = {"Predict": "NDArray[np.float32]", "Logits": "NDArray[np.float32]", "Gradient": "NDArray[np.float32]", "Spread": "NDArray[np.float32]"}
KEYWORDS = ("Binary", "Candidate", "Injection", "MlpOptions", "Response")  # whose constructors take the fields; FitOptions has _Options
SHADOWED = ("Batches", "Functor", "Scaler", "Stream")  # in classes that have a method of this name
HIDDEN = ("__cppyy_pythonize__", "DLPackCapsule", "Data", "Address")
TAKEN = {
    "string": "_Path", "bool": "bool", "float": "float", "double": "float", "vector<string>": "Sequence[str]", "initializer_list<string>": "Sequence[str]", "initializer_list<const char*>": "Sequence[str]", "TTree": "_Tree",
    "vector<CladTorch::Metric>": "Sequence[Metric | EMetric]",
    "vector<float>": "ArrayLike", "vector<double>": "ArrayLike", "vector<complex<double>>": "ArrayLike", "vector<vector<double>>": "Sequence[ArrayLike]", "CladTorch::NamedColumns_t": "Mapping[str, ArrayLike]",
    "CladTorch::Source": "Source | _Tree | tuple[str, Files | _Path | Sequence[_Path]]", "CladTorch::Label": "Label | float | str | Sequence[str]", "CladTorch::Files": "Files | _Path | Sequence[_Path]",
    "CladTorch::FloatView": "ArrayLike", "ROOT::RDF::RNode": "_Tree", "ROOT::RVecF": "ArrayLike",
}  # fmt: skip
GIVEN = {"string": "str", "bool": "bool", "float": "float", "double": "float", "complex<double>": "complex", "void": "None", "CladTorch::FloatView": "View"}


def annotation(kind, taken):
    name = bare(kind)
    known = (TAKEN if taken else GIVEN).get(name)
    if known:
        return known
    if name.startswith("CladTorch::View<"):
        return "ArrayLike" if taken else "View"
    if name.startswith("CladTorch::Jagged<"):
        return "Jagged"
    if match := re.fullmatch(r"pair<(.+?), ?(.+)>", name):
        inner = annotation(match[1].removesuffix("const "), taken)
        return f"tuple[{inner}, {inner}] | Sequence[{inner}]" if taken else f"_Pair[{inner}]"
    if match := re.fullmatch(r"(?:vector|ROOT::VecOps::RVec)<(.+)>", name):
        inner = annotation(match[1], taken)
        return f"Sequence[{inner}]"
    if name.startswith("CladTorch::Signal::"):
        return f"Signal.{plain(name)}"
    if name.startswith("CladTorch::") and "Internal" not in name:
        return "_" * (plain(name) in SHADOWED) + plain(name)
    if re.fullmatch(r"(unsigned )?(int|long|char|short|long long)|u?int\d+_t|size_t|Long64_t", name):
        return "int"
    return "Any"


def argument(parameter):
    return f"{parameter.name}: {annotation(parameter.kind, True)}{' = ...' * bool(parameter.default)}"


def line_of(name, method, signature, static):
    """One signature as a line of the stub; None for one that Python cannot call."""
    wanted = parameters(signature)
    if any("*" in each.kind and "TTree" not in each.kind for each in wanted):
        return None
    if method == "__init__" and len(wanted) == 1 and bare(wanted[0].kind) == name:
        return f"def __init__(self, other: {annotation(name, True)}) -> None: ..."
    if "Internal::" in signature or any(each.name.startswith("argument ") for each in wanted):
        return None
    parts = ([] if static else ["self"]) + [argument(each) for each in wanted]
    if method == "Add" and wanted and wanted[0].name == "features":
        parts.insert(1, "*")  # by place, arrays are taken as source, label, cut and weight
    if any(bare(each.kind) == "CladTorch::FitOptions" for each in wanted) and method in ("Fit", "Batches"):
        parts.append("**words: Unpack[_Options]")
    returned = "None" if method == "__init__" else RETURNS.get(method) or annotation(signature.partition(f" {name}::")[0].removeprefix("static "), False)
    if returned.lstrip("_") == plain(name) and "&" in signature.partition("(")[0]:
        returned = "Self"
    return f"def {method}({', '.join(parts)}) -> {returned}: ..."


def meaning(function):
    """The documentation behind the signatures."""
    parts = (function.__doc__ or "").split("\n\n", 1)
    return parts[1] if len(parts) > 1 else ""


def documented(text, indent):
    if not text:
        return []
    text = text.replace("\\", "\\\\").replace('"""', "'''")
    lines = [f'"""{text}"""' if "\n" not in text else f'"""{text}\n"""']
    return [f"{indent}{line}".rstrip() for line in "\n".join(lines).split("\n")]


def method_lines(name, kind, method, function):
    raw = getattr(function, "__func__", function)
    static = isinstance(function, staticmethod)
    found = [line_of(name, method, signature, static) for signature in signatures(raw)]
    found = [line for line in found if line] + OVERLOADS.get(f"{kind}.{method}", [])  # the wide ones last
    lines = []
    found = list(dict.fromkeys(found))
    for number, line in enumerate(found):
        lines += ["    @overload"] * (len(found) > 1) + ["    @staticmethod"] * static
        text = documented(meaning(raw), "        ") if number == 0 else []
        lines += [f"    {line[:-4]}", *text, "        ..."] if text else [f"    {line}"]
    return lines


def type_of(name, field):
    """Of a field of a class."""
    return str(ROOT.TClass.GetClass(name).GetDataMember(field).GetTrueTypeName())


def class_lines(kind, cls):
    name = cls.__cpp_name__
    bases = [plain(base.__cpp_name__) for base in cls.__bases__ if getattr(base, "__cpp_name__", "").startswith("CladTorch::")]
    head = f"({', '.join(bases)})" * bool(bases)
    if issubclass(cls, Exception):
        return [f"class {kind}({', '.join(bases) or 'Exception'}):", *documented(cls.__doc__ or "", "    "), "    ..."]
    lines = [f"class {kind}{head}:", *documented(cls.__doc__ or "", "    ")]
    lines += [f"    {field}: {annotation(type_of(name, field), False)}" for field in fields(cls)]
    constructors = kind not in (*KEYWORDS, "FitOptions")
    if not constructors:
        words = [f"{field}: {annotation(type_of(name, field), True)} = ..." for field in fields(cls)] if kind in KEYWORDS else ["**options: Unpack[_Options]"]
        star = ["*"] * (kind in KEYWORDS)
        lines.append(f"    def __init__(self, other: {annotation(name, True)} = ..., {', '.join(star + words)}) -> None: ...")
    for method, function in sorted(vars(cls).items()):
        made = method == "__init__" and constructors
        if method in HIDDEN or not (made or method[0].isupper()) or not callable(getattr(function, "__func__", function)):
            continue
        if not isinstance(function, type) and not re.match("E[A-Z]", method):  # an enumeration
            lines += method_lines(name, kind, method, function)
    lines += [f"    {line}" for line in EXTRA.get(kind, [])]
    return lines if len(lines) > 1 else [*lines, "    ..."]


def function_lines(space_name, name, indent=""):
    owner = eval(space_name.replace("::", "."), {"CladTorch": space})
    function = getattr(owner, name)
    lines = []
    for signature in signatures(function):
        returned = annotation(signature.partition(f" {space_name}::")[0], False)
        head = f"def {name}({', '.join(map(argument, parameters(signature)))}) -> {returned}:"
        lines += [f"{indent}{head}", *documented(meaning(function), indent + "    "), f"{indent}    ..."]
    return lines


def enumeration_lines(of_signal, indent=""):
    lines = []
    for enum, members in ours["enumerations"](of_signal).items():
        lines += [f"{indent}class {enum}(int): ...", *(f"{indent}{member}: {enum}" for member in members), ""]
    return lines


def stub():
    text = [HEAD]
    text += enumeration_lines(False)
    options = space.FitOptions
    text += ["class _Options(TypedDict, total=False):", *(f"    {field}: {annotation(type_of('CladTorch::FitOptions', field), True)}" for field in fields(options)), ""]
    for kind in sorted(ours["public_classes"]()):
        cls = getattr(space, kind)
        text += [*class_lines(kind, cls["float"] if kind in ("Jagged", "View") else cls), ""]
    text += ["FloatView = View", *(f"_{name} = {name}" for name in SHADOWED), ""]
    for name in ours["FUNCTIONS"]["CladTorch"]:
        text += [*function_lines("CladTorch", name), ""]
    text += ["def Compile(function: Any, examples: Sequence[Any], options: Any = ..., **fields: Any) -> Any:"]
    text += [*documented(space.Compile.__doc__, "    "), "    ...", ""]
    text += ["class Signal:", '    """The namespace of functions for strain data."""', "", *enumeration_lines(True, "    ")]
    for name in ours["FUNCTIONS"]["CladTorch::Signal"]:
        text += ["    @staticmethod", *function_lines("CladTorch::Signal", name, "    "), ""]
    for kind in sorted(ours["public_classes"]("CladTorch::Signal")):
        text += [*(f"    {line}".rstrip() for line in class_lines(kind, getattr(space.Signal, kind))), ""]
    return "\n".join(text).rstrip() + "\n"


if __name__ == "__main__":
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cladtorch", "__init__.pyi")
    text = stub()
    if sys.argv[1:] == ["--check"]:
        import ast

        ast.parse(text)
        with open(path, encoding="utf-8") as file:
            assert file.read() == text, f"{path} is not what make_stub.py writes: run `cargo xtask python cpp/python/make_stub.py`"
        print("ALL CHECKS PASSED")
    else:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
