/// \file end_to_end.C
/// \brief CladTorch's side of `cargo xtask bench end-to-end`: an interpreted macro, as a user would write it.
///
/// The lines it reads are those of end_to_end.py.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>

#include <TROOT.h>

#include <chrono>
#include <cstdio>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

using Values = std::map<std::string, std::string>;

std::vector<std::string> Cut(const std::string &text, char separator)
{
   std::vector<std::string> parts;
   std::istringstream stream(text);
   for (std::string part; std::getline(stream, part, separator);)
      parts.push_back(part);
   return parts;
}

struct Trained {
   CladTorch::Mlp fModel;
   CladTorch::Dataset fTest;

   /// Area under the ROC curve, or the share of right classes.
   double Score() const
   {
      if (fModel.Outputs() == 1)
         return fModel.Auc(fTest);
      const auto values = fModel.Predict(fTest);
      const auto labels = fTest.Labels();
      const auto classes = fModel.Outputs();
      std::size_t right = 0;
      for (std::size_t row = 0; row < fTest.Rows(); ++row) {
         const auto first = values.begin() + row * classes;
         right += std::max_element(first, first + classes) - first == labels(row);
      }
      return double(right) / fTest.Rows();
   }
};

Trained Train(const Values &options, unsigned seed, int threads)
{
   CladTorch::Dataset data(Cut(options.at("columns"), ','));
   for (const auto &tree : Cut(options.at("trees"), ',')) {
      const auto parts = Cut(tree, ':');
      if (parts[1].find_first_not_of("0123456789.") == std::string::npos)
         data.Add(parts[0], options.at("file"), std::stod(parts[1]));
      else
         data.Add(parts[0], options.at("file"), parts[1]);
   }
   const auto [train, test] = data.Split(1 - std::stod(options.at("test")), seed);

   std::vector<std::size_t> sizes;
   for (const auto &size : Cut(options.at("sizes"), ','))
      sizes.push_back(std::stoul(size));
   CladTorch::Mlp model(sizes, CladTorch::kReLU, CladTorch::kKaiming, seed);
   CladTorch::FitOptions fit;
   fit.fEpochs = std::stoi(options.at("epochs"));
   fit.fBatchSize = std::stoi(options.at("batch"));
   fit.fValidation = 0;
   fit.fSeed = seed;
   fit.fThreads = threads;
   fit.fVerbose = 0;
   model.Fit(train, fit);
   return {model, test};
}

void end_to_end(int threads)
{
   if (threads > 1)
      ROOT::EnableImplicitMT(threads);
   Values options;
   std::unique_ptr<Trained> trained;
   for (std::string line; std::getline(std::cin, line);) {
      const auto words = Cut(line, ' ');
      Values values;
      for (std::size_t i = 1; i < words.size(); ++i)
         values[words[i].substr(0, words[i].find('='))] = words[i].substr(words[i].find('=') + 1);
      if (words[0] == "case") {
         options = values;
         std::printf("bench ready\n");
      } else if (words[0] == "round") {
         const auto start = std::chrono::steady_clock::now();
         trained = std::make_unique<Trained>(Train(options, std::stoul(values["seed"]), threads));
         const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
         std::printf("bench time %.9g\n", seconds.count());
      } else if (words[0] == "check") {
         std::printf("bench check %.9g\n", trained->Score());
      }
      std::fflush(stdout);
   }
}
