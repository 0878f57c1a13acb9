/// \file CladTorch/Ensemble.hxx
/// \brief Several models that predict together.

#include <CladTorch/Load.hxx>

#ifndef CLADTORCH_ENSEMBLE
#define CLADTORCH_ENSEMBLE

#include <CladTorch/Model.hxx>

#include <cstddef>
#include <string>
#include <vector>

struct _object; // Python's PyObject

namespace CladTorch {

/// Models of the same inputs and outputs, whose mean prediction is better than that of each, and whose spread shows how much
/// it depends on initial weights and order (deep ensembles: Lakshminarayanan, Pritzel, Blundell, NeurIPS 2017).
///
/// ~~~{.cpp}
/// std::vector<CladTorch::Model> members;
/// for (int seed = 1; seed <= 5; ++seed)
///    members.push_back(CladTorch::Mlp({28, 64, 64, 1}, CladTorch::kReLU, CladTorch::kUniform, seed));
/// CladTorch::Ensemble ensemble(members);
/// ensemble.Fit(events);
/// ensemble.Evaluate(test).Print();
/// ~~~
class Ensemble {
public:
   /// At least one model. They may have different layers, and may be trained already: throws if what they predict differs (a
   /// classifier beside a regression, other label columns, other quantiles), as Predict() and the like do for members of
   /// which only some were trained.
   explicit Ensemble(const std::vector<Model> &members);

   /// Trains all members, several at once on the threads (FitOptions::fThreads), and returns their histories. Member i
   /// shuffles the events with the seed fSeed + i, counted from 0; all have the same validation events. Members are trained
   /// one after the other where LibTorch runs them. The result does not depend on the number of threads. Throws if
   /// fCheckpoint, fLive or fCallback is set, as they belong to one fit. On an error or Ctrl-C all members stay as they
   /// were.
   std::vector<History> Fit(const Dataset &data, const FitOptions &options = FitOptions());

   std::size_t Size() const { return fMembers.size(); }
   const std::vector<Model> &Members() const { return fMembers; }
   /// [N, C] row-major: the mean of the members' predictions. For members trained with kGaussian, the mean and the
   /// standard deviation of the mixture of their normal distributions: the variance is the mean of theirs plus that of
   /// their means.
   std::vector<float> Predict(const Dataset &data) const;
   /// [N, C] row-major: the standard deviation of the members' predictions, with the variance divided by their number
   /// minus one (as `np.std(..., ddof=1)`); 0 for one member.
   std::vector<float> Spread(const Dataset &data) const;
   /// The evaluation of the mean prediction.
   Evaluation Evaluate(const Dataset &data) const;
   /// Adds the column `name` with the mean prediction, and the columns `name`_0, `name`_1, ... with those of the members: see
   /// Model::Define().
   ROOT::RDF::RNode
   Define(ROOT::RDF::RNode frame, const std::string &name, const std::vector<std::string> &given = {}) const;

   /// Writes a PDF file: the members, and figures and plots of the mean prediction on `test`; with the training events also the test
   /// for overtraining. See Model::Report().
   void Report(const std::string &path, const Dataset &test) const;
   void Report(const std::string &path, const Dataset &test, const Dataset &training) const;

   /// Writes all members to one file, whole or not at all: see Model::Save().
   void Save(const std::string &path) const;
   /// Reads what Save() wrote; throws for any other file, and for one in which the SHA-256 of a member does not match. No code in
   /// the file is run.
   /// \param activation See Model::Load(); of all members.
   static Ensemble Load(const std::string &path, const std::string &activation = "");

   /// Called by PyROOT when it meets this class: checks and names arguments, copies.
   static void __cppyy_pythonize__(_object *pyclass, const std::string &name);

private:
   void CheckMeanings(bool all) const;
   void MakeReport(const std::string &path, const Dataset &test, const Dataset *training) const;
   bool GivesGaussians() const;

   std::vector<Model> fMembers;
};

} // namespace CladTorch

#endif
