"""Higgs boson or background: the PyROOT twin of higgs_classify.C.

    python root_macros/higgs_classify.py [output_folder [epochs]]
"""

import os
import sys
import time

import ROOT

FEATURES = """
    lepton_pT lepton_eta lepton_phi missing_energy_magnitude missing_energy_phi
    jet1_pt jet1_eta jet1_phi jet1_b-tag jet2_pt jet2_eta jet2_phi jet2_b-tag
    jet3_pt jet3_eta jet3_phi jet3_b-tag jet4_pt jet4_eta jet4_phi jet4_b-tag
    m_jj m_jjj m_lv m_jlv m_bb m_wbb m_wwbb
""".split()


def train(ct, data, gradient, epochs):
    """One training from the same initial weights; returns model, history and the seconds of Fit."""
    model = ct.Mlp([28, 64, 64, 1])
    start = time.monotonic()
    history = model.Fit(data, fEpochs=epochs, fBatchSize=256, fValidation=0.2, fSeed=1, fGradient=gradient, fVerbose=2)
    return model, history, time.monotonic() - start


def main(folder="higgs_classify_out", epochs=10):
    os.makedirs(folder, exist_ok=True)
    ROOT.gROOT.SetBatch(True)
    if ROOT.gSystem.Load("libcladtorch") < 0:
        sys.exit("libcladtorch was not found: put its folder into LD_LIBRARY_PATH")
    ct = ROOT.CladTorch
    file = os.path.join(str(ROOT.gROOT.GetTutorialDir()), "machine_learning/data/Higgs_data.root")
    if not os.path.exists(file):
        sys.exit(f"there is no {file}: put there Higgs_data.root of ROOT's tutorials (https://root.cern/files/)")

    everything = ct.Dataset(FEATURES)
    everything.Add("sig_tree", file, 1).Add("bkg_tree", file, 0)
    parts = everything.Split(0.7, 1)
    training, test = parts.first, parts.second
    everything.Print()

    model, history, seconds = train(ct, training, ct.kClad, epochs)
    reference, _, autograd_seconds = train(ct, training, ct.kAutograd, epochs)

    print(f"\nHiggs against background, {test.Rows()} test events, {epochs} epochs")
    print(f"  {'gradient':22} {'AUC':18} time of Fit")
    for name, fitted, taken in (("Clad", model, seconds), ("LibTorch autograd", reference, autograd_seconds)):
        print(f"  {name:22} {fitted.Auc(test):.4f} +- {fitted.AucError(test):.4f}   {taken:.2f} s")

    history.Draw().SaveAs(f"{folder}/loss.png")
    model.DrawScores(test).SaveAs(f"{folder}/scores.png")
    canvas = ROOT.TCanvas("roc", "ROC", 700, 600)
    canvas.SetGrid()
    roc = model.Roc(test)
    roc.Draw("AL")
    canvas.SaveAs(f"{folder}/roc.png")
    model.Save(f"{folder}/higgs.ct")


if __name__ == "__main__":
    main(*sys.argv[1:2], *map(int, sys.argv[2:3]))
