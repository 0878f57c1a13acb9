/// \file CladTorch/Model.hxx
/// \brief A network that is trained on events, evaluated and used in data frames.

#include <CladTorch/Load.hxx>

#ifndef CLADTORCH_MODEL
#define CLADTORCH_MODEL

#include <CladTorch/CrossValidation.hxx>
#include <CladTorch/Dataset.hxx>
#include <CladTorch/Evaluation.hxx>
#include <CladTorch/FitOptions.hxx>
#include <CladTorch/Functor.hxx>
#include <CladTorch/History.hxx>
#include <CladTorch/Scaler.hxx>
#include <CladTorch/Stream.hxx>

#include <ROOT/RDataFrame.hxx>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

class TCanvas;
class TGraph;
class TH1;

namespace CladTorch {

namespace Signal {
class NetworkFilter;
}

namespace Internal {
class InterruptScope;
struct SearchRound;

/// Lets argument-dependent lookup find what Torch.hxx declares.
struct FromTorch {};

struct LossData;

/// A loss written with LibTorch's operators: a function of outputs [events, C] and labels [events, T], for which Torch.hxx
/// has MakeLoss.
class TensorLoss {
public:
   template <class F, class = decltype(MakeLoss(std::declval<F>(), std::size_t(), std::size_t(), FromTorch()))>
   TensorLoss(F function)
      : fMake([function = std::move(function)](std::size_t outputs, std::size_t labels) {
           return MakeLoss(function, outputs, labels, FromTorch());
        })
   {
   }
   /// Observed for C outputs and T labels.
   std::shared_ptr<LossData> Observe(std::size_t outputs, std::size_t labels) const { return fMake(outputs, labels); }

private:
   std::function<std::shared_ptr<LossData>(std::size_t, std::size_t)> fMake;
};
} // namespace Internal

/// A network: a module of torch::nn, a function of tensors, or an Mlp.
///
/// ~~~{.cpp}
/// #include <CladTorch/Torch.hxx>
/// auto net = torch::nn::Sequential(torch::nn::Conv1d(1, 16, 9), torch::nn::ReLU(), torch::nn::Flatten(),
///                                  torch::nn::Linear(16 * 120, 1));
/// CladTorch::Model model(net, {1, 128});
/// model.Fit(windows).Draw();
/// ~~~
///
/// N events, F inputs (features per event), C outputs. The outputs are logits for the cross-entropies. Copies are
/// cheap: they share the parameters until one of them changes. All methods throw CladTorch::Error.
class Model {
public:
   /// Observes a module or a function of one tensor, as CladTorch::Compile does, in training and in evaluation. Clad's
   /// derivatives of its operators train it. LibTorch itself runs a network that has operators without
   /// kernels or does more than call operators, and fits with `FitOptions::fGradient = kAutograd`. Print() and the
   /// first line of Fit() say which of the two runs, and why. Needs `#include <CladTorch/Torch.hxx>`.
   ///
   /// The parameters that the function uses, and the running statistics that it changes, become views of the model's
   /// memory: after Fit() or SetParameters() the module has the new values, without a copy, and changes in place (by an
   /// optimiser of LibTorch) change the model. The model throws if parameters were replaced instead (torch::load,
   /// set_data), or if a tensor that does not train was changed: make a new one then. If several copies of a model
   /// exist, the module has the parameters of the one that changed last. Functors and columns of Define() keep their own.
   ///
   /// The model is what the module was when it was made: make a new one after layers were added or replaced. Fit() throws if
   /// `requires_grad` of a parameter has changed since. A fit switches the whole module to training, also layers in eval().
   /// The observation, and each fit before it begins, calls the module a few times on made-up events: parameters, buffers and
   /// modes are restored, but members that are neither (a counter, a tensor that is not registered) keep what these calls made
   /// of them.
   ///
   /// The scalers stay those of the first Fit(), because the parameters of a module cannot be transformed to match new
   /// ones. FitOptions::fSeed determines what dropout draws: with Clad's derivatives the same for any number of
   /// threads, on LibTorch from its own generator, whose state is restored. If one event is left after the last whole
   /// batch and the module does not accept a single event (batch normalisation), that event joins the last batch.
   /// \param function A module of torch::nn (`torch::nn::Sequential net`, or a std::shared_ptr of a class derived from
   ///        torch::nn::Module; train() and eval() are switched), or a function. It takes a float32 tensor [events,
   ///        shape...] and returns [events, C] or [events], with the same operators for any number of events and with float32
   ///        parameters on the CPU. In evaluation, outputs among 257 events and in batches of the size of each fit's are compared
   ///        with those among 6, fewer where an event has more than 2000 numbers. Throws for a network that mixes the events of
   ///        a batch in evaluation, where each event is predicted by itself (the message names the operator), for one that
   ///        draws random numbers in evaluation, and for one without parameters to train.
   /// \param shape Of one event; its product is F, the width of the datasets.
   template <class F>
   Model(F function, const std::vector<std::size_t> &shape)
      : fData(MakeModel(std::move(function), shape, Internal::FromTorch()))
   {
   }
   /// The same for a function of several tensors, or a std::vector of them: [events, shape...] for each of `shapes`. The
   /// columns of a dataset are, in their order, the elements of the first tensor, then those of the second one, and so on:
   ///
   /// ~~~{.cpp}
   /// events.Column("particles", {30, 8}).Mask("particles").Column("met");
   /// torch::Tensor forward(torch::Tensor particles, torch::Tensor mask, torch::Tensor met);
   /// CladTorch::Model model(forward, {{30, 8}, {30, 8}, {1}});
   /// ~~~
   ///
   /// Masks are standardised like all columns, and a mask that is constant over all events becomes 0: set
   /// FitOptions::fStandardise = false for a network that takes masks.
   template <class F>
   Model(F function, std::initializer_list<std::vector<std::size_t>> shapes)
      : fData(MakeModel(std::move(function), std::vector<std::vector<std::size_t>>(shapes), Internal::FromTorch()))
   {
   }
   // Not movable: a moved-from object would hold a null pointer.
   Model(const Model &) = default;
   Model &operator=(const Model &) = default;

   /// Trains on `data`, whose width must be the number of inputs, starting from the current parameters.
   ///
   /// The model keeps the scalers (see FitOptions::fStandardise), the columns and the options. A further Fit continues
   /// from the current model: if it learns other scalers, the first and the last layer of an Mlp are transformed so that
   /// the predictions stay the same. The weights of a model without scalers apply to standardised features and targets.
   ///
   /// Ctrl-C ends the training within tenths of a second: the model has what it has learned so far, LastFit() the losses,
   /// and Interrupted is thrown (in Python KeyboardInterrupt). On an error the model stays as it was.
   History Fit(const Dataset &data, const FitOptions &options = FitOptions());
   /// The same, with the validation loss of the events `validation`, whose columns and targets must be those of `data`. All
   /// events of `data` are for training, whatever FitOptions::fValidation is.
   History Fit(const Dataset &data, const Dataset &validation, const FitOptions &options = FitOptions());

   /// The same on events that are read during the training. The scalers and the mean weight come from a sample of as
   /// many events as the stream's window, spread over all sources. The validation loss uses at most as many validation
   /// events, chosen by their hashes. Ctrl-C ends the training after a window.
   History Fit(const Stream &stream, const FitOptions &options = FitOptions());
   /// The same with a dataset for the validation loss, as above.
   History Fit(const Stream &stream, const Dataset &validation, const FitOptions &options = FitOptions());
   /// Fit with a loss of your own, written with LibTorch's operators; needs `#include <CladTorch/Torch.hxx>`.
   ///
   /// ~~~{.cpp}
   /// model.Fit(data, options, [](torch::Tensor z, torch::Tensor y) { return (z - y).abs().pow(1.5); });
   /// ~~~
   /// If the loss does not accept labels [events, 1] for C > 1 outputs, as `cross_entropy` does not, labels are class
   /// numbers from 0 to C - 1. The loss gets them as one-hot rows [events, C], which LibTorch treats as class
   /// probabilities. Every label is checked:
   ///
   /// ~~~{.cpp}
   /// model.Fit(data, options, [](torch::Tensor z, torch::Tensor y) { return torch::nn::functional::cross_entropy(z, y); });
   /// ~~~
   /// A loss that accepts both forms and treats all outputs alike for labels [events, 1], as (z * y).sum(1) does, is
   /// refused for labels that are class numbers. State which form you mean: y.flatten() or (y.flatten().unsqueeze(1) ==
   /// torch::arange(C)).to(torch::kFloat).
   /// \param loss Takes outputs [events, C] and labels [events, T] (T = 1, or C targets), also where C or T is 1, and
   ///        returns the loss of each event, [events] or [events, 1], or one number, their mean. Its operators are
   ///        observed like those of a Model and differentiated by Clad; the event weights apply to each event's loss.
   ///        Throws if the loss has an operator without a kernel, mixes events in any other way, or uses tensors that
   ///        require a gradient. After such a fit Predict() returns the outputs as they are or, with
   ///        FitOptions::fLogits, probabilities.
   History Fit(const Dataset &data, const FitOptions &options, const Internal::TensorLoss &loss);
   /// The same with the validation loss of the events `validation`, as above.
   History Fit(const Dataset &data, const Dataset &validation, const FitOptions &options,
               const Internal::TensorLoss &loss);
   /// The same on a stream.
   History Fit(const Stream &stream, const FitOptions &options, const Internal::TensorLoss &loss);
   /// The same on a stream with a dataset for the validation loss.
   History Fit(const Stream &stream, const Dataset &validation, const FitOptions &options,
               const Internal::TensorLoss &loss);
   /// Continues a fit from its last checkpoint, with its options: see FitOptions::fCheckpoint. The model must have the
   /// same layers as the trained one; its parameters come from the file. The data, and the validation dataset if that
   /// fit had one, must be the same. On the CPU, model and history then have the same bits as if the fit had never
   /// stopped. If the fit had already ended, the model gets its result and no epoch runs. Throws for a damaged file,
   /// another network and other data. No code from the file is run.
   /// \param options Only options that do not change the result: fThreads, fVerbose, fLive, fCallback, and fMetrics if
   ///        they have functions. Throws if any other option differs from the checkpoint's. An option with its default
   ///        value counts as not given: a fit with fVerbose = 0 stays quiet unless 2 is given. fThreads, fLive and
   ///        fCallback are not in the checkpoint: give them again.
   History Resume(const Dataset &data, const std::string &path, const FitOptions &options = FitOptions());
   /// The same with a dataset for the validation loss.
   History Resume(const Dataset &data, const Dataset &validation, const std::string &path,
                  const FitOptions &options = FitOptions());
   /// The same for a fit to a stream.
   History Resume(const Stream &stream, const std::string &path, const FitOptions &options = FitOptions());
   History Resume(const Stream &stream, const Dataset &validation, const std::string &path,
                  const FitOptions &options = FitOptions());
   /// k-fold cross-validation: splits the events into `folds` parts of equal size (for a classifier each class evenly), and trains
   /// a copy of this model on the events outside of each part; fValidation is the share of those events that gives the
   /// validation loss, again split evenly by class. Each copy starts from the parameters that this model had before its
   /// first fit, because trained parameters may already know the events of a fold. Throws for a trained model from a
   /// file, whose initial parameters are unknown. Trains several copies at once on the threads (FitOptions::fThreads),
   /// or one after the other if LibTorch runs the network. fSplitSeed, or fSeed, determines the folds. This model does
   /// not change. Throws if fCheckpoint, fLive or fCallback is set, as they belong to one fit.
   CrossValidation CrossValidate(const Dataset &data, int folds = 5, const FitOptions &options = FitOptions()) const;
   /// The history of the last Fit, also if Ctrl-C ended it early. It has no epochs if there was no Fit since the model
   /// was made, loaded or given other parameters.
   History LastFit() const;

   /// [N, C] row-major: probabilities after a cross-entropy, values in the units of the labels after a regression; after
   /// kGaussian the means of the C / 2 targets and then their standard deviations. Like WriteScores() and
   /// DefineBatched(), warns once per model if the mean of a column, over at least ten events, differs from that of the
   /// training by more than three of the training's standard deviations, for example because of other units.
   std::vector<float> Predict(const Dataset &data) const;
   /// [N, C] row-major: the outputs of the last layer; after a regression the values of Predict(), after kGaussian with
   /// the logarithms of the variances in place of standard deviations. Rank by these at low false-alarm rates, where
   /// probabilities saturate.
   std::vector<float> Logits(const Dataset &data) const;

   /// [N, C, F] row-major: the derivatives of Logits() by each event's features, in the units of both. `gradient[(n * C + c) * F + f]`
   /// is the derivative of output c by feature f at event n; for C = 1 this is one row of F values per event. By the
   /// chain rule, the derivatives of a probability p of one logit are p (1 - p) times these. In Python an array [N, F],
   /// or [N, C, F].
   ///
   /// Computed with Clad's derivatives, or by LibTorch's autograd if LibTorch runs the network. At a kink (ReLU at 0)
   /// the derivative is LibTorch's.
   std::vector<float> Gradient(const Dataset &data) const;

   /// A frozen copy that is called with one `RVecF` row (C = 1), for array columns:
   /// `frame.Define("score", model.Functor(), {"strain"})`. Of an Mlp it returns the same bits as Predict(); one event of
   /// other networks may round differently than a batch. The bits do not depend on the number of threads.
   CladTorch::Functor Functor() const;
   /// The same, called with N numbers of type T: `Define("score", model.Functor<3>(), model.Columns())`. With a T such
   /// as `ROOT::RVecF`, each argument holds one value for each object of an event, and the result is an RVecF with one
   /// score for each object; throws if the lengths differ.
   template <std::size_t N, class T = float>
   auto Functor() const
   {
      CheckFunctor(N);
      return ScalarFunctor<std::make_index_sequence<N>, T>(Functor());
   }
   /// Adds the column `name` with the prediction to a data frame: `float` for C = 1, `RVec<float>` otherwise. The
   /// columns may have any arithmetic type. Works under `ROOT::EnableImplicitMT`; the network is frozen as it is now.
   ///
   /// Where this frame has lists for columns that were scalars in the training (the jets of an event, say, for a network of single jets),
   /// each object gets a prediction of its own: the column `name` is an `RVec<float>` with one for each object, in their order, and
   /// with C > 1 outputs there are C such columns, `name_0`, `name_1`, ... Scalars and arrays of a fixed length
   /// (Dataset::Column(name, length)) are repeated for every object. The event loop throws for an event whose lists have different
   /// lengths, and names the columns and, on one thread, the entry.
   /// \param given Columns or expressions of this frame to use for Columns(), in the same order. Empty: Columns(). As
   ///        expressions are code, those of a model from a file run only if they are given here. For a model without
   ///        Columns(), one scalar per input or one list of all inputs.
   ROOT::RDF::RNode
   Define(ROOT::RDF::RNode frame, const std::string &name, const std::vector<std::string> &given = {}) const;
   /// Define() for many events of a tree on one thread. If the fast reader reads all Columns() directly from the tree's
   /// files, it reads blocks of neighbouring entries ahead and predicts them in batches; the column looks the
   /// predictions up by entry number. Takes a fraction of Define()'s time (performance.md). Filters, ranges and any
   /// number of event loops get the bits of Predict(), which are those of Define() for an Mlp. Where a filter passes few
   /// events, batches of 64 entries around them are predicted.
   ///
   /// Otherwise it falls back to Define() and prints why: several threads (ROOT::EnableImplicitMT), an entry list,
   /// files that are not local, columns that are expressions, lists, defined in the frame or have variations, networks
   /// that LibTorch runs. The event loop throws if the tree has changed since the column was defined: changed files, or
   /// an entry list that was set.
   ROOT::RDF::RNode DefineBatched(ROOT::RDF::RNode frame, const std::string &name) const;

   /// Predicts every entry of a tree, chain or RNTuple of any size and writes the scores as a friend tree to the file
   /// `path`, which it replaces: `chain.AddFriend("cladtorch", path)`. It reads, predicts and writes in blocks of
   /// entries, so it needs the memory of one block, and is many times faster than Define() where the fast reader
   /// supports the columns.
   /// \param source Without cuts: a friend needs a score for every entry.
   /// \param column Name of the score column: a float for C = 1, else an array of C floats.
   /// \param tree Name of the written tree.
   /// The file appears whole or not at all; see WriteFriend(). The columns of a model from a file may be expressions, which are
   /// code: they run only after `model.SetColumns(model.Columns())`.
   void WriteScores(const Source &source, const std::string &path, const std::string &column = "score",
                    const std::string &tree = "cladtorch") const;

   /// The predictions beside labels and weights: figures and plots. A model trained with a loss on logits is judged as a
   /// classifier, one trained on values (kMeanSquaredError, a loss of your own without fLogits, ...) as a regression; for a classifier trained on
   /// values use `Evaluation::Classifier(model.Predict(data), ...)`.
   Evaluation Evaluate(const Dataset &data) const;
   /// Permutation importance (Breiman, Machine Learning 45 (2001) 5): how much the AUC falls (the accuracy of several classes,
   /// or for a regression how much the RMSE rises, relative to the targets' standard deviations) when the values of a
   /// column are shuffled among the events of `data`. One labelled bin a column, in rising order, with the mean and
   /// its standard error over `repeats` shuffles. An array is shuffled as a whole, with its mask. The histogram belongs to
   /// the caller; draw it with "HBAR MIN0", whose bars begin at 0.
   TH1 *Importance(const Dataset &data, int repeats = 5, std::uint64_t seed = 1) const;
   /// Importance by gradients: how far an output moves, to first order, when a column moves by its standard deviation,
   ///
   ///     sum_n w_n |dz/dx(n)| sigma(x) / sum_n w_n,
   ///
   /// where z is the output of Logits(), dz/dx(n) its derivative by the feature x at event n (Gradient()), w_n the event's weight
   /// and sigma(x) the weighted standard deviation of x over `data`. The unit of x drops out; the result is in units of z: of the
   /// logit for a classifier, of the target for a regression, of a log variance for the second half of the outputs of kGaussian.
   /// For an array, the terms |dz/dx| sigma(x) of its elements and of its mask are summed. Bins as in Importance(),
   /// with the standard error of the mean. Needs no labels, and one pass over the events; unlike Importance() it does
   /// not say whether the model's use of a column is right, and a feature on a ReLU's flat side counts as 0.
   /// \param output Index of the output, below C. Throws if there is no such output, if a derivative is not finite (the
   ///        message names it), and if the sum of the weights is not positive.
   TH1 *GradientImportance(const Dataset &data, std::size_t output = 0) const;
   /// Writes a PDF file: the model, its figures and plots on `test`, the importance of its columns by permutation and by gradients,
   /// and their correlations. With the training events it also shows the test for overtraining. As with Save(), the
   /// file appears once it is whole.
   void Report(const std::string &path, const Dataset &test) const;
   void Report(const std::string &path, const Dataset &test, const Dataset &training) const;

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
   /// A dataset of these columns, lists and masks included, without events: fill it and give it to Predict(). Throws for a
   /// model without columns.
   Dataset NewDataset() const;
   /// Label columns of that dataset; in a regression one for each output (for each two after kGaussian). Empty if its
   /// labels were numbers.
   std::vector<std::string> Targets() const;
   /// Scalar columns for the inputs, in their order.
   void SetColumns(const std::vector<std::string> &names);
   /// The columns of `data`, lists and masks included; it needs no events.
   void SetColumns(const Dataset &data);
   /// The scaler of the F features; empty: features are not standardised.
   CladTorch::Scaler Scaler() const;
   /// Sets the scaler of the features: F finite means and F finite, positive deviations, or two empty lists for no
   /// scaler; throws otherwise. The parameters do not change.
   void SetScaler(const std::vector<double> &mean, const std::vector<double> &deviation);
   /// The scaler of the targets of a regression, undone on the outputs; empty: outputs are not rescaled.
   CladTorch::Scaler TargetScaler() const;
   /// The same for the targets; throws for a classifier.
   void SetTargetScaler(const std::vector<double> &mean, const std::vector<double> &deviation);
   /// Options of the last Fit, with the loss that kAuto stood for and the epochs that were run, or those of SetOptions().
   /// Throws for a model that has none.
   FitOptions Options() const;
   /// Sets the options of a model whose parameters come from elsewhere: the loss decides whether Predict() gives
   /// probabilities or values. Fit() takes its own options.
   void SetOptions(const FitOptions &options);
   /// All weights and biases. Of an Mlp layer by layer: weights [outputs, inputs] row-major, then biases [outputs]; of a
   /// module in the order of its parameters().
   FloatView Parameters() const;
   /// Replaces the parameters; throws for another number of values, and for values that are not finite. Keeps the
   /// scalers.
   void SetParameters(const std::vector<float> &values);

   /// Freezes the parameter `name` or all parameters below it (`layers.0.weight` or `layers.0` of an Mlp, or the module's
   /// own names): Fit() leaves them unchanged to the bit, whatever the optimiser and the weight decay. Running
   /// statistics do change. Print() shows what is frozen. Throws if no name begins so; the message lists the names.
   /// Copies of the model stay frozen, but files do not record it: call it again after Load(), and before Resume(). An
   /// Mlp whose first or last layer is frozen keeps its scalers.
   void Freeze(const std::string &name);
   /// Lets these parameters train again; "": all.
   void Unfreeze(const std::string &name = "");
   /// Writes architecture, parameters, scalers, columns and options to one file, atomically. Keeps the mode and owner
   /// of a file that it replaces and follows symbolic links. Throws if the path is a device, a pipe, a socket, a folder
   /// or a read-only file, and if the predictions of an Mlp or the parameters of a module are not finite. A leading `~` is
   /// the home folder.
   ///
   /// For a model of a module the file holds its operators, with the parameters under the module's own names
   /// (`0.weight`), where every reader of safetensors finds them. Throws if LibTorch runs the network because an
   /// operator has no kernel: use torch::save to write the parameters of its module.
   void Save(const std::string &path) const;
   /// Reads what Save() wrote; throws for any other file, and for one whose SHA-256 does not match. Needs neither the
   /// source of a network nor LibTorch's headers: the model predicts and is trained as the one that was saved, with the same
   /// bits, but with Clad's derivatives only (FitOptions::fGradient = kClad). No code in the file is run.
   /// \param activation The text of an Mlp's own activation, if it has one: code from a file is never compiled. The
   ///        error shows the text that is missing.
   static Model Load(const std::string &path, const std::string &activation = "");
   /// Reads the network of an ONNX file (opsets 7 to 28), as PyTorch, Keras and scikit-learn export them. Its weights go on
   /// training with Fit(); it predicts, is saved and exported as any other model. `models.md` lists the operators; a
   /// file with any other is refused, and the message names it.
   ///
   /// The file's input [events, ...] defines an event; its other dimensions must be numbers. The features of several
   /// inputs follow one another. Predict() returns what the file's network computes. A final sigmoid of one output, or
   /// a final softmax, is treated as that of a classifier, so that Logits() and losses on logits have their usual
   /// meaning. Floating-point initialisers become parameters under their names; integers, and constants that scale the
   /// features before the first layer, do not train. Tensors in other files are read only if these lie in the folder of
   /// `path` or below it.
   /// \param output The output to predict, if the file has several.
   static Model LoadOnnx(const std::string &path, const std::string &output = "");
   /// Reads a network that PyTorch wrote: `torch.jit.script(net).save("net.pt")`, or `torch.jit.trace`, or torch::jit::Module in
   /// C++, or `torch.export.save` (`.pt2`); the format is recognised from the file. It becomes a model like one of a
   /// torch::nn module: it predicts, is fine-tuned by Fit(), saved and exported, with Clad's derivatives where its
   /// operators have kernels, else run by LibTorch (Print() says why). Parameters keep PyTorch's names
   /// and `requires_grad`. Needs neither Python nor LibTorch's headers.
   ///
   /// ~~~{.cpp}
   /// auto model = CladTorch::Model::LoadTorchScript("net.pt", {1, 128});
   /// auto outputs = model.Predict(windows); // what net.eval() gives
   /// ~~~
   /// Its scalers are 0 and 1, also in fits: features are not standardised. Predict() returns what `forward` returns in
   /// evaluation; after a Fit() with a cross-entropy, or SetOptions() with one as fLoss, it treats these outputs as
   /// logits and returns probabilities.
   ///
   /// A scripted network has both modes: dropout and batch normalisation train as in PyTorch. A traced one keeps the mode in which it
   /// was traced, and one of torch.export that of evaluation unless it was exported in training.
   ///
   /// A TorchScript file is a program. Before LibTorch reads it, all sizes and checksums are checked, and that reading
   /// it runs no code. Its `forward` does run, with LibTorch's operators alone: those that open files or print are
   /// refused by name. LibTorch's operators are not hardened against hostile input: load TorchScript only from sources
   /// whose macros you would run, and use LoadWeights() for others.
   /// \param shape Of one event: `forward` takes a tensor [events, shape...] of float32.
   /// Throws for other and damaged files, for networks with parameters that are not float32 (call `net.float()` in
   /// PyTorch), and for networks that the constructor refuses.
   static Model LoadTorchScript(const std::string &path, const std::vector<std::size_t> &shape);
   /// The same for a network of several tensors, of one shape each: see the constructor.
   static Model LoadTorchScript(const std::string &path, std::initializer_list<std::vector<std::size_t>> shapes);
   /// Writes what Predict() computes as an ONNX file (opset 17, float32), for other programs: with the scaler of the features,
   /// that of the targets, and the sigmoid or softmax of a classifier. Written as by Save().
   ///
   /// The graph has the input `features` [events, F], in the order of Columns(), and the output `predictions` [events,
   /// C], for any number of events. Its metadata have the names as JSON, under `columns` and `targets`.
   /// Parameters have the module's names (`layers.0.weight` of an Mlp). Throws for a network that LibTorch runs, that does not
   /// take a single event, or that has an operator without a counterpart in ONNX, which the message names.
   void ExportOnnx(const std::string &path) const;
   /// Writes what Predict() computes as one C++17 header, which needs neither ROOT nor LibTorch nor CladTorch.
   ///
   /// ~~~{.cpp}
   /// #include "higgs.hxx"                    // by ExportCpp("higgs.hxx")
   /// float features[higgs::kInputs] = {...}; // in the units of the training, in the order of higgs::columns
   /// float predictions[higgs::kOutputs];
   /// higgs::predict(features, predictions);  // of one event; predict(N, features, predictions) of N
   /// ~~~
   /// The namespace is named after the file: what C++ does not allow in a name becomes `_`, and a name that is taken gets
   /// `model_` before it. It computes in float32 and sums in another order than Predict(), so the last digits may
   /// differ. It may be called from several threads at once. Throws like ExportOnnx(), and for more than 4 million
   /// parameters.
   /// \param gradient Also writes `higgs::gradient(features, predictions, jacobian)`: the derivatives of the predictions by the features, in
   ///        the units of both, [kOutputs, kInputs] row-major, in one pass forward and one back for each prediction. The derivatives of
   ///        functions are Clad's text. Throws for weights of convolutions and normalisation that are computed from the event.
   void ExportCpp(const std::string &path, bool gradient = false) const;
   /// Writes what Predict() computes as a network of PyTorch, which Python loads with `torch.jit.load(path)`: with the scaler of the
   /// features, that of the targets, and the sigmoid or softmax of a classifier. Its `forward` takes features [events, F] of float32 and
   /// gives predictions [events, C], as in evaluation: without dropout, with the running statistics. Parameters are PyTorch's
   /// parameters under their names (`layers.0.weight` of an Mlp) and go on training there. Written as by Save(). Throws for a network
   /// that LibTorch runs, that does not take a single event, or that has an activation of your own.
   void ExportTorchScript(const std::string &path) const;
   /// Writes all tensors of the network as a safetensors file with the names of PyTorch's `state_dict` (`layers.0.weight`
   /// [outputs, inputs] of an Mlp), which `safetensors.torch.load_file` reads and `load_state_dict` takes: parameters and running
   /// statistics, of a torch::nn module or TorchScript network also frozen and unused parameters, all buffers, and tied ones under each
   /// name. Scalers, columns and options are metadata. Written as by Save(). Throws for values that are not finite, and
   /// for a function that LibTorch runs, whose tensors have no names.
   void SaveWeights(const std::string &path) const;
   /// Replaces all tensors of the network by those of a safetensors file, from SaveWeights() or another program, or of PyTorch's
   /// `torch.save(net.state_dict(), path)`, or of a checkpoint that has such a dictionary (`state_dict`, `model`, ...).
   /// The file must have every tensor of the network by name, with its type and shape (buffers that do not train may be
   /// missing), and no others except `num_batches_tracked`. Frozen parameters and buffers with which the network
   /// computes must equal its own. A file from SaveWeights() also sets scalers, columns and options; a file of another
   /// program leaves them as they are. Throws for any other file, and the model stays as it was. No code in the file is
   /// run.
   void LoadWeights(const std::string &path);
   /// Prints the layers or operators, the number of parameters, columns and options.
   void Print() const;

   /// Called by PyROOT when it meets this class: lets Fit() take options as keywords.
   static void __cppyy_pythonize__(_object *pyclass, const std::string &name);

protected:
   Model(std::shared_ptr<Internal::ModelData> data, Internal::FromCore);

private:
   friend class Ensemble;
   friend class Signal::NetworkFilter;
   friend struct Internal::SearchRound;

   template <class F>
   History ResumeBy(const std::string &path, const FitOptions &options, F fit);
   History RunEpochs(const Internal::Training &training, const Internal::InterruptScope &interrupt);
   /// `path` is the checkpoint to go on from; empty: there is none.
   History FitDataset(const Dataset &data, const FitOptions &options, const Dataset *validation, const std::string &path,
                      const Internal::LossData &loss);
   History FitStream(const Stream &stream, const FitOptions &options, const Dataset *validation, const std::string &path,
                     const Internal::LossData &loss);
   void CheckFunctor(std::size_t arguments) const;
   std::string Where(const char *method) const;
   Evaluation SignalAndBackground(const Dataset &data, bool raw) const;
   std::function<TH1 *(std::size_t output)> SlopeBars(const Dataset &data) const;
   void MakeReport(const std::string &path, const Dataset &test, const Dataset *training) const;
   /// Of Predict() and, with `raw`, Logits(); what it throws reports the public method that was called.
   std::vector<float> Outputs(const Dataset &data, bool raw) const;
   const Internal::ModelData &Data() const;
   const Internal::ModelData &DataToFit(const FitOptions &options) const;
   std::shared_ptr<const Internal::ModelData> Frozen() const;
   void Replace(std::shared_ptr<Internal::ModelData> data);
   template <class F>
   void Change(const char *method, F change);
   void SetFrozen(const char *method, const std::string &name, bool frozen);

   std::shared_ptr<Internal::ModelData> fData;
};

} // namespace CladTorch

#endif
