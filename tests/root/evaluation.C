/// \file evaluation.C
/// \brief Figures, graphs and reports of Evaluation against counts by hand, for every kind of prediction.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>

#include "check.h"

#include <TCanvas.h>
#include <TGraphAsymmErrors.h>
#include <TImage.h>

using CladTorch::Evaluation;

/// Two columns that separate signal from background, one that does not, a weight, a class and a target.
ROOT::RDF::RNode Events(unsigned seed, unsigned events)
{
   const auto noise = [seed](ULong64_t entry) {
      TRandom3 random(seed * 1000003 + entry + 1);
      return ROOT::RVecD{random.Gaus(), random.Gaus(), random.Gaus(), random.Uniform(0.5, 1.5)};
   };
   return ROOT::RDataFrame(events)
      .Define("noise", noise, {"rdfentry_"})
      .Define("signal", "int(rdfentry_ % 2)")
      .Define("strong", "1.5 * signal + noise[0]")
      .Define("weak", "0.5 * signal + noise[1]")
      .Define("empty", "noise[2]")
      .Define("weight", "noise[3]")
      .Define("kind", "int(strong > 1.5) + int(strong > 0)")
      .Define("energy", "10 * strong + 3 + 0.5 * noise[2]");
}

CladTorch::Dataset Read(unsigned seed, unsigned events, const CladTorch::Label &label)
{
   CladTorch::Dataset data({"strong", "weak", "empty"});
   data.SetWeight("weight").Add(Events(seed, events), label);
   return data;
}

/// Efficiency of one class at `cut`, event by event.
double Share(const std::vector<float> &scores, const CladTorch::Dataset &data, double cut, bool signal)
{
   double passed = 0, all = 0;
   for (std::size_t i = 0; i < scores.size(); ++i) {
      if ((data.Labels()(i) > 0.5f) != signal)
         continue;
      all += data.Weights()(i);
      passed += scores[i] >= cut ? data.Weights()(i) : 0;
   }
   return passed / all;
}

/// Sum of the weights of signal or background.
double Weight(const CladTorch::Dataset &data, bool signal)
{
   const auto labels = data.Labels(), weights = data.Weights();
   double sum = 0;
   for (std::size_t i = 0; i < data.Rows(); ++i)
      if ((labels(i) > 0.5) == signal)
         sum += weights(i);
   return sum;
}

void Classifier(const CladTorch::Model &model, const CladTorch::Dataset &test, const CladTorch::Dataset &training)
{
   const auto evaluation = model.Evaluate(test);
   const auto scores = model.Predict(test);
   evaluation.Print();
   CHECK(evaluation.Events() == test.Rows() && evaluation.Outputs() == 1);
   CHECK(evaluation.Auc() == model.Auc(test) && evaluation.AucError() == model.AucError(test));
   CHECK(evaluation.Auc() > 0.8);
   for (double cut : {0.2, 0.5, 0.8}) {
      const double signal = Share(scores, test, cut, true), background = Share(scores, test, cut, false);
      CHECK(Near(evaluation.Recall(cut), signal, 1e-9) && Near(evaluation.FalseAlarms(cut), background, 1e-9));
      const double s = signal * Weight(test, true), b = background * Weight(test, false);
      CHECK(Near(evaluation.Precision(cut), s / (s + b), 1e-9));
      CHECK(Near(evaluation.Accuracy(cut), (s + Weight(test, false) - b) / (Weight(test, true) + Weight(test, false)), 1e-9));
   }
   // A point of the curve that belongs to a cut has its efficiencies.
   const auto [cut, significance] = evaluation.BestCut(50, 500, 0.1);
   CHECK(cut > 0 && cut < 1 && significance > 0);
   const double s = 50 * Share(scores, test, cut, true), b = 500 * Share(scores, test, cut, false);
   const double sigma = 0.1 * b, v = sigma * sigma;
   const double byHand = std::sqrt(2 * ((s + b) * std::log((s + b) * (b + v) / (b * b + (s + b) * v)) -
                                        b * b / v * std::log(1 + v * s / (b * (b + v)))));
   CHECK(Near(significance / byHand, 1, 2e-3)); // cuts are made on logits
   std::unique_ptr<TGraph> curve(evaluation.Significance(50, 500, 0.1));
   for (int i = 0; i < curve->GetN(); ++i)
      if (curve->GetPointY(i) > significance + 1e-12)
         CHECK(false && "a point above the best");
   std::unique_ptr<TGraph> roc(evaluation.Roc()), direct(model.Roc(test));
   CHECK(roc->GetN() == direct->GetN() && std::string(roc->GetTitle()) == direct->GetTitle());
   std::unique_ptr<TGraphErrors> band(evaluation.RocBand()), rejection(evaluation.Rejection());
   CHECK(band->GetN() > 50 && band->GetErrorY(band->GetN() / 2) > 0 && rejection->GetPointY(rejection->GetN() - 1) == 1);
   const std::vector<float> against(evaluation.Events(), 1.5f);
   std::unique_ptr<TGraphAsymmErrors> efficiency(evaluation.Efficiency(against, {1, 2, 3}, 0.1));
   CHECK(efficiency->GetN() == 1 && efficiency->GetPointX(0) == 1.5 && Near(efficiency->GetPointY(0), roc->Eval(0.1), 0.02));
   CHECK(efficiency->GetErrorYhigh(0) > 0 && efficiency->GetErrorYlow(0) > 0);
   CHECK(evaluation.Temperature() > 0.5 && evaluation.Temperature() < 2 && evaluation.CalibrationError() < 0.1);
   const auto [signal, background] = evaluation.Overtraining(evaluation);
   CHECK(signal == 1 && background == 1);
   const auto again = evaluation.Overtraining(model.Evaluate(training));
   CHECK(again.first > 1e-4 && again.second > 1e-4);
   const auto plain = Evaluation::Classifier(scores, {test.Labels().begin(), test.Labels().end()},
                                             {test.Weights().begin(), test.Weights().end()});
   CHECK(Near(plain.Auc(), evaluation.Auc(), 1e-4) && plain.Accuracy() == evaluation.Accuracy());
   CHECK(CladTorch::Auc({0.1f, 0.4f, 0.35f, 0.8f}, {0.f, 0.f, 1.f, 1.f}) == 0.75);
   // The second background event counts three times: (1 + 3 x 0) / 4 of the pairs of the first signal are right.
   CHECK(CladTorch::Auc({0.1f, 0.4f, 0.35f, 0.8f}, {0.f, 0.f, 1.f, 1.f}, {1.f, 3.f, 1.f, 1.f}) == (0.25 + 1) / 2);

   std::unique_ptr<TH1> importance(model.Importance(test));
   CHECK(importance->GetNbinsX() == 3 && std::string(importance->GetXaxis()->GetBinLabel(3)) == "strong");
   CHECK(importance->GetBinContent(3) > 5 * importance->GetBinError(3));
   CHECK(std::string(importance->GetXaxis()->GetBinLabel(1)) == "empty");
   std::unique_ptr<TH2> correlations(test.Correlations());
   CHECK(Near(correlations->GetBinContent(1, 1), 1, 1e-6) &&
         correlations->GetBinContent(1, 2) == correlations->GetBinContent(2, 1));
   std::unique_ptr<TH1> spectators(evaluation.Correlations(test));
   CHECK(spectators->GetBinContent(1) > 0.5 && std::fabs(spectators->GetBinContent(3)) < 0.2);
}

/// The value of GradientImportance() by central differences of Logits(), with the weights of the events.
double ByDifferences(const CladTorch::Model &model, const CladTorch::Label &label, const char *column, std::size_t output)
{
   constexpr float kStep = 1e-2f;
   const auto moved = [&](float step) {
      CladTorch::Dataset data({"strong", "weak", "empty"});
      data.Add(Events(2, 4000).Redefine(column, std::string(column) + " + " + std::to_string(step)), label);
      return data;
   };
   const auto data = Read(2, 4000, label);
   const auto above = model.Logits(moved(kStep)), below = model.Logits(moved(-kStep));
   const std::size_t outputs = model.Outputs(), at = column == std::string("strong") ? 0 : column == std::string("weak") ? 1 : 2;
   double sum = 0, all = 0, first = 0, second = 0;
   for (std::size_t i = 0; i < data.Rows(); ++i) {
      const double weight = data.Weights()(i), value = data.Features()(i, at);
      sum += weight * std::fabs(double(above[i * outputs + output]) - below[i * outputs + output]) / (2 * kStep);
      all += weight;
      first += weight * value;
      second += weight * value * value;
   }
   return sum / all * std::sqrt(second / all - first * first / all / all);
}

void Slopes(const CladTorch::Model &model, const CladTorch::Label &label, std::size_t output, const char *axis)
{
   std::unique_ptr<TH1> bars(model.GradientImportance(Read(2, 4000, label), output));
   std::cout << bars->GetYaxis()->GetTitle() << std::endl;
   CHECK(bars->GetNbinsX() == 3 && std::string(bars->GetYaxis()->GetTitle()) == axis);
   for (int bin = 1; bin <= 3; ++bin) {
      const char *column = bars->GetXaxis()->GetBinLabel(bin);
      const double expected = ByDifferences(model, label, column, output);
      std::cout << column << " " << bars->GetBinContent(bin) << " +- " << bars->GetBinError(bin) << ", " << expected << std::endl;
      CHECK(Near(bars->GetBinContent(bin) / expected, 1, 5e-3) && bars->GetBinError(bin) < 0.1 * expected);
      CHECK(bin == 1 || bars->GetBinContent(bin) >= bars->GetBinContent(bin - 1));
   }
}

/// The same network in other units, such as metres instead of millimetres.
void Units(const CladTorch::Model &model)
{
   auto scaler = model.Scaler();
   for (auto *numbers : {&scaler.fMean, &scaler.fDeviation})
      (*numbers)[0] *= 1024; // changes no digit
   CladTorch::Model other = model;
   CladTorch::Dataset data({"1024 * strong", "weak", "empty"});
   other.SetColumns(data);
   other.SetScaler(scaler.fMean, scaler.fDeviation);
   std::unique_ptr<TH1> here(model.GradientImportance(Read(2, 4000, "signal")));
   std::unique_ptr<TH1> there(other.GradientImportance(data.SetWeight("weight").Add(Events(2, 4000), 0)));
   for (int bin = 1; bin <= 3; ++bin)
      CHECK(Near(there->GetBinContent(bin) / here->GetBinContent(bin), 1, 1e-4));
}

/// Bars of both signs, drawn as described by Importance(), in a picture: coloured from 0 to their ends and nowhere
/// else.
void CheckBars(const CladTorch::Model &model, const CladTorch::Dataset &test)
{
   std::unique_ptr<TH1> bars(model.Importance(test, 1));
   const double ends[] = {-0.8, -0.2, 0.6};
   for (int bin = 1; bin <= 3; ++bin)
      bars->SetBinContent(bin, ends[bin - 1]);
   bars->SetMinimum(-1);
   bars->SetMaximum(1);
   bars->SetFillColor(kRed);
   bars->SetLineWidth(0);
   TCanvas canvas("bars", "", 400, 400);
   bars->Draw("HBAR MIN0");
   std::unique_ptr<TImage> picture(TImage::Create());
   picture->FromPad(&canvas);
   const auto *pixels = picture->GetArgbArray();
   const int width = int(picture->GetWidth());
   for (int bin = 1; bin <= 3; ++bin) {
      const int row = canvas.YtoAbsPixel(bars->GetXaxis()->GetBinCenter(bin));
      for (const double value : {-0.9, -0.7, -0.5, -0.3, -0.1, 0.1, 0.3, 0.5, 0.7, 0.9}) {
         const bool inside = ends[bin - 1] < 0 ? value < 0 && value > ends[bin - 1] : value > 0 && value < ends[bin - 1];
         const auto colour = pixels[row * width + canvas.XtoAbsPixel(value)] & 0xffffff;
         if ((colour == 0xff0000) != inside)
            std::printf("bin %d at %g: colour %06x\n", bin, value, unsigned(colour));
         CHECK((colour == 0xff0000) == inside);
      }
   }
}

void Classes(const CladTorch::Model &model, const CladTorch::Dataset &test)
{
   const auto evaluation = model.Evaluate(test);
   evaluation.Print();
   const auto scores = model.Predict(test);
   double right = 0, all = 0, confused[3][3] = {};
   for (std::size_t i = 0; i < test.Rows(); ++i) {
      const auto *row = scores.data() + 3 * i;
      const auto chosen = std::max_element(row, row + 3) - row;
      const auto label = static_cast<int>(test.Labels()(i));
      right += chosen == label ? test.Weights()(i) : 0;
      all += test.Weights()(i);
      confused[label][chosen] += test.Weights()(i);
   }
   CHECK(Near(evaluation.Accuracy(), right / all, 1e-12) && evaluation.Accuracy() > 0.8);
   std::unique_ptr<TH2> matrix(evaluation.Confusion(false));
   for (int label = 0; label < 3; ++label)
      for (int chosen = 0; chosen < 3; ++chosen)
         if (!Near(matrix->GetBinContent(chosen + 1, label + 1), confused[label][chosen], 1e-3))
            CHECK(false && "confusion matrix");
   for (std::size_t output = 0; output < 3; ++output)
      CHECK(evaluation.Auc(output) > 0.8);
   CHECK(evaluation.Temperature() > 0.1);
}

void Regression(const CladTorch::Model &model, const CladTorch::Dataset &test)
{
   const auto evaluation = model.Evaluate(test);
   evaluation.Print();
   const auto values = model.Predict(test);
   double sum = 0, squares = 0, all = 0;
   for (std::size_t i = 0; i < test.Rows(); ++i) {
      const double difference = double(values[i]) - test.Labels()(i);
      sum += test.Weights()(i) * difference;
      squares += test.Weights()(i) * difference * difference;
      all += test.Weights()(i);
   }
   CHECK(Near(evaluation.Bias(), sum / all, 1e-6) && Near(evaluation.Rmse(), std::sqrt(squares / all), 1e-6));
   CHECK(evaluation.Explained() > 0.8);
   std::unique_ptr<TH1> residuals(evaluation.Residuals()), importance(model.Importance(test));
   CHECK(residuals->GetSumOfWeights() > 0.9);
   CHECK(std::string(importance->GetXaxis()->GetBinLabel(3)) == "strong");
}

void Reports(const CladTorch::Model &model, const CladTorch::Dataset &test, const CladTorch::Dataset &training, const char *name)
{
   model.Report(std::string(name) + ".pdf", test, training);
   std::ifstream file(std::string(name) + ".pdf", std::ios::binary);
   const std::string content((std::istreambuf_iterator<char>(file)), {});
   CHECK(content.rfind("%PDF", 0) == 0 && content.find("%%EOF") != std::string::npos);
}

void Mistakes(const CladTorch::Model &classifier, const CladTorch::Model &regression, const CladTorch::Dataset &test)
{
   const auto evaluation = classifier.Evaluate(test);
   const std::vector<float> one{1.f}, two{0.f, 1.f};
   Refuses("two labels for a score", [&] { Evaluation::Classifier(one, two); }, {"1 prediction", "2 labels"});
   Refuses("no events", [&] { Evaluation::Classifier({}, {}); }, {"no events"});
   Refuses("no outputs", [&] { Evaluation::Classifier(one, one, {}, 0); }, {"0 outputs"});
   Refuses("a weight too few", [&] { Evaluation::Classifier(two, two, one); }, {"1 weight", "2 events"});
   Refuses("scores without labels", [&] { CladTorch::Auc({0.1f, 0.4f}, {1.f}); }, {"1 label"});
   Refuses("one class", [&] { Evaluation::Classifier(two, {1.f, 1.f}).Auc(); }, {"background weight 0"});
   Refuses("a NaN", [&] { Evaluation::Classifier({0.f, std::nanf("")}, two).Auc(); }, {"event 1"});
   Refuses("another output", [&] { evaluation.Auc(1); }, {"output 1"});
   Refuses("no bins", [&] { evaluation.Scores(0); }, {"bins is 0"});
   Refuses("bins below 0", [&] { evaluation.Calibration(-3); }, {"bins"});
   Refuses("scores that are no probabilities", [&] { Evaluation::Classifier({-1.f, 2.f}, two).Calibration(); },
           {"event 0", "calibration curve", "from 0 to 1"});
   Refuses("an efficiency against other events", [&] { evaluation.Efficiency({1.f}, {0, 2}, 0.1); }, {"1 values for"});
   Refuses("a false alarm that no event shows", [&] { evaluation.Efficiency(std::vector<float>(evaluation.Events()), {0, 2}, 0); },
           {"false-alarm probability is 0", "more background events"});
   Refuses("no logits", [&] { Evaluation::Classifier(two, two).Temperature(); }, {"logits"});
   Refuses("residuals of a classifier", [&] { evaluation.Rmse(); }, {"classifier"});
   Refuses("a cut at NaN", [&] { evaluation.Accuracy(std::nan("")); }, {"nan"});
   Refuses("too few background events", [&] { Evaluation::Classifier(two, two).BestCut(); }, {"background"});
   Refuses("an uncertainty below 0", [&] { evaluation.BestCut(1, 1, -1); }, {"-1"});
   Refuses("spectators of other events", [&] { evaluation.Correlations(Read(1, 10, 1)); }, {"10 rows"});
   Refuses("labels that are no classes", [&] { classifier.Evaluate(Read(1, 10, "energy")); }, {"the label of event", "give 0 to 1"});
   Refuses("other labels", [&] { classifier.Evaluate(Read(1, 10, {"energy", "weak"})); }, {"2 label"});
   for (float label : {std::nanf(""), -1.f, 7.f})
      Refuses("a label that is none", [&] { Evaluation::Classifier(two, {0.f, label}); }, {"label of event 1"});
   Refuses("a class that is none", [&] { Evaluation::Classifier({1, 0, 0, 1}, {0, 2}, {}, 2); }, {"label of event 1", "0 to 1"});
   Refuses("ROC of a regression", [&] { regression.Evaluate(test).Roc(); }, {"regression"});
   Refuses("no repetition", [&] { classifier.Importance(test, 0); }, {"0 repeats"});
   Refuses("slopes of an output that is none", [&] { classifier.GradientImportance(test, 1); }, {"output 1", "has 1"});
   Refuses("slopes without events", [&] { classifier.GradientImportance(CladTorch::Dataset({"strong", "weak", "empty"})); }, {"no events"});
   Refuses("slopes of other columns", [&] { classifier.GradientImportance(CladTorch::Dataset({"strong"}).Add(Events(1, 9), 1)); }, {"strong"});
   Refuses("a folder that does not exist", [&] { classifier.Report("/nowhere/report.pdf", test); }, {"/nowhere"});
}

void evaluation()
{
   CladTorch::FitOptions options;
   options.fEpochs = 20;
   options.fVerbose = 0;
   const auto training = Read(1, 4000, "signal"), test = Read(2, 4000, "signal");
   CladTorch::Mlp classifier({3, 16, 1}, CladTorch::kReLU), classes({3, 16, 3}, CladTorch::kReLU), regression({3, 16, 1});
   classifier.Fit(training, options);
   Classifier(classifier, test, training);
   Slopes(classifier, "signal", 0, "Mean change of the logit per standard deviation of the column");
   Units(classifier);
   Reports(classifier, test, training, "classifier");
   CheckBars(classifier, test);

   const auto kinds = Read(1, 4000, "kind"), otherKinds = Read(2, 4000, "kind");
   classes.Fit(kinds, options);
   Classes(classes, otherKinds);
   Slopes(classes, "kind", 2, "Mean change of the logit of class 2 per standard deviation of the column");
   Reports(classes, otherKinds, kinds, "classes");

   const auto energies = Read(1, 4000, "energy"), otherEnergies = Read(2, 4000, "energy");
   options.fLoss = CladTorch::kMeanSquaredError;
   regression.Fit(energies, options);
   Regression(regression, otherEnergies);
   Slopes(regression, "energy", 0, "Mean change of energy per standard deviation of the column");
   Reports(regression, otherEnergies, energies, "regression");

   Mistakes(classifier, regression, test);
   Passed();
}
