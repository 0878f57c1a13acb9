"""Notebooks in kernels of Jupyter: what a cell prints and draws is below it, and a fit renews its line and its curves in place.

`notebook.py FOLDER`: FOLDER may hold the packages of tests/checks.txt.
"""

import base64
import json
import os
import pathlib
import sys
import time

sys.path.append(sys.argv[1])
try:
    import ipykernel
    import metakernel
    import nbclient
    import nbformat
except ImportError as error:
    print(f"left out: notebooks were not run ({error}): see tests/checks.txt")
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


# The notebook for users.
source = pathlib.Path(os.environ["CLADTORCH_SOURCE_DIR"], "root_macros/higgs_analysis.ipynb")
analysis = nbformat.read(source, 4)
nbformat.validate(analysis)
code = [cell for cell in analysis.cells if cell.cell_type == "code"]
assert not any(cell.outputs or cell.execution_count for cell in code), f"{source} is kept without outputs"
run(analysis)
named = {cell.id: cell for cell in code}
assert len(lines(named["fit"])) == 1 and lines(named["fit"])[0].startswith("[==========] epoch 30/30"), lines(named["fit"])
drawn = {name: pictures(cell) for name, cell in named.items() if pictures(cell)}
assert drawn == {"fit": 1, "evaluation": 2, "cut": 1}, drawn
for name in ("events", "history"):
    assert any("text/html" in each.get("data", {}) for each in named[name].outputs), name
for cell in code:
    print(printed(cell))

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
