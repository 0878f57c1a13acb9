import cladtorch as ct
import numpy as np
import ROOT

file = f"{ROOT.gROOT.GetTutorialDir()}/machine_learning/data/Higgs_data.root"
events = ct.Dataset(["jet1_pt", "m_bb", "m_wwbb"])
events.Add("sig_tree", file, 1).Add(ROOT.RDataFrame("bkg_tree", file), 0, "m_bb > 0")

model = ct.Mlp([3, 64, 64, 1], ct.kReLU)
history = model.Fit(events, fEpochs=5, fSeed=1)
x = np.asarray(events.Features())  # [events, features], no copy
scored = model.Define(ROOT.RDataFrame("sig_tree", file), "score")
print("AUC", model.Auc(events), "mean score of the signal", scored.Mean("score").GetValue())
print(history[-1], model.Predict({"jet1_pt": [1.0], "m_bb": [0.9], "m_wwbb": [0.8]}))
