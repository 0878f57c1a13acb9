"""Notebooks in Jupyter kernels: the output and drawings of a cell are below it, and a fit updates its line and its
curves in place.

`notebook.py FOLDER`: FOLDER may hold the packages of tests/python_tools.txt.
"""

import base64
import copy
import json
import os
import pathlib
import re
import sys
import time

sys.path.append(sys.argv[1])
try:
    import ipykernel
    import metakernel
    import nbclient
    import nbformat
except ImportError as error:
    print(f"left out: notebooks were not run ({error}): see tests/python_tools.txt")
    print("ALL CHECKS PASSED")
    sys.exit()

KERNELS = {"python": "ipykernel_launcher", "cpp": "ROOT._jupyroot.kernel.rootkernel"}
for name, module in KERNELS.items():
    folder = pathlib.Path("jupyter/kernels", name)
    folder.mkdir(parents=True)
    argv = [sys.executable, "-m", module, "-f", "{connection_file}"]
    (folder / "kernel.json").write_text(json.dumps({"argv": argv, "display_name": name, "language": name}))
here = os.getcwd()
os.environ.update(JUPYTER_PATH=f"{here}/jupyter", JUPYTER_DATA_DIR=here, JUPYTER_RUNTIME_DIR=here, IPYTHONDIR=f"{here}/ipython")
os.environ["PYTHONPATH"] += os.pathsep + sys.argv[1]


class Client(nbclient.NotebookClient):
    """Counts the messages of each kind."""

    def process_message(self, message, cell, index):
        kind = message["msg_type"]
        cell.metadata[kind] = cell.metadata.get(kind, 0) + 1
        return super().process_message(message, cell, index)


def run(notebook, kernel="python", fails=False):
    began = time.monotonic()
    Client(notebook, kernel_name=kernel, timeout=600, allow_errors=fails, resources={"metadata": {"path": here}}).execute()
    notebook.metadata["seconds"] = time.monotonic() - began
    return notebook


def cells(*sources, **options):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
    return run(notebook, **options)


def printed(cell):
    return "".join(each.text for each in cell.outputs if each.output_type == "stream")


def shown(cell, kind):
    return [each.data[kind] for each in cell.outputs if each.output_type == "display_data" and kind in each.data]


def pictures(cell):
    """How many there are, all of them PNG."""
    found = [base64.b64decode(each) for each in shown(cell, "image/png")]
    assert all(each.startswith(b"\x89PNG") and len(each) > 5000 for each in found)
    return len(found)


def lines(cell):
    """The lines of progress; a picture has text beside it."""
    return [text for text in shown(cell, "text/plain") if "epoch" in text]


def shape(cell):
    """The words that a cell prints, without numbers, which differ between machines, and the kinds of its other outputs.
    """
    words = re.sub(r"[-+]?[\d.]+(e[-+]?\d+)?|\s+", " ", printed(cell)).split()
    return words, [sorted(each.data) for each in cell.outputs if "data" in each]


def tidy(outputs):
    """Without the warnings and messages of ROOT, which name folders; what is printed in one go in one piece."""
    kept = []
    for each in outputs:
        if each.output_type == "stream" and kept and kept[-1].output_type == "stream" and each.name != "stderr":
            kept[-1].text += each.text
        elif each.get("name") != "stderr":
            kept.append(each)
    return kept


def anew(name):
    """A notebook for users, run; what it is kept with are outputs of such a run. Returns its cells of code by their names."""
    path = pathlib.Path(os.environ["CLADTORCH_SOURCE_DIR"], "root_macros", f"{name}.ipynb")
    kept = nbformat.read(path, 4)
    nbformat.validate(kept)
    fresh = copy.deepcopy(kept)
    for cell in code(fresh):
        cell.outputs, cell.execution_count = [], None
    run(fresh)
    for cell in code(fresh):
        cell.outputs = tidy(cell.outputs)
    if os.environ.get("CLADTORCH_WRITE_NOTEBOOKS"):
        kept = write(fresh, path)
    for old, new in zip(code(kept), code(fresh)):
        assert shape(old) == shape(new), (
            f"{path}, cell {old.id}: the outputs that it is kept with are old; CONTRIBUTING.md says how to renew them",
            shape(old),
            shape(new),
        )
    assert here not in path.read_text() and os.environ["CLADTORCH_SOURCE_DIR"] not in path.read_text(), path
    for cell in code(fresh):
        print(printed(cell))
    return {cell.id: cell for cell in code(fresh)}


def code(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def write(notebook, path):
    """With outputs and without what only this run knows; returns what was written."""
    kept = copy.deepcopy(notebook)
    kept.metadata = {name: kept.metadata[name] for name in ("kernelspec", "language_info")}
    kept.metadata.language_info = {"name": "python"}
    for cell in kept.cells:
        cell.metadata = {}
    nbformat.write(kept, path)
    return kept


# The notebooks for users.
named = anew("higgs_analysis")
# One line for the whole fit, which ends early where its patience does: the bar shows the epochs that it took.
[line] = lines(named["fit"])
bar, epochs = re.match(r"\[([= ]{10})\] epoch (\d+)/30 ", line).groups()
assert bar == ("=" * (10 * int(epochs) // 30)).ljust(10), line
drawn = {name: pictures(cell) for name, cell in named.items() if pictures(cell)}
assert drawn == {"fit": 1, "evaluation": 2, "cut": 1}, drawn
for name in ("events", "history"):
    assert any("text/html" in each.get("data", {}) for each in named[name].outputs), name
named = anew("gw_tutorial")
drawn = {name: pictures(cell) for name, cell in named.items() if pictures(cell)}
assert drawn == {"noise": 1, "filter": 1, "network": 1, "bound": 1}, drawn
area, bound = (float(re.search(r"AUC(?: above)? ([\d.]+)", printed(named[name]))[1]) for name in ("network", "bound"))
assert 0.98 < area < bound + 0.002, (area, bound)

# A fit of many epochs, one that ends early, and one that says nothing.
start = """import cladtorch as ct, numpy, ROOT
x = numpy.random.default_rng(1).normal(size=(2000, 2)); y = (x[:, 0] > 0).astype(float)
model = ct.Mlp([2, 16, 1])"""
long = cells(
    start,
    "history = model.Fit(x, y, fEpochs=2000, fLive=True)",
    "model.Fit(x, y, fEpochs=3000, fPatience=3)",
    "model.Fit(x, y, fEpochs=3, fVerbose=0)",
    "for _ in range(3): model.Fit(x, y, fEpochs=20)",
    "history.Draw();",
)
fit, early, silent, three, draw = long.cells[1:]
assert len(lines(fit)) == 1 and "epoch 2000/2000" in lines(fit)[0] and printed(fit) == "", fit.outputs
assert pictures(fit) == 1 and 2 < fit.metadata["update_display_data"] < 4 * long.metadata["seconds"] + 4, fit.metadata
assert len(lines(early)) == 1 and "epoch 3000" not in lines(early)[0], lines(early)
assert "the model has the parameters of epoch" in printed(early), printed(early)
assert lines(silent) == [] and printed(silent) == "" and len(lines(three)) == 3 and pictures(draw) == 1

# C++ in cells of Python, and JupyROOT's kernel for C++, which drops exceptions: the error is printed.
cpp = """CladTorch::Dataset events({"m_bb", "m_wwbb"});
const std::string file = (gROOT->GetTutorialDir() + "/machine_learning/data/Higgs_data.root").Data();
events.Add("sig_tree", file, 1).Add("bkg_tree", file, 0);
CladTorch::Mlp model({2, 16, 1});
CladTorch::FitOptions options; options.fEpochs = 2; options.fLive = true;
auto history = model.Fit(events, options);"""
bad = 'model.Fit(CladTorch::Dataset({"a"}));'
reason = "the model takes 2"
magic = cells(start, f"%%cpp\n{cpp}", f"%%cpp\n{bad}", "%%cpp\nstd::cout << history.Epochs();", fails=True).cells[1:]
assert len(lines(magic[0])) == 1 and pictures(magic[0]) == 1 and printed(magic[2]) == "2"
assert [each.output_type for each in magic[1].outputs] == ["error"] and reason in magic[1].outputs[0].evalue, magic[1]
kernel = cells("R__LOAD_LIBRARY(libcladtorch)", cpp, bad, "std::cout << history.Epochs();", kernel="cpp").cells[1:]
assert "epoch 2/2" in printed(kernel[0]) and any("data" in each for each in kernel[0].outputs), kernel[0]
assert "Error in <CladTorch::Mlp::Fit>" in printed(kernel[1]) and reason in printed(kernel[1]), kernel[1]
assert printed(kernel[2]) == "2", kernel[2]

print(f"notebooks ran in ipykernel {ipykernel.__version__} and metakernel {metakernel.__version__}")
print("ALL CHECKS PASSED")
