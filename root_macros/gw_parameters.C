/// \file gw_parameters.C
/// \brief Parameters of gravitational waves: likelihoods with gradients, the Fisher matrix, and a network for the chirp mass.
///
/// A sine-Gaussian of SNR 20 is fitted to 400 simulated windows by maximum likelihood. The likelihood (gw_likelihood.h) is a
/// function of tensors that CladTorch::Compile observes once: Clad's derivatives give its gradient and, by Jacobian(), the Fisher
/// matrix, which is compared with its closed form. Networks learn median and quantiles of the chirp mass of binary black holes
/// from matched filters. The pulls of both are drawn: their width is 1 where the errors are right.
///
///     root -l -b -q root_macros/gw_parameters.C
///     root -l 'root_macros/gw_parameters.C("output_folder", 20000)'
///
/// The number is the number of windows for the networks. Writes gw_parameters.png and gw_parameters.pdf into the
/// folder.

R__LOAD_LIBRARY(libcladtorch)
#include "gw_likelihood.h"

#include <TCanvas.h>
#include <TF1.h>
#include <TH1D.h>
#include <TStyle.h>
#include <TSystem.h>

#include <cstdio>
#include <string>

const std::vector<const char *> kNames = {"amplitude", "arrival [s]", "phase [rad]", "frequency [Hz]", "width [s]"};

/// The Fisher matrix by derivatives against the closed form, relative to the diagonal; the errors of the parameters.
void CheckFisher(const Likelihood &likelihood, const std::vector<double> &truth)
{
   auto fisher = likelihood.Fisher();
   const auto exact = ClosedForm(truth);
   double worst = 0;
   for (int i = 0; i < kParameters; ++i)
      for (int j = 0; j < kParameters; ++j)
         worst = std::max(worst, std::abs(fisher(i, j) - exact(i, j)) / std::sqrt(exact(i, i) * exact(j, j)));
   std::printf("Fisher matrix: within %.1e of the closed form\n", worst);
   fisher.Invert();
   for (int i = 0; i < kParameters; ++i)
      std::printf("   %-14s %6g +- %.2g\n", kNames[i], truth[i], std::sqrt(fisher(i, i)));
}

/// The predictions of a network that learned a quantile of the chirp mass.
std::vector<float> Quantile(double quantile, const CladTorch::Dataset &train, const CladTorch::Dataset &test)
{
   CladTorch::Mlp model({train.Width(), 64, 64, 1}, CladTorch::kGELU);
   CladTorch::FitOptions options;
   options.fLoss = CladTorch::kQuantile;
   options.fQuantile = quantile;
   options.fEpochs = 30;
   options.fVerbose = 0;
   model.Fit(train, options);
   return model.Predict(test);
}

/// Pulls of the chirp mass: distance from the median over half the width of the central 68.3 %.
std::vector<double> ChirpMassPulls(int windows)
{
   const Binaries binaries;
   CladTorch::Dataset data;
   data.Column("snrs", binaries.Filters()).Add(binaries.Frame(windows), "mass");
   const auto [test, train] = data.Split(0.3);
   const auto low = Quantile(0.1587, train, test), median = Quantile(0.5, train, test), high = Quantile(0.8413, train, test);

   std::vector<double> pulls;
   double inside = 0, squares = 0;
   const auto masses = test.Labels();
   for (std::size_t i = 0; i < median.size(); ++i) {
      pulls.push_back((masses(i) - median[i]) / (0.5 * (high[i] - low[i])));
      inside += low[i] < masses(i) && masses(i) < high[i];
      squares += std::pow(masses(i) - median[i], 2);
   }
   const double n = median.size();
   std::printf("chirp mass: RMSE %.2f solar masses, %.1f +- %.1f %% of %g windows within the central 68.3 %%\n", std::sqrt(squares / n),
               100 * inside / n, 100 * std::sqrt(inside * (n - inside) / n) / n, n);
   return pulls;
}

void Draw(const std::string &title, const std::vector<double> &pulls)
{
   auto *histogram = new TH1D(title.c_str(), (title + ";Pull;Windows").c_str(), 40, -5, 5);
   histogram->FillN(pulls.size(), pulls.data(), nullptr);
   std::printf("pulls, %s: mean %.3f, width %.3f\n", title.c_str(), histogram->GetMean(), histogram->GetStdDev());
   gPad->SetMargin(0.14, 0.03, 0.14, 0.1);
   for (auto *axis : {histogram->GetXaxis(), histogram->GetYaxis()}) {
      axis->SetTitleSize(0.055);
      axis->SetLabelSize(0.05);
   }
   histogram->SetLineWidth(2);
   histogram->SetMaximum(1.4 * histogram->GetMaximum()); // room for the box
   histogram->Fit("gaus", "Q");
}

void gw_parameters(const std::string &folder = "gw_parameters_out", int windows = 20000)
{
   gSystem->mkdir(folder.c_str(), true);
   const std::vector<double> truth = {4.5, 0.5, 0.3, 150, 0.015};
   const Likelihood likelihood(truth);
   CheckFisher(likelihood, truth);
   std::printf("%.0f likelihoods and gradients a second by '%s'\n", likelihood.Speed(2000), likelihood.BackEnd().c_str());
   const auto fits = likelihood.Pulls(400);
   ROOT::EnableImplicitMT();
   const auto network = ChirpMassPulls(windows);

   gStyle->SetOptStat(1100); // mean and width
   gStyle->SetStatFormat(".2f");
   gStyle->SetStatX(0.97);
   gStyle->SetStatY(0.9);
   gStyle->SetStatFontSize(0.05);
   auto *canvas = new TCanvas("gw_parameters", "Parameters of gravitational waves", 1500, 900);
   canvas->Divide(3, 2);
   for (int k = 0; k < kParameters; ++k) {
      canvas->cd(k + 1);
      std::vector<double> pulls;
      for (const auto &fit : fits)
         pulls.push_back(fit[k]);
      Draw(std::string("Likelihood: ") + kNames[k], pulls);
   }
   canvas->cd(kParameters + 1);
   Draw("Network: chirp mass", network);
   canvas->SaveAs((folder + "/gw_parameters.png").c_str());
   canvas->SaveAs((folder + "/gw_parameters.pdf").c_str());
}
