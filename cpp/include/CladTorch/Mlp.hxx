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
   // Not movable: a moved-from object would hold a null pointer.
   Mlp(const Mlp &) = default;
   Mlp &operator=(const Mlp &) = default;

   /// Trains on `data`, whose width must be the number of inputs, starting from the current parameters.
   ///
   /// The model keeps the scalers (see FitOptions::fStandardise), the columns and the options. A further Fit continues
   /// from the current model: if it learns other scalers, the first and the last layer are transformed so that the
   /// predictions stay the same. The weights of a model without scalers apply to standardised features and targets.
   ///
   /// Ctrl-C ends the training within tenths of a second: the model has what it has learned so far, LastFit() the losses,
   /// and Interrupted is thrown (in Python KeyboardInterrupt). On an error the model stays as it was.
   History Fit(const Dataset &data, const FitOptions &options = FitOptions());

   /// The same on events that are read during the training. The scalers and the mean weight are learned on a sample, as
   /// many events as the stream's window, spread over all sources; the validation loss is that
   /// of as many validation events at most, chosen by their hashes. Ctrl-C ends the training after a window.
   History Fit(const Stream &stream, const FitOptions &options = FitOptions());
   /// The history of the last Fit, also if Ctrl-C ended it early. It has no epochs if there was no Fit since the model
   /// was made, loaded or given other parameters.
   History LastFit() const;

   /// [N, C] row-major: probabilities after a cross-entropy, values in the units of the labels after a regression.
   std::vector<float> Predict(const Dataset &data) const;
   /// [N, C] row-major: what the last layer gives; after a regression the values that Predict() gives. Rank by these at
   /// low false-alarm rates, where probabilities saturate.
   std::vector<float> Logits(const Dataset &data) const;

   /// A frozen copy that is called with one `RVecF` row (C = 1), for array columns:
   /// `frame.Define("score", model.Functor(), {"strain"})`.
   CladTorch::Functor Functor() const;
   /// The same, called with N numbers of type T: `Define("score", model.Functor<3>(), model.Columns())`.
   template <std::size_t N, class T = float>
   auto Functor() const
   {
      CheckFunctor(N);
      return ScalarFunctor<std::make_index_sequence<N>, T>(Functor());
   }
   /// Adds the column `name` with the prediction to a data frame: `float` for C = 1, `RVec<float>` otherwise. The
   /// columns may have any arithmetic type. Works under `ROOT::EnableImplicitMT`; the network is frozen as it is now.
   /// \param given Columns or expressions of this frame to use for Columns(), in the same order. Empty: Columns(). As
   ///        expressions are code, those of a model from a file run only if they are given here. For a model without
   ///        Columns(), one scalar per input or one list of all inputs.
   ROOT::RDF::RNode
   Define(ROOT::RDF::RNode frame, const std::string &name, const std::vector<std::string> &given = {}) const;

   /// Area under the ROC curve of label 1 (over 0.5) against the rest, with event weights; C = 1.
   double Auc(const Dataset &data) const;
   /// The standard error of Auc() (DeLong, DeLong and Clarke-Pearson 1988).
   double AucError(const Dataset &data) const;
   /// Signal efficiency (y) against background efficiency (x), with the AUC and its error, of all events, in the title.
   /// The curve is thinned out: on each axis, the distance between neighbouring points is at most 1 % of their distance
   /// from 0 or 1, whichever is nearer, so that single events remain visible near both ends. (With weights of both
   /// signs, if that needs more than 16384 points: at most 2 %, 4 %, ..., of 1.) The graph belongs to the caller; draw
   /// it with "AL".
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
   /// The scaler of the F features; empty: features are not standardised.
   CladTorch::Scaler Scaler() const;
   /// Throws unless there are F of each, finite, with positive deviations; none of each: no scaler. The parameters stay.
   void SetScaler(const std::vector<double> &mean, const std::vector<double> &deviation);
   /// The scaler of the C targets of a regression, undone on the outputs; empty: outputs are not rescaled.
   CladTorch::Scaler TargetScaler() const;
   /// The same for the targets; throws for a classifier.
   void SetTargetScaler(const std::vector<double> &mean, const std::vector<double> &deviation);
   /// Options of the last Fit, with the loss that kAuto stood for and the epochs that were run, or those of SetOptions().
   /// Throws for a model that has none.
   FitOptions Options() const;
   /// Sets the options of a model whose parameters come from elsewhere: the loss decides whether Predict() gives
   /// probabilities or values. Fit() takes its own options.
   void SetOptions(const FitOptions &options);
   /// All weights and biases, layer by layer: weights [outputs, inputs] row-major, then biases [outputs].
   FloatView Parameters() const;
   /// Replaces the parameters; throws for another number of values, and for values that are not finite. Keeps the
   /// scalers.
   void SetParameters(const std::vector<float> &values);

   /// Writes architecture, parameters, scalers, columns and options to one file, atomically. Keeps the mode and owner
   /// of a file that it replaces and follows symbolic links. Throws if the path is a device, a pipe, a socket, a folder
   /// or a read-only file, and if the model's predictions are not finite.
   void Save(const std::string &path) const;
   /// Reads what Save() wrote; throws for any other file, and for one whose SHA-256 does not match.
   /// \param activation The text of the model's own activation, if it has one: code from a file is never compiled. The
   ///        error shows the text that is missing.
   static Mlp Load(const std::string &path, const std::string &activation = "");
   /// Prints the layers, the number of parameters, columns and options.
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
