/// \file interrupt_each.C
/// \brief Calls that take some hundredths of a second or more: Ctrl-C within each of them is CladTorch::Interrupted, and the session goes on.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>
#include "check.h"

#include <ROOT/RDataFrame.hxx>
#include <TTree.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <thread>
#include <unistd.h>

namespace Signal = CladTorch::Signal;
using CladTorch::Dataset;
using CladTorch::Evaluation;

/// The process's action on Ctrl-C.
auto Handler()
{
   struct sigaction now = {};
   sigaction(SIGINT, nullptr, &now);
   return now.sa_handler;
}

/// Whether `call` is interrupted if Ctrl-C is pressed as soon as it has installed its handler; a call that does not
/// notice Ctrl-C never installs one.
bool IsInterrupted(const std::function<void()> &call)
{
   const auto before = Handler();
   std::atomic<bool> ended{false};
   std::thread presser([&] {
      while (!ended && Handler() == before)
         std::this_thread::sleep_for(std::chrono::microseconds(100));
      if (!ended)
         kill(getpid(), SIGINT);
   });
   bool interrupted = false;
   try {
      call();
   } catch (const CladTorch::Interrupted &) {
      interrupted = true;
   }
   ended = true;
   presser.join();
   return interrupted;
}

/// On a busy machine the thread that presses may be late.
void Pressed(const char *name, const std::function<void()> &call)
{
   int tries = 1;
   while (!IsInterrupted(call) && tries < 10)
      ++tries;
   std::printf("%s: try %d\n", name, tries);
   CHECK(tries < 10);
}

void OfSignals()
{
   constexpr double rate = 4096;
   constexpr std::size_t samples = 1 << 21;
   const auto psd = Signal::DetectorPsd(samples, rate);
   const auto strain = Signal::Noise(psd, rate, 1);
   const auto chirp = Signal::Chirp(samples, rate, 15, 45, 100);
   const std::vector<double> snrs(samples, 3.);
   const Signal::MatchedFilter filter(chirp, psd, rate, 100);
   const auto each = [](const char *name, auto call) { Pressed(name, [&] { call(); }); };
   each("DetectorPsd", [&] { Signal::DetectorPsd(samples, rate); });
   each("Noise", [&] { Signal::Noise(psd, rate, 2); });
   each("Window", [&] { Signal::Window(Signal::kHann, 4 * samples); });
   each("SineGaussian", [&] { Signal::SineGaussian(samples, rate, 100, 9, 100); });
   each("Welch", [&] { Signal::Welch(strain, 512, rate); });
   each("InterpolatePsd", [&] { Signal::InterpolatePsd(psd, 2 * samples); });
   each("TruncateInverse", [&] { Signal::TruncateInverse(psd, rate, 4096); });
   each("BandPass", [&] { Signal::BandPass(strain, rate, 30, 300); });
   each("Notch", [&] { Signal::Notch(strain, rate, 60, 2); });
   each("WhitenByOwn", [&] { Signal::WhitenByOwn(strain, rate, 4096, 1024, 20); });
   each("Whiten", [&] { Signal::Whiten(strain, psd, rate); });
   each("PhaseShift", [&] { Signal::PhaseShift(strain, 1); });
   each("Snr", [&] { Signal::Snr(chirp, psd, rate); });
   each("ScaleToSnr", [&] { Signal::ScaleToSnr(chirp, psd, rate, 5); });
   each("MatchedFilter", [&] { Signal::MatchedFilter(chirp, psd, rate, 100); });
   each("MatchedFilter::Series", [&] { filter.Series(strain); });
   each("MatchedFilter::Max", [&] { filter.Max(strain, 1, 400); });
   const auto responses = Signal::DrawResponses({"H1"}, 1);
   const Signal::CoherentSearch search({filter}, responses, 1, 400, 5, 15);
   each("CoherentSearch", [&] { Signal::CoherentSearch({filter, filter}, responses, 1, 400, 5, 15); });
   each("CoherentSearch::Statistic", [&] { search.Statistic(strain); });
   each("CoherentSearch::Loudest", [&] { search.Loudest(strain); });
   each("DrawResponses", [&] { Signal::DrawResponses({"H1", "L1"}, 1000000); });
   each("BayesStatistic", [&] { Signal::BayesStatistic(snrs, 5); });
   each("Spectrogram", [&] { delete Signal::Spectrogram(strain, rate, 1024, 512); });
   each("QTransform", [&] { delete Signal::QTransform(strain, rate, 20, 30, 500); });
   each("DetectorNoise", [&] { Signal::DetectorNoise("H1", psd, rate, 1); });
   each("Whitener", [&] { Signal::Whitener(psd, rate, 0, samples); });
}

void OfEvents()
{
   constexpr std::size_t events = 2000000;
   auto frame = ROOT::RDataFrame(events).Define("x", "float((rdfentry_ * 7919) % 10007)").Define("y", "float((rdfentry_ * 104729) % 9973)");
   Dataset data({"x", "y"});
   data.Add(frame, "rdfentry_ % 2");
   const std::vector<float> labels(data.Labels().begin(), data.Labels().end());
   std::vector<float> scores;
   for (std::size_t i = 0; i < events; ++i)
      scores.push_back(data.Features().begin()[2 * i] / 10007);
   const auto evaluation = Evaluation::Classifier(scores, labels), other = Evaluation::Classifier(scores, labels);
   const auto regression = Evaluation::Regression(scores, labels);
   const CladTorch::Mlp model({2, 16, 1});
   const auto each = [](const char *name, auto call) { Pressed(name, [&] { call(); }); };
   each("Evaluation::Auc", [&] { evaluation.Auc(); });
   each("Evaluation::AucError", [&] { evaluation.AucError(); });
   each("Evaluation::Roc", [&] { delete evaluation.Roc(); });
   each("Evaluation::RocBand", [&] { delete evaluation.RocBand(); });
   each("Evaluation::BestCut", [&] { evaluation.BestCut(); });
   each("Evaluation::Efficiency", [&] { delete evaluation.Efficiency(scores, {0, 0.5, 1}, 0.1); });
   each("Evaluation::Rejection", [&] { delete evaluation.Rejection(); });
   each("Evaluation::Significance", [&] { delete evaluation.Significance(); });
   each("Evaluation::Overtraining", [&] { evaluation.Overtraining(other); });
   each("Evaluation::Resolution", [&] { regression.Resolution(); });
   each("Evaluation::DrawRoc", [&] { evaluation.DrawRoc(); });
   each("Evaluation::Print", [&] { evaluation.Print(); });
   each("Evaluation::Correlations", [&] { delete evaluation.Correlations(data); });
   each("Dataset::Correlations", [&] { delete data.Correlations(); });
   each("Dataset::Split", [&] { data.Split(0.5); });
   each("Dataset::Balance", [&] { Dataset(data).Balance(); });
   each("Model::Evaluate", [&] { model.Evaluate(data); });
   each("Model::Auc", [&] { model.Auc(data); });
   each("Ensemble::Predict", [&] { CladTorch::Ensemble({model, model}).Predict(data); });
   TTree many("many", "");
   many.SetEntries(events);
   const CladTorch::FloatView column(scores);
   each("WriteFriend", [&] { CladTorch::WriteFriend(many, "friend.root", {{"score", column}}); });
}

void interrupt_each()
{
   OfSignals();
   OfEvents();
   Passed();
}
