// All plots of a model in one file.

#include <CladTorch/Evaluation.hxx>
#include <CladTorch/Guard.hxx>
#include <CladTorch/Model.hxx>

#include "Canvas.hxx"
#include "CoreBox.hxx"
#include "EvaluationData.hxx"
#include "FilePath.hxx"
#include "Interrupt.hxx"
#include "ReportPages.hxx"
#include "cladtorch/src/bridge/files.rs.h"
#include "cladtorch/src/bridge/model.rs.h"

#include <TAxis.h>
#include <TCanvas.h>
#include <TError.h>
#include <TGraphErrors.h>
#include <TH1.h>
#include <TH2.h>
#include <TROOT.h>
#include <TStyle.h>
#include <TText.h>
#include <TVirtualPad.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <sstream>
#include <vector>
#include <stdexcept>

namespace CladTorch {

using namespace Internal;

namespace {

/// Columns beyond which neither their names nor their correlations can be read on one page.
constexpr int kMostShown = 40;
/// Outputs that have pages of their own.
constexpr std::size_t kMostClasses = 8;

/// Draws without windows, and restores the settings at its end.
class Quietly {
public:
   Quietly() : fBatch(gROOT->IsBatch()), fLevel(gErrorIgnoreLevel)
   {
      gStyle->GetPaperSize(fWidth, fHeight);
      gStyle->SetPaperSize(24, 18); // cm, in the proportions of a canvas
      gROOT->SetBatch(true);
      gErrorIgnoreLevel = kFatal; // ROOT reports each page; the first page lists what is missing
   }
   ~Quietly()
   {
      gStyle->SetPaperSize(fWidth, fHeight);
      gROOT->SetBatch(fBatch);
      gErrorIgnoreLevel = fLevel;
   }

private:
   const TVirtualPad::TContext fPad;
   bool fBatch;
   int fLevel;
   float fWidth = 0, fHeight = 0;
};

/// `text` in lines of at most `width` characters, broken at spaces.
std::vector<std::string> Wrapped(const std::string &text, std::size_t width)
{
   std::vector<std::string> lines;
   std::istringstream stream(text);
   for (std::string line; std::getline(stream, line);) {
      while (line.size() > width) {
         const auto space = line.rfind(' ', width);
         const auto end = space == std::string::npos || space < width / 2 ? width : space;
         lines.push_back(line.substr(0, end));
         line = "      " + line.substr(end == space ? end + 1 : end);
      }
      lines.push_back(line);
   }
   return lines;
}

/// `text` on as many pages as it needs.
std::vector<std::unique_ptr<TCanvas>> TextPages(const std::string &text)
{
   constexpr std::size_t kLinesOfPage = 26;
   constexpr double kStep = 0.035;
   const auto lines = Wrapped(text, 88);
   std::vector<std::unique_ptr<TCanvas>> pages;
   for (std::size_t i = 0; i < lines.size(); ++i) {
      if (i % kLinesOfPage == 0)
         pages.emplace_back(NewCanvas("cladtorch_report", "Report"));
      auto *shown = new TText(0.04, 0.96 - kStep * static_cast<double>(1 + i % kLinesOfPage), lines[i].c_str());
      shown->SetNDC();
      shown->SetTextFont(82); // of equal widths, as on a terminal
      shown->SetTextSize(static_cast<float>(0.7 * kStep));
      shown->SetBit(kCanDelete);
      shown->Draw();
   }
   return pages;
}

TCanvas *Bars(TH1 *bars, const char *title)
{
   auto *canvas = NewCanvas("cladtorch_bars", title);
   canvas->SetLeftMargin(0.3f);
   canvas->SetGridx();
   const int count = bars->GetNbinsX(), first = std::max(1, count - kMostShown + 1); // ascending
   bars->GetXaxis()->SetRange(first, count);
   bars->SetBit(kCanDelete);
   bars->SetTitle(TString::Format("%s;;%s", title, bars->GetYaxis()->GetTitle()));
   FitLabels(*bars->GetXaxis(), count > 20 ? 0.03 : 0.05, 0.9 * canvas->GetLeftMargin() * canvas->GetWw() / canvas->GetWh());
   bars->GetYaxis()->SetTitleSize(std::strlen(bars->GetYaxis()->GetTitle()) > 40 ? 0.035f : 0.045f);
   const auto end = [&](int bin, int side) { return 1.1 * (bars->GetBinContent(bin) + side * bars->GetBinError(bin)); };
   bars->SetMinimum(std::min(0.0, end(first, -1)));
   bars->SetMaximum(std::max(0.0, end(count, 1)));
   bars->Draw("HBAR MIN0"); // from 0, also to the left
   auto *errors = new TGraphErrors();
   errors->SetBit(kCanDelete);
   errors->SetLineWidth(2);
   for (int bin = first; bin <= count; ++bin) {
      errors->AddPoint(bars->GetBinContent(bin), bars->GetXaxis()->GetBinCenter(bin));
      errors->SetPointError(errors->GetN() - 1, bars->GetBinError(bin), 0);
   }
   errors->Draw("P");
   return canvas;
}

TCanvas *Matrix(TH2 *matrix)
{
   auto *canvas = NewCanvas("cladtorch_correlations", "Correlations of the inputs");
   const double room = std::clamp(LabelLength(*matrix->GetXaxis(), 0.025) + 0.03, 0.15, 0.33);
   canvas->SetMargin(static_cast<float>(room * canvas->GetWh() / canvas->GetWw()), 0.12f, static_cast<float>(room), 0.1f);
   matrix->LabelsOption("v", "X");
   DrawMatrix(*matrix, 1);
   FitLabels(*matrix->GetXaxis(), matrix->GetXaxis()->GetLabelSize(), 0.9 * room);
   return canvas;
}

/// The pages of a report; what cannot be drawn is named on the first one.
class Plots {
public:
   explicit Plots(const InterruptScope &interrupt) : fInterrupt(interrupt) {}

   template <class F>
   void Add(const char *what, F draw)
   {
      fInterrupt.Check("the report");
      try {
         fCanvases.emplace_back(draw());
      } catch (const Interrupted &) {
         throw Stopped("the report was interrupted"); // the plot's own message was not printed
      } catch (const std::exception &e) {
         fMissing += std::string("No ") + what + ": " + e.what() + "\n";
      }
   }
   const std::string &Missing() const { return fMissing; }
   std::vector<std::unique_ptr<TCanvas>> fCanvases;

private:
   const InterruptScope &fInterrupt;
   std::string fMissing;
};

void AddClassifier(Plots &plots, const Evaluation &evaluation, const Evaluation *training)
{
   if (evaluation.Outputs() > 1)
      plots.Add("confusion matrix", [&] { return evaluation.DrawConfusion(); });
   for (std::size_t output = 0; output < std::min<std::size_t>(evaluation.Outputs(), kMostClasses); ++output) {
      if (training)
         plots.Add("test for overtraining", [&] { return evaluation.DrawOvertraining(*training, 25, output); });
      else
         plots.Add("scores", [&] { return evaluation.DrawScores(50, output); });
      plots.Add("ROC curve", [&] { return evaluation.DrawRoc(output); });
      if (evaluation.Outputs() > 1)
         continue;
      plots.Add("background rejection", [&] { return evaluation.DrawRejection(output); });
      plots.Add("significance", [&] { return evaluation.DrawSignificance(); });
      plots.Add("calibration", [&] { return evaluation.DrawCalibration(); });
   }
}

void AddRegression(Plots &plots, const Evaluation &evaluation)
{
   for (std::size_t target = 0; target < std::min<std::size_t>(evaluation.Outputs(), kMostClasses); ++target) {
      plots.Add("residuals", [&] { return evaluation.DrawResiduals(target); });
      if (!evaluation.Sigmas().empty())
         plots.Add("pulls", [&] { return evaluation.DrawPulls(target); });
   }
}

void AddImportance(Plots &plots, const ImportanceBars &importance, const EvaluationData &data)
{
   if (importance.fByPermutation)
      plots.Add("importance of the columns", [&] { return Bars(importance.fByPermutation(), "Permutation importance"); });
   if (!importance.fByGradients)
      return;
   for (std::size_t output = 0; output < std::min<std::size_t>(data.fOutputs, kMostClasses); ++output)
      plots.Add("importance by gradients", [&] {
         return Bars(importance.fByGradients(output), ("Importance by gradients" + data.Suffix(output)).c_str());
      });
}

} // namespace

/// The pages of a file that appears once it is whole.
class ReportPages::File {
public:
   explicit File(const std::string &path) : fFile(Core::file_new(path)), fName(std::string(Core::file_path(*fFile))) {}

   void Add(TCanvas &page)
   {
      if (fCount++ == 0)
         page.Print((fName + "[").c_str(), "pdf");
      page.Print(fName.c_str(), "pdf");
      fLast = &page;
   }
   void Publish()
   {
      fLast->Print((fName + "]").c_str(), "pdf");
      Core::file_publish(std::move(fFile));
   }

private:
   rust::Box<Core::AtomicFile> fFile;
   std::string fName;
   TCanvas *fLast = nullptr;
   int fCount = 0;
};

ReportPages::ReportPages(const std::string &path)
{
   if (path.size() < 4 || path.compare(path.size() - 4, 4, ".pdf") != 0)
      throw std::runtime_error("the report \"" + path + "\" is a PDF file: give it a name that ends in .pdf");
   fFile = std::make_unique<File>(FilePath(path));
}

ReportPages::~ReportPages() = default;

void ReportPages::Write(const InterruptScope &interrupt, const std::string &about, const Dataset &test,
                        const Evaluation &evaluation, const std::optional<Evaluation> &training, const ImportanceBars &importance)
{
   const auto &data = *evaluation.fData;
   const Quietly quietly;
   Plots plots(interrupt);
   if (data.fIsRegression)
      AddRegression(plots, evaluation);
   else
      AddClassifier(plots, evaluation, training ? &*training : nullptr);
   AddImportance(plots, importance, data);
   if (test.Width() <= kMostShown)
      plots.Add("correlations of the inputs", [&] { return Matrix(test.Correlations()); });
   auto text = about + "\nOn the test events\n" + Described(data);
   if (training)
      text += "\nOn the training events\n" + Described(*training->fData);
   const auto texts = TextPages(text + "\n" + plots.Missing());
   for (const auto &page : texts)
      fFile->Add(*page);
   for (const auto &canvas : plots.fCanvases)
      fFile->Add(*canvas);
   fFile->Publish();
}

void Model::Report(const std::string &path, const Dataset &test) const
{
   MakeReport(path, test, nullptr);
}

void Model::Report(const std::string &path, const Dataset &test, const Dataset &training) const
{
   MakeReport(path, test, &training);
}

void Model::MakeReport(const std::string &path, const Dataset &test, const Dataset *training) const
{
   LongCall(Where("Report"), [&](const InterruptScope &interrupt) {
      ReportPages pages(path);
      const auto evaluation = Evaluate(test);
      std::optional<Evaluation> before;
      if (training)
         before = Evaluate(*training);
      pages.Write(interrupt, std::string(Core::model_describe(*Data().fCore)), test, evaluation, before,
                  {[&] { return Importance(test); },
                   [&, slopes = std::function<TH1 *(std::size_t)>()](std::size_t output) mutable {
                      if (!slopes)
                         slopes = SlopeBars(test);
                      return slopes(output);
                   }});
   });
}

} // namespace CladTorch
