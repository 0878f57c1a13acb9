/// \file fit_messages.C
/// \brief Messages of Fit: options without effect, unusual options, progress.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>
#include "check.h"

#include <ROOT/RDataFrame.hxx>
#include <TError.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

using namespace CladTorch;

std::vector<std::string> gMessages;

void Keep(int, bool, const char *, const char *message)
{
   gMessages.push_back(message);
}

/// `f` prints `parts`, each in one message and only there; without parts it prints nothing.
template <class F>
void Says(const char *what, F f, const std::vector<std::string> &parts)
{
   gMessages.clear();
   const auto before = SetErrorHandler(Keep);
   f();
   SetErrorHandler(before);
   bool holds = gMessages.size() == parts.size();
   for (std::size_t i = 0; holds && i < parts.size(); ++i)
      holds = gMessages[i].find(parts[i]) != std::string::npos;
   if (!holds)
      for (const auto &message : gMessages)
         std::printf("said: %s\n", message.c_str());
   Check(holds, what, __FILE__, __LINE__);
}

ROOT::RDF::RNode Frame(int entries, const char *label = "rdfentry_ % 2")
{
   return ROOT::RDataFrame(entries).Define("x", "float(rdfentry_ % 7)").Define("w", "float(1 + rdfentry_ % 3)").Define("y", label);
}

Dataset Two(const char *label = "rdfentry_ % 2")
{
   return Dataset({"x"}).Add(Frame(1000, label), "y");
}

void Warnings()
{
   FitOptions options;
   options.fEpochs = 3;
   options.fVerbose = 0;
   const auto fit = [&](const Dataset &data, const FitOptions &with) { return [=] { Mlp({1, 8, 1}).Fit(data, with); }; };
   Says("a plain fit", fit(Two(), options), {});
   Says("one class", fit(Two("1"), options), {"has label 1"});
   auto threads = options;
   threads.fThreads = 1000;
   Says("a thousand threads", fit(Two(), threads), {"fThreads = 1000"});
   auto fast = options;
   fast.fLearningRate = 1e4;
   Says("a rate that diverges", fit(Two(), fast), {"lower fLearningRate (now 10000)"});
   const auto frozen = [&](const char *name) {
      return [=] { Mlp model({1, 8, 1}); model.Freeze(name); model.Fit(Two(), options); };
   };
   Says("a frozen layer", frozen("layers.0"), {});
   Says("nothing to train", frozen(""), {"all parameters are frozen"});
   Frame(1000, "1").Snapshot("t", "one_class.root", {"x", "y"});
   const auto stream = Stream({"x"}).Add("t", "one_class.root", "y");
   Says("one class of a stream", [&] { Mlp({1, 8, 1}).Fit(stream, options); }, {"has label 1"});
   Frame(1000).Snapshot("t", "two_classes.root", {"x", "y"});
   const auto cuts = Stream({"x"}).SetMixing(kBalanced).Add("t", "two_classes.root", 1, "y == 1 && x > 4").Add("t", "two_classes.root", 0, "y == 0");
   Says("one tree in two parts, balanced", [&] { Mlp({1, 8, 1}).Fit(cuts, options); }, {"kBalanced counts entries before the cuts"});
   const auto missing = Frame(1000).Redefine("x", "rdfentry_ % 50 == 7 ? -999.f : x");
   Says("a value for missing", fit(Dataset({"x"}).Add(missing, "y"), options), {"column \"x\" (-999 in 2."});
   auto raw = options;
   raw.fStandardise = false;
   Says("the same without standardisation", fit(Dataset({"x"}).Add(missing, "y"), raw), {});
   Dataset lists, masked;
   const auto few = Frame(1000).Define("list", "ROOT::RVecF(rdfentry_ % 3, x)");
   Says("pads out of all bounds", fit(lists.Column("list", 1, -999).Add(few, "y"), options), {"(-999 in 3"});
   Says("far pads with a mask", [&] { Mlp({2, 8, 1}).Fit(masked.Column("list", 1, -999).Mask("list").Add(few, "y"), options); },
        {"column \"list\" (-999); give one among the values"});
   Dataset near;
   Says("pads with a mask", [&] { Mlp({2, 8, 1}).Fit(near.Column("list", 1, -9).Mask("list").Add(few, "y"), options); }, {});
}

/// A prediction with an untrained model causes one warning.
void Untrained()
{
   const auto data = Two();
   const std::vector<std::string> told{"was not trained"};
   auto frame = Frame(10);
   Says("a prediction", [&] { Mlp({1, 1}).Predict(data); }, told);
   Says("logits", [&] { Mlp({1, 1}).Logits(data); }, told);
   Says("an area", [&] { Mlp({1, 1}).Auc(data); }, told);
   Says("a curve", [&] { delete Mlp({1, 1}).Roc(data); }, told);
   Says("a functor", [&] { Mlp({1, 1}).Functor(); }, told);
   Says("a column", [&] { Mlp({1, 1}).Define(frame, "s", {"x"}).Count().GetValue(); }, told);
   Says("two predictions", [&] { Mlp model({1, 1}); model.Predict(data); model.Auc(data); }, told);
   Says("a copy", [&] { Mlp model({1, 1}), copy(model); copy.Predict(data); }, told);
   FitOptions options;
   options.fEpochs = 1;
   options.fVerbose = 0;
   Mlp trained({1, 1});
   Says("a fit", [&] { trained.Fit(data, options); trained.Predict(data); }, {});
   Says("a file", [&] { trained.Save("m.ct"); Mlp::Load("m.ct").Predict(data); }, {});
   Says("given parameters", [&] { Mlp model({1, 1}); model.SetParameters({1, 2}); model.Predict(data); }, {});
}

/// Events in other units than those of the training cause one warning.
void Unlike()
{
   FitOptions options;
   options.fEpochs = 1;
   options.fVerbose = 0;
   const auto data = Two();
   Mlp model({1, 1});
   model.Fit(data, options);
   model.Save("gev.ct");
   const auto fresh = [] { return Mlp::Load("gev.ct"); };
   Frame(1000).Redefine("x", "1000 * x").Snapshot("t", "mev.root", {"x"});
   const auto other = Dataset({"x"}).Add("t", "mev.root", 0);
   const std::vector<std::string> told{"\"x\" (mean 2.99"};
   Says("the same units", [&] { fresh().Predict(data); }, {});
   Says("other units", [&] { auto read = fresh(); read.Predict(other); read.Predict(other); }, told);
   Says("an evaluation", [&] { fresh().Evaluate(other); }, told);
   Says("scores in a file", [&] { fresh().WriteScores(Source("t", "mev.root"), "scores.root"); }, told);
   // Another fit keeps the scale of the first if told to.
   auto keeps = options;
   keeps.fStandardise = false;
   const auto again = Dataset({"x"}).Add(Frame(1000).Redefine("x", "float(1000 * x)"), "y");
   Says("a fit that keeps its scale", [&] { fresh().Fit(again, keeps); }, {"the network keeps the scale of that fit"});
   Says("the same events again", [&] { fresh().Fit(data, keeps); }, {});
   Says("scores in blocks", [&] { fresh().DefineBatched(ROOT::RDataFrame("t", "mev.root"), "s").Sum("s").GetValue(); }, told);
}

void WeightsWithoutEffect()
{
   FitOptions options;
   options.fEpochs = 1;
   options.fVerbose = 0;
   const auto refuses = [&](const char *what, const Dataset &data, const char *weight) {
      Refuses(what, [&] { Mlp({1, 1}).Fit(data, options); }, {weight, "after the last Add"});
   };
   refuses("a weight after Add", Two().SetWeight("w"), "SetWeight(\"w\")");
   refuses("a function after Add", Two().SetWeight([](float w) { return w; }, {"w"}), "weight(w)");
   refuses("a weight after Add, split", Two().SetWeight("w").Split(0.5).first, "SetWeight(\"w\")");
   refuses("another weight after Add", Dataset({"x"}).SetWeight("w").Add(Frame(100), "y").SetWeight("2 * w"), "2 * w");
   for (const auto &data : {Dataset({"x"}).SetWeight("w").Add(Frame(100), "y"),
                            Dataset({"x"}).SetWeight("w").Add(Frame(100), "y").SetWeight(""),
                            Dataset({"x"}).Add(Frame(100), "y").SetWeight("w").Add(Frame(100), "y"),
                            Dataset({"x"}).SetWeight("w").Add(Frame(100), "y").SetWeight("").Add(Frame(100), "y")})
      CHECK(Mlp({1, 1}).Fit(data, options).Epochs() == 1);
}

/// A fit that takes longer than `seconds` is stopped, as by ROOT's stop button.
void Stopped(const Dataset &data, const FitOptions &options, int seconds)
{
   Mlp model({1, 512, 512, 1});
   std::thread button([seconds] {
      std::this_thread::sleep_for(std::chrono::seconds(seconds));
      gROOT->SetInterrupt();
   });
   bool thrown = false;
   try {
      model.Fit(data, options);
   } catch (const Interrupted &) {
      thrown = true;
   }
   button.join();
   CHECK(thrown && model.LastFit().Interrupted());
   CHECK(model.LastFit().Epochs() < std::size_t(options.fEpochs));
}

void fit_messages()
{
   Warnings();
   Untrained();
   Unlike();
   WeightsWithoutEffect();
   FitOptions options;
   options.fEpochs = 1000000000;
   options.fShuffle = false;
   std::printf("PROGRESS OF SHORT EPOCHS\n");
   Stopped(Dataset({"x"}).Add(Frame(50), "y"), options, 11);
   std::printf("PROGRESS OF A LONG EPOCH\n");
   Stopped(Dataset({"x"}).Add(Frame(3000000), "y"), options, 11);
   std::printf("SILENCE\n");
   std::fflush(stdout);
   options.fVerbose = 0;
   Stopped(Dataset({"x"}).Add(Frame(50), "y"), options, 5);
   std::printf("END OF SILENCE\n");
   Passed();
}
