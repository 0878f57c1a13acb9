/// \file train.C
/// \brief From trees to a classifier and back: training, predictions in every way, plots, file.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>
#include "check.h"

#include <TCanvas.h>
#include <TGraph.h>
#include <TH1F.h>
#include <THStack.h>
#include <TLegend.h>
#include <TMultiGraph.h>
#include <TROOT.h>

#include <numeric>

using CladTorch::Dataset;
using CladTorch::FitOptions;
using CladTorch::History;
using CladTorch::Mlp;

const std::vector<std::string> kColumns{"m_bb", "m_wwbb", "jet1_pt"};

std::string HiggsFile()
{
   return (gROOT->GetTutorialDir() + "/machine_learning/data/Higgs_data.root").Data();
}

template <class Plot>
void CheckAxes(Plot &plot, const std::string &x, const std::string &y)
{
   CHECK(plot.GetXaxis()->GetTitle() == x);
   CHECK(plot.GetYaxis()->GetTitle() == y);
}

void CheckHistory(const History &history)
{
   CHECK(history.Epochs() == 10 && history.ValidationLoss().size() == 10 && history.Seconds().size() == 10);
   CHECK(history.TrainLoss().back() < history.TrainLoss().front());
   CHECK(history.ValidationLoss().back() > 0.5 && history.ValidationLoss().back() < 0.66); // ln 2 = 0.69 knows nothing
   auto *canvas = history.Draw();
   canvas->SaveAs("history.png");
   CHECK(gROOT->GetListOfCanvases()->FindObject(canvas) != nullptr);
   CHECK(history.Draw() != canvas);
   TMultiGraph *curves = nullptr;
   for (TObject *drawn : *canvas->GetListOfPrimitives())
      curves = drawn->InheritsFrom(TMultiGraph::Class()) ? static_cast<TMultiGraph *>(drawn) : curves;
   CHECK(curves != nullptr);
   CheckAxes(*curves, "Epoch", "Weighted mean loss");
}

void CheckDefine(const Mlp &model, const Dataset &data)
{
   const auto expected = model.Predict(data);
   ROOT::RDataFrame signal("sig_tree", HiggsFile());
   const auto functor = model.Functor();
   const auto row = [](float a, float b, float c) { return ROOT::RVecF{a, b, c}; };
   auto frame = model.Define(signal.Define("row", row, kColumns), "defined")
                   .Define("scalars", model.Functor<3>(), model.Columns())
                   .Define("vector", functor, {"row"})
                   .Filter("defined > 0.5");
   auto defined = frame.Take<float>("defined");
   auto scalars = frame.Take<float>("scalars");
   auto vector = frame.Take<float>("vector");
   CHECK(*defined == *scalars && *defined == *vector);
   std::vector<float> above;
   for (std::size_t i = 0; i < 10000; ++i) // the signal is the first source
      if (expected[i] > 0.5)
         above.push_back(expected[i]);
   auto sorted = *defined; // threads deliver in any order
   std::sort(sorted.begin(), sorted.end());
   std::sort(above.begin(), above.end());
   CHECK(sorted == above && sorted.size() > 1000);
}

/// Whether the curve has a point for each of the 90 events with the highest scores.
bool HasFirstEvents(const TGraph &roc, const Mlp &model, const Dataset &data)
{
   const auto scores = model.Logits(data);
   const auto labels = data.Labels();
   const auto weights = data.Weights();
   std::vector<std::size_t> order(scores.size());
   std::iota(order.begin(), order.end(), 0);
   std::sort(order.begin(), order.end(), [&](auto a, auto b) { return scores[a] > scores[b]; });
   double all[2] = {0, 0}, passed[2] = {0, 0};
   for (std::size_t i = 0; i < scores.size(); ++i)
      all[labels(i) > 0.5] += weights(i);
   const auto isPoint = [&](double x, double y) {
      for (int i = 0; i < roc.GetN(); ++i)
         if (Near(roc.GetPointX(i), x, 1e-12) && Near(roc.GetPointY(i), y, 1e-12))
            return true;
      return false;
   };
   for (std::size_t i = 0; i < 90; ++i) {
      passed[labels(order[i]) > 0.5] += weights(order[i]);
      const bool tied = scores[order[i]] == scores[order[i + 1]];
      if (!tied && !isPoint(passed[0] / all[0], passed[1] / all[1]))
         return false;
   }
   return true;
}

void CheckPlots(const Mlp &model, const Dataset &data)
{
   const double auc = model.Auc(data);
   CHECK(auc > 0.68 && auc < 0.8);
   CHECK(model.AucError(data) > 0.001 && model.AucError(data) < 0.01);
   std::unique_ptr<TGraph> roc(model.Roc(data));
   CHECK(roc->GetN() > 100 && roc->GetPointX(0) == 0 && roc->GetPointY(roc->GetN() - 1) == 1);
   CHECK(Near(roc->Integral() + 0.5, auc, 0.01)); // TGraph closes the curve along the diagonal
   CHECK(std::string(roc->GetTitle()) == Form("AUC = %.4f #pm %.4f", auc, model.AucError(data)));
   CHECK(HasFirstEvents(*roc, model, data));
   CheckAxes(*roc, "Background efficiency", "Signal efficiency");
   TCanvas canvas;
   roc->Draw("AL");
   canvas.SaveAs("roc.png");

   TH1F mine("score_signal", "", 1, 0, 1); // the user's own histogram stays where it is
   const auto scores = model.Scores(data, 25);
   CHECK(gDirectory->Get("score_signal") == &mine);
   CheckAxes(*scores.first, "Network output", "Share of events per bin");
   CHECK(Near(scores.first->Integral(), 1, 1e-6) && Near(scores.second->Integral(), 1, 1e-6));
   CHECK(scores.first->GetEntries() == 10000 && scores.first->GetMean() > scores.second->GetMean());
   CHECK(scores.first->GetDirectory() == nullptr);
   delete scores.first;
   delete scores.second;
   auto *drawn = model.DrawScores(data);
   CheckAxes(dynamic_cast<THStack &>(*drawn->GetPrimitive("scores")), "Network output", "Share of events per bin");
   drawn->SaveAs("scores.png");
}

void CheckFile(const Mlp &model, const Dataset &data)
{
   model.Save("higgs.ct");
   const auto loaded = Mlp::Load("higgs.ct");
   CHECK(loaded.Predict(data) == model.Predict(data) && loaded.Columns() == kColumns);
   CHECK(loaded.Inputs() == 3 && loaded.Outputs() == 1);
   std::ifstream file("higgs.ct", std::ios::binary);
   const std::string bytes((std::istreambuf_iterator<char>(file)), {});
   std::ofstream("short.ct", std::ios::binary) << bytes.substr(0, bytes.size() - 7);
   Refuses("model file cut short", [] { Mlp::Load("short.ct"); }, {"short.ct"});
}

void CheckMoves(Mlp model)
{
   auto functor = model.Functor();
   auto view = model.Parameters();
   const auto other = std::move(functor);
   const auto numbers = std::move(view);
   const Mlp moved = std::move(model);
   CHECK(model.Inputs() == 3 && moved.Inputs() == 3 && functor.Inputs() == 3 && other.Inputs() == 3); // all are copies
   model = Mlp({1, 1});
   functor = model.Functor();
   CHECK(view(0) == numbers(0) && view(0) == moved.Parameters()(0));
}

void CheckCopies(Mlp model, const Dataset &data)
{
   const auto frozen = model.Functor();
   const Mlp copy = model;
   const float before = frozen(ROOT::RVecF{1, 1, 1});
   model.SetParameters(std::vector<float>(model.Parameters().Size(), 0));
   CHECK(model.Functor()(ROOT::RVecF{1, 1, 1}) == 0.5f);
   CHECK(frozen(ROOT::RVecF{1, 1, 1}) == before && copy.Functor()(ROOT::RVecF{1, 1, 1}) == before);
   CHECK(before != 0.5f);
}

void CheckClasses()
{
   const auto vector = [](ULong64_t i) { return ROOT::RVecD{double(i % 3), double(i % 2)}; };
   auto frame = ROOT::RDataFrame(600).Define("v", vector, {"rdfentry_"}).Define("kind", "int(rdfentry_ % 3)");
   Dataset data;
   data.Column("v", 2).Add(frame, "kind");
   Mlp model({2, 16, 3}, CladTorch::kTanh, CladTorch::kXavier);
   FitOptions options;
   options.fVerbose = 0;
   options.fLearningRate = 0.02;
   options.fBatchSize = 32;
   model.Fit(data, options);
   const auto p = model.Predict(data);
   CHECK(p.size() == 1800 && Near(p[0] + p[1] + p[2], 1, 1e-5) && p[0] > 0.8 && p[4] > 0.8);
   auto scored = model.Define(frame, "p").Take<ROOT::RVecF>("p");
   CHECK(scored->size() == 600 && scored->front().size() == 3);
   double sum = 0;
   for (const auto &row : *scored)
      sum += ROOT::VecOps::Sum(row);
   CHECK(Near(sum, 600, 0.01));
}

void train(bool threads = false)
{
   if (threads)
      ROOT::EnableImplicitMT(2);
   Dataset data(kColumns);
   data.Add("sig_tree", HiggsFile(), 1).Add("bkg_tree", HiggsFile(), 0);
   FitOptions options;
   options.fEpochs = 10;
   Mlp model({3, 32, 1});
   CheckHistory(model.Fit(data, options));
   CheckDefine(model, data);
   CheckPlots(model, data);
   CheckFile(model, data);
   CheckCopies(model, data);
   CheckMoves(model);
   CheckClasses();
   Passed();
}
