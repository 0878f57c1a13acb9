/// \file CladTorch/Mlp.hxx
/// \brief The multilayer perceptron.

#include <CladTorch/Load.hxx>

#ifndef CLADTORCH_MLP
#define CLADTORCH_MLP

#include <CladTorch/Dataset.hxx>
#include <CladTorch/FitOptions.hxx>
#include <CladTorch/Functor.hxx>
#include <CladTorch/History.hxx>
#include <CladTorch/Scaler.hxx>
#include <CladTorch/Stream.hxx>

#include <ROOT/RDataFrame.hxx>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

class TCanvas;
class TGraph;
class TH1;

namespace CladTorch {

namespace Internal {
class InterruptScope;
}

/// Fully connected layers, an activation after each but the last.
///
/// ~~~{.cpp}
/// CladTorch::Mlp model({3, 64, 64, 1});
/// CladTorch::FitOptions options;
/// options.fEpochs = 10;
/// model.Fit(data, options).Draw();
/// auto scored = model.Define(frame, "score");
/// ~~~
///
/// N events, F inputs, C outputs. The outputs of the last layer are logits for the cross-entropies. Copies are cheap:
/// they share the parameters until one of them changes. All methods throw CladTorch::Error.
class Mlp {
public:
   /// \param sizes Inputs, neurons of each hidden layer, outputs: at least two numbers, none of them 0.
   /// \param activation After each layer but the last.
   /// \param init Distribution of the initial weights and biases.
   /// \param seed Of the initial weights and biases.
   explicit Mlp(const std::vector<std::size_t> &sizes, EActivation activation = kReLU, EInit init = kUniform,
                std::uint64_t seed = 1);
   /// The same with an activation of your own: C++ text that defines `double activation(double x)`, anything before it.
   /// Clad differentiates it, which needs clang and Clad's plugin; the derivative is compared with difference quotients.
   /// It runs with the back end aot (FitOptions::fGradient = kClad) on the CPU.
   explicit Mlp(const std::vector<std::size_t> &sizes, const std::string &activation, EInit init = kUniform,
                std::uint64_t seed = 1);
   // Copies only: what was moved from would be left without anything to point to.
   Mlp(const Mlp &) = default;
   Mlp &operator=(const Mlp &) = default;

   /// Trains on `data`, whose width has to be the number of inputs, starting from the present parameters.
   ///
   /// The model keeps the scalers (see FitOptions::fStandardise), the columns and the options. A further Fit goes on from
   /// where the model is: where it learns other scalers, the first and the last layer change with them, so that the
   /// predictions stay the same. Weights of a model without scalers are meant for standardised features and targets.
   ///
   /// Ctrl-C ends the training within tenths of a second: the model has what it has learned so far, LastFit() the losses,
   /// and Interrupted is thrown (in Python KeyboardInterrupt). On an error the model stays as it was.
   History Fit(const Dataset &data, const FitOptions &options = FitOptions());

   /// The same on events that are read while they are used. The scalers and the mean weight are learned on a sample, as
   /// many events as the stream's window, spread over all sources; the validation loss is that
   /// of as many validation events at most, chosen by their hashes. Ctrl-C ends the training after a window.
   History Fit(const Stream &stream, const FitOptions &options = FitOptions());
   /// What the last Fit returned, or would have returned without Ctrl-C. No epochs: there was none since the model was
   /// made, loaded or given other parameters.
   History LastFit() const;

   /// [N, C] row-major: probabilities after a cross-entropy, values in the units of the labels after a regression.
   std::vector<float> Predict(const Dataset &data) const;
   /// [N, C] row-major: what the last layer gives; after a regression the values that Predict() gives. Rank by these at
   /// low false-alarm rates, where probabilities saturate.
   std::vector<float> Logits(const Dataset &data) const;

   /// A frozen copy to call with one `RVecF` row (C = 1), for array columns:
   /// `frame.Define("score", model.Functor(), {"strain"})`.
   CladTorch::Functor Functor() const;
   /// The same to call with N numbers of type T: `Define("score", model.Functor<3>(), model.Columns())`.
   template <std::size_t N, class T = float>
   auto Functor() const
   {
      CheckFunctor(N);
      return ScalarFunctor<std::make_index_sequence<N>, T>(Functor());
   }
   /// Adds the column `name` with the prediction to a data frame, whatever the types of Columns() are there: `float`
   /// for C = 1, `RVec<float>` otherwise. Works under `ROOT::EnableImplicitMT`; the network is frozen as it is now.
   /// \param given What stands in this frame for Columns(), in their order: columns or expressions. Empty: Columns()
   ///        themselves; but expressions are code, and those of a model from a file run only if they are given here.
   ///        A model without Columns() takes a scalar for each input here, or one list of as many numbers.
   ROOT::RDF::RNode
   Define(ROOT::RDF::RNode frame, const std::string &name, const std::vector<std::string> &given = {}) const;

   /// Area under the ROC curve of label 1 (over 0.5) against the rest, with event weights; C = 1.
   double Auc(const Dataset &data) const;
   /// Standard error of Auc() (DeLong, DeLong and Clarke-Pearson 1988).
   double AucError(const Dataset &data) const;
   /// Signal efficiency (y) against background efficiency (x), with the AUC and its error, of all events, in the title.
   /// Not every event is a point. The curve between two points lies within 1 % of the distance from the first of them to
   /// the nearer of 0 and 1, along each axis: near both ends of both axes single events are points. (With weights of both
   /// signs, where that takes more than 16384 points, within 2 %, 4 %, ..., of 1.)
   /// The graph belongs to the caller; draw it with "AL".
   TGraph *Roc(const Dataset &data) const;
   /// Predictions of the events with label 1 (first) and of the rest (second), weighted, each normalised to 1.
   /// The histograms belong to the caller and to no directory.
   std::pair<TH1 *, TH1 *> Scores(const Dataset &data, int bins = 50) const;
   /// Scores() on a new canvas, which belongs to ROOT and owns what is drawn on it.
   TCanvas *DrawScores(const Dataset &data, int bins = 50) const;

   /// F
   std::size_t Inputs() const;
   /// C
   std::size_t Outputs() const;
   /// Columns of the dataset of the last Fit, or those of SetColumns(); empty before.
   std::vector<std::string> Columns() const;
   /// Label columns of that dataset, in a regression one for each output; empty if its labels were numbers.
   std::vector<std::string> Targets() const;
   /// Scalar columns for the inputs, in their order.
   void SetColumns(const std::vector<std::string> &names);
   /// The columns of `data`, lists and masks included; it needs no events.
   void SetColumns(const Dataset &data);
   /// Applied to the F features before the first layer; empty: they are taken as they are.
   CladTorch::Scaler Scaler() const;
   /// Throws unless there are F of each, finite, with positive deviations; none of each: no scaler. The parameters stay.
   void SetScaler(const std::vector<double> &mean, const std::vector<double> &deviation);
   /// Undone on the C outputs of a regression; empty: they are values as they are.
   CladTorch::Scaler TargetScaler() const;
   /// The same for the outputs; throws for a classifier.
   void SetTargetScaler(const std::vector<double> &mean, const std::vector<double> &deviation);
   /// Options of the last Fit, with the loss that kAuto stood for and the epochs that were run, or those of SetOptions().
   /// Throws for a model that has none.
   FitOptions Options() const;
   /// Says how a model with parameters from elsewhere was trained: its loss decides whether Predict() gives
   /// probabilities or values. Fit() has options of its own.
   void SetOptions(const FitOptions &options);
   /// All weights and biases, layer by layer: weights [outputs, inputs] row-major, then biases [outputs].
   FloatView Parameters() const;
   /// Replaces them; throws for another number of values, and for values that are not finite. The scalers stay.
   void SetParameters(const std::vector<float> &values);

   /// Writes architecture, parameters, scalers, columns and options to one file, which appears whole or not at all. A file
   /// that is replaced passes its mode and owner on, a symbolic link is followed; throws where the path leads to a device,
   /// a pipe, a socket, a folder or a read-only file, and where the model predicts nothing finite.
   void Save(const std::string &path) const;
   /// Reads what Save() wrote; throws for a file that differs from that in any byte (by its SHA-256) or is none of ours.
   /// \param activation The text of the model's own activation, where it has one: code that a file brings along is
   ///        never compiled. The error says what is missing.
   static Mlp Load(const std::string &path, const std::string &activation = "");
   /// Layers and number of parameters, on the standard output.
   void Print() const;

   /// Called by PyROOT when it meets this class: lets Fit() take options as keywords.
   static void __cppyy_pythonize__(_object *pyclass, const std::string &name);

private:
   Mlp(std::shared_ptr<Internal::ModelData> data, Internal::FromCore);
   struct Training;
   History RunEpochs(const Training &training, const Internal::InterruptScope &interrupt);
   void CheckFunctor(std::size_t arguments) const;
   template <class F>
   void Change(const char *method, F change);

   std::shared_ptr<Internal::ModelData> fData;
};

} // namespace CladTorch

#endif
