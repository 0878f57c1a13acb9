/// \file object_scores.C
/// \brief Model::Define on lists: one score for each object of an event; and on columns with systematic variations.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>

#include "check.h"

using CladTorch::Dataset;
using CladTorch::Mlp;
using ROOT::RVecD;
using ROOT::RVecF;

constexpr std::size_t kEvents = 3000;

double Noise(std::size_t event, std::size_t object, int column)
{
   return std::sin(1.7 * event + 0.9 * object * object + 2.3 * column);
}

/// Events with 0 to 4 jets of three numbers, a number per event and a list of three.
void Write()
{
   const auto list = [](int column) {
      return [column](ULong64_t event) {
         RVecD values(event % 5);
         for (std::size_t jet = 0; jet < values.size(); ++jet)
            values[jet] = Noise(event, jet, column);
         return values;
      };
   };
   ROOT::RDF::RSnapshotOptions options;
   options.fAutoFlush = 500; // several tasks
   ROOT::RDataFrame(kEvents)
      .Define("pt", list(0), {"rdfentry_"})
      .Define("eta", [=](ULong64_t event) { return RVecF(list(1)(event)); }, {"rdfentry_"})
      .Define("met", [](ULong64_t event) { return Noise(event, 0, 2); }, {"rdfentry_"})
      .Define("window", [](ULong64_t event) { return RVecF{float(Noise(event, 1, 3)), float(Noise(event, 2, 3)), 0.5f}; }, {"rdfentry_"})
      .Define("event", "int(rdfentry_)")
      .Snapshot("events", "jets.root", {"pt", "eta", "met", "window", "event"}, options);
}

ROOT::RDF::RNode Events()
{
   return ROOT::RDataFrame("events", "jets.root");
}

/// One row for each jet of the events, in their order; the pt is multiplied by `factor`.
ROOT::RDF::RNode Jets(double factor = 1)
{
   std::vector<std::pair<std::size_t, std::size_t>> jets;
   for (std::size_t event = 0; event < kEvents; ++event)
      for (std::size_t jet = 0; jet < event % 5; ++jet)
         jets.emplace_back(event, jet);
   const auto of = [jets](int column, double by) {
      return [=](ULong64_t i) { return by * Noise(jets[i].first, jets[i].second, column); };
   };
   return ROOT::RDataFrame(jets.size())
      .Define("pt", of(0, factor), {"rdfentry_"})
      .Define("eta", of(1, 1), {"rdfentry_"})
      .Define("met", [jets](ULong64_t i) { return Noise(jets[i].first, 0, 2); }, {"rdfentry_"})
      .Define("window", [jets](ULong64_t i) {
         return RVecF{float(Noise(jets[i].first, 1, 3)), float(Noise(jets[i].first, 2, 3)), 0.5f};
      }, {"rdfentry_"})
      .Define("kind", "int(pt > 0) + int(eta > 0)");
}

/// A network of single jets.
CladTorch::Model Trained(Dataset columns, std::size_t outputs, std::uint64_t seed = 1)
{
   CladTorch::FitOptions options;
   options.fEpochs = 2;
   options.fVerbose = 0;
   options.fSeed = seed;
   options.fLoss = outputs == 1 ? CladTorch::kMeanSquaredError : CladTorch::kSoftmaxCrossEntropy;
   Mlp model({columns.Width(), 12, outputs}, CladTorch::kTanh);
   model.Fit(columns.Add(Jets(), "kind"), options);
   return model;
}

std::vector<float> Expected(const CladTorch::Model &model, double factor = 1)
{
   return model.Predict(model.NewDataset().Add(Jets(factor), "kind"));
}

/// The scores of the events, in their order for any number of threads, one after the other.
std::vector<float> Flat(ROOT::RDF::RNode frame, const std::string &column)
{
   auto events = frame.Take<int>("event");
   auto lists = frame.Take<RVecF>(column);
   std::map<int, RVecF> ordered;
   for (std::size_t i = 0; i < lists->size(); ++i)
      ordered[(*events)[i]] = (*lists)[i];
   std::vector<float> flat;
   std::size_t wrong = 0;
   for (const auto &[event, list] : ordered) {
      wrong += list.size() != event % 5u;
      flat.insert(flat.end(), list.begin(), list.end());
   }
   CHECK(wrong == 0);
   return flat;
}

/// Of `found` to output `output` of `outputs`.
double Largest(const std::vector<float> &found, const std::vector<float> &expected, std::size_t output = 0, std::size_t outputs = 1)
{
   double largest = found.size() * outputs == expected.size() ? 0 : 1e9;
   for (std::size_t i = 0; largest < 1e9 && i < found.size(); ++i)
      largest = std::max(largest, std::fabs(double(found[i]) - expected[i * outputs + output]));
   return largest;
}

void OneOutput()
{
   const auto model = Trained(Dataset({"pt", "eta", "met"}), 1);
   auto scored = model.Define(Events(), "score");
   CHECK(scored.GetColumnType("score") == "ROOT::VecOps::RVec<float>");
   const auto scores = Flat(scored, "score");
   CHECK(scores.size() == kEvents * 2 && Largest(scores, Expected(model)) < 1e-5);
   CHECK(Flat(model.Define(Events(), "score", {"pt", "eta", "met"}), "score") == scores);
   // Compiled code calls a functor.
   auto floats = Events().Define("p", "RVecF(pt)").Define("m", "RVecF(pt.size(), met)");
   CHECK(Flat(floats.Define("score", model.Functor<3, RVecF>(), {"p", "eta", "m"}), "score") == scores);
   // Expressions of lists, scalars alone, and arrays that belong to the event.
   const auto absolute = Trained(Dataset({"abs(pt)", "eta", "met * 2"}), 1);
   CHECK(Largest(Flat(absolute.Define(Events(), "score"), "score"), Expected(absolute)) < 1e-5);
   CHECK(model.Define(Events(), "score", {"pt[0]", "eta[0]", "met"}).GetColumnType("score") == "float");
   const auto windowed = Trained(Dataset({"pt"}).Column("window", 3).Column("met"), 1);
   CHECK(Largest(Flat(windowed.Define(Events(), "score"), "score"), Expected(windowed)) < 1e-5);
   // The mean of several networks.
   const auto other = Trained(Dataset({"pt", "eta", "met"}), 1, 2);
   auto expected = Expected(other);
   for (std::size_t i = 0; i < expected.size(); ++i)
      expected[i] = (expected[i] + scores[i]) / 2;
   CHECK(Largest(Flat(CladTorch::Ensemble({model, other}).Define(Events(), "score"), "score"), expected) < 1e-5);
}

void SeveralOutputs()
{
   const auto model = Trained(Dataset({"pt", "met"}), 3);
   auto scored = model.Define(Events(), "score");
   CHECK(!scored.HasColumn("score") && scored.HasColumn("score_0") && !scored.HasColumn("score_3"));
   const auto expected = Expected(model);
   for (std::size_t output = 0; output < 3; ++output)
      CHECK(Largest(Flat(scored, "score_" + std::to_string(output)), expected, output, 3) < 1e-5);
   Refuses("a column that is there", [&] { model.Define(Events().Define("score_1", "1"), "score"); }, {"'score_1'"});
   Refuses("an ensemble of several outputs", [&] { CladTorch::Ensemble({model, model}).Define(Events(), "score"); },
           {"3 outputs", "each object"});
}

void DifferentLengths(bool threads)
{
   const auto model = Trained(Dataset({"pt", "eta", "met"}), 1);
   auto uneven = Events().Redefine("eta", [](const RVecF &eta, int event) { return event == 12 ? RVecF(7) : eta; }, {"eta", "event"});
   for (std::size_t outputs : {1, 3})
      Refuses("lists of different lengths", [&] {
         Trained(Dataset({"pt", "eta", "met"}), outputs).Define(uneven, "score").Sum<RVecF>(outputs == 1 ? "score" : "score_0").GetValue();
      }, {"'eta' has 7", "'pt' 2", threads ? "in an event" : "in entry 12"});
   const auto functor = model.Functor<3, RVecF>();
   Refuses("arguments of different lengths", [&] { functor(RVecF{1, 2}, RVecF{1, 2}, RVecF{1}); }, {"argument 2 has 1", "argument 0 has 2"});
   CHECK(functor(RVecF{}, RVecF{}, RVecF{}).empty());
}

/// A column with variations, up and down, and columns computed from it: each universe has the predictions of its
/// values.
void Variations()
{
   const auto shifted = [](const RVecD &pt) { return ROOT::RVec<RVecD>{pt * 0.75, pt * 1.5}; };
   const auto model = Trained(Dataset({"pt", "eta", "met"}), 1);
   auto lists = model.Define(Events().Vary("pt", shifted, {"pt"}, {"down", "up"}, "scale"), "score");
   auto found = ROOT::RDF::Experimental::VariationsFor(lists.Define("square", "Sum(score * score)").Sum<float>("square"));
   for (const auto &[universe, factor] : {std::pair("nominal", 1.), std::pair("scale:down", 0.75), std::pair("scale:up", 1.5)}) {
      const auto expected = Expected(model, factor);
      const double square = std::inner_product(expected.begin(), expected.end(), expected.begin(), 0.);
      std::cout << universe << ": " << found[universe] << ", " << square << std::endl;
      CHECK(Near(found[universe] / square, 1, 1e-5));
   }
   CHECK(!Near(found["nominal"] / found["scale:up"], 1, 1e-3) && !Near(found["nominal"] / found["scale:down"], 1, 1e-3));

   // A number of the event; histograms to the bit.
   const auto met = [](double met) { return RVecD{met - 0.25, met + 0.5}; };
   Mlp scalar({2, 8, 1});
   scalar.SetColumns({"met", "event * 1e-3"});
   CladTorch::FitOptions options;
   options.fEpochs = 10;
   options.fVerbose = 0;
   options.fLearningRate = 1e-2;
   auto events = Events().Define("y", "met > 0");
   scalar.Fit(scalar.NewDataset().Add(events, "y"), options);
   const auto histogram = [&](ROOT::RDF::RNode frame) { return frame.Filter("event % 3 > 0").Histo1D({"h", "", 50, 0., 1.}, "score"); };
   auto varied = ROOT::RDF::Experimental::VariationsFor(
      histogram(scalar.Define(events.Vary("met", met, {"met"}, {"down", "up"}), "score")));
   for (const auto &[universe, shift] : {std::pair("nominal", "0"), std::pair("met:down", "-0.25"), std::pair("met:up", "0.5")}) {
      auto moved = events.Redefine("met", std::string("met + ") + shift);
      auto alone = histogram(scalar.Define(moved, "score"));
      const auto scores = scalar.Predict(scalar.NewDataset().Add(moved.Filter("event % 3 > 0"), "y"));
      double mean = 0, different = 0;
      for (const float score : scores)
         mean += score / scores.size();
      for (int bin = 0; bin <= 51; ++bin)
         different += varied[universe].GetBinContent(bin) != alone->GetBinContent(bin);
      CHECK(different == 0 && varied[universe].GetEntries() == 2000 && Near(varied[universe].GetMean(), mean, 1e-5));
   }
   CHECK(varied["met:up"].GetMean() > varied["nominal"].GetMean() + 1e-3);
}

void object_scores(bool threads = false)
{
   Write();
   if (threads)
      ROOT::EnableImplicitMT(2);
   OneOutput();
   SeveralOutputs();
   DifferentLengths(threads);
   Variations();
   Passed();
}
