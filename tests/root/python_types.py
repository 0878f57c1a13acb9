"""Type checkers on the stub of cladtorch, and on its users: the scripts of root_macros and the snippets of the
documentation.

`python_types.py FOLDER`: FOLDER may hold the packages of tests/python_tools.txt.
"""

import importlib.metadata
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys

import numpy

sys.path.append(sys.argv[1])
SOURCE = pathlib.Path(os.environ["CLADTORCH_SOURCE_DIR"])
STUB = SOURCE / "cpp/python/cladtorch/__init__.pyi"
MODULES = [SOURCE / "cpp/python", pathlib.Path(numpy.__file__).parents[1]]
# ROOT has no types; its namespace CladTorch is the module.
ROOT_STUB = """from typing import Any
import cladtorch
CladTorch = cladtorch
def __getattr__(name: str) -> Any: ...
"""
# Errors that the checkers must find; each is on a line with an error.
WRONG = """import cladtorch as ct
model = ct.Mlp([2, 1], ct.kReLU)
model.Fit(ct.Dataset(["a"]), fEpoch=3)  # wrong
model.Fit(ct.Dataset(["a"]), fEpochs="3")  # wrong
ct.Dataset(["a"]).Add("tree")  # wrong
model.Saves("higgs.ct")  # wrong
model.Auc(ct.Dataset(["a"])).upper()  # wrong
"""


def snippets(page):
    """The Python code of a page that runs, at its line numbers."""
    lines, inside = [], False
    for line in page.read_text().splitlines():
        if line.startswith("```"):
            inside = line == "```python"
            lines.append("")
        else:
            lines.append(line if inside else "")
    return "\n".join(lines) + "\n"


def written():
    """The files to check, in this folder."""
    pathlib.Path("stubs").mkdir()
    pathlib.Path("stubs/ROOT.pyi").write_text(ROOT_STUB)
    files = {"wrong.py": WRONG}
    for page in [SOURCE / "README.md", *sorted((SOURCE / "cpp/doc").glob("*.md"))]:
        text = snippets(page)
        if text.strip():
            files[f"page_{page.stem}.py"] = text
    for script in sorted((SOURCE / "root_macros").glob("*.py")):
        files[script.name] = script.read_text()
    assert len(files) > 12, files.keys()
    for name, text in files.items():
        pathlib.Path(name).write_text(text)
    return list(files)


def ran(*command, **environment):
    environment = os.environ | {"PYTHONPATH": sys.argv[1]} | environment
    return subprocess.run([sys.executable, "-m", *command], stdout=subprocess.PIPE, text=True, env=environment).stdout


def mypy(files):
    """[file:line: error]"""
    paths = os.pathsep.join(map(str, [pathlib.Path("stubs").resolve(), *MODULES]))
    options = ("--follow-imports=silent", "--cache-dir=mypy", "--no-error-summary", "--hide-error-context")
    found = ran("mypy", "--strict", *options, str(STUB), MYPYPATH=paths).splitlines()
    for file in files:  # each a program of its own
        found += ran("mypy", "--check-untyped-defs", "--allow-redefinition", *options, file, MYPYPATH=paths).splitlines()
    ours = (f"{STUB}:", *(f"{file}:" for file in files))  # NumPy's own stub has faults, too
    return list(dict.fromkeys(line for line in found if ": error: " in line and line.startswith(ours)))


def passes_arguments(fault):
    """main(*sys.argv[1:2], ...): the checker does not know how many arguments a list has."""
    line = pathlib.Path(fault["file"]).read_text().splitlines()[fault["range"]["start"]["line"]]
    return line.strip().startswith("main(*sys.argv")


def basedpyright(files):
    extra = [str(path) for path in ("stubs", *MODULES)]
    config = {"include": [*files, str(STUB)], "extraPaths": extra, "typeCheckingMode": "standard", "reportPossiblyUnboundVariable": False}
    pathlib.Path("pyrightconfig.json").write_text(json.dumps(config))
    found = json.loads(ran("basedpyright", "--outputjson"))
    assert found["summary"]["filesAnalyzed"] >= len(files), found["summary"]
    return [
        f"{os.path.relpath(each['file'])}:{each['range']['start']['line'] + 1}: error: {each['message']}"
        for each in found["generalDiagnostics"]
        if each["severity"] == "error" and not passes_arguments(each)
    ]


files = written()
faults = []
for checker in (mypy, basedpyright):
    name = checker.__name__
    if importlib.util.find_spec(name) is None:
        print(f"left out: types were not checked by {name}, which is not installed: see tests/python_tools.txt")
        continue
    errors = checker(files)
    planted = {int(match[1]) for line in errors if (match := re.match(r"wrong\.py:(\d+):", line))}
    expected = {number for number, line in enumerate(WRONG.splitlines(), 1) if line.endswith("# wrong")}
    assert planted == expected, f"{name} found errors in the lines {planted}, not in {expected}: {errors}"
    faults += [f"{name}: {line}" for line in errors if not line.startswith("wrong.py")]
    print(f"types were checked in {len(files)} files by {name} {importlib.metadata.version(name)}")
assert not faults, "\n".join(["", *faults])
print("ALL CHECKS PASSED")
