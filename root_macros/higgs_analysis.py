"""A selection from start to end: cross-validation, the final fit, its report, a working point, scores as a friend tree.

The Python twin of higgs_analysis.C, where each step is explained.

    python higgs_analysis.py [output_folder]
"""

import os
import sys

import ROOT

ROOT.gROOT.SetBatch(True)
if ROOT.gSystem.Load("libcladtorch") < 0:
    sys.exit("libcladtorch cannot be loaded: run this with `cargo xtask python`, or set LD_LIBRARY_PATH (see the page install.md)")
ct = ROOT.CladTorch

FEATURES = [
    *("lepton_pT", "lepton_eta", "missing_energy_magnitude", "jet1_pt", "jet1_b-tag", "jet2_pt", "jet2_b-tag", "jet3_pt"),
    *("m_jj", "m_jjj", "m_lv", "m_jlv", "m_bb", "m_wbb", "m_wwbb"),
]


def main(folder="higgs_analysis_out"):
    os.makedirs(folder, exist_ok=True)
    file = f"{ROOT.gROOT.GetTutorialDir()}/machine_learning/data/Higgs_data.root"

    events = ct.Dataset(FEATURES)
    events.Add("sig_tree", file, 1, "m_bb < 5").Add("bkg_tree", file, 0, "m_bb < 5").Balance()
    test, train = events.Split(0.3, 1)

    layers = ct.MlpOptions(fNormalisation=ct.kLayerNorm, fDropout=0.1)
    options = ct.FitOptions(fEpochs=30, fPatience=8, fMetrics=[ct.kAuc], fVerbose=0)

    start = ct.Mlp([len(FEATURES), 64, 64, 1], layers)
    start.CrossValidate(train, 5, options).Print()

    model = ct.Mlp(start)
    history = model.Fit(train, options)
    best = history.BestEpoch()
    auc = history.Metric("AUC")[best - 1]
    print(f"\nthe fit took {history.Epochs()} epochs, the best was number {best} with an AUC of {auc:.4f} on validation events\n")
    history.Draw().SaveAs(f"{folder}/loss.png")

    model.Report(f"{folder}/report.pdf", test, train)
    evaluation = model.Evaluate(test)
    evaluation.Print()
    cut, significance = evaluation.BestCut(100, 5000, 0.05)
    print(f"best cut: score >= {cut:.3f}, expected significance {significance:.2f}")

    model.Save(f"{folder}/higgs.ct")
    signal = ROOT.TChain("sig_tree")
    signal.Add(file)
    model.WriteScores(signal, f"{folder}/scores.root")
    signal.AddFriend("cladtorch", f"{folder}/scores.root")
    print(f"{signal.GetEntries(f'cladtorch.score >= {cut}')} of {signal.GetEntries()} signal events pass")


if __name__ == "__main__":
    main(*sys.argv[1:])
