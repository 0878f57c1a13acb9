"""cladtorch-demo: the two classifiers of cladtorch/macros, trained in root.exe."""

import argparse
import os
import subprocess
import sys

import ROOT

MACROS = ("higgs_classify.C", "gw_classify.C")


def main():
    """Runs each macro in the folder that is named, where it leaves its plots and its model."""
    parser = argparse.ArgumentParser("cladtorch-demo", description="Trains the Higgs and the gravitational-wave classifier.")
    parser.add_argument("folder", nargs="?", default="cladtorch_demo", help="gets plots and models (default: %(default)s)")
    folder = os.path.abspath(parser.parse_args().folder)
    os.makedirs(folder, exist_ok=True)
    root = os.path.join(str(ROOT.TROOT.GetBinDir()), "root.exe")
    for name in MACROS:
        macro = os.path.join(os.path.dirname(os.path.abspath(__file__)), "macros", name)
        status = subprocess.run([root, "-l", "-b", "-q", macro], cwd=folder).returncode
        if status != 0:
            sys.exit(f"cladtorch-demo: {name} ended with {status}")
    print(f"plots and models are in {folder}")


if __name__ == "__main__":
    main()
