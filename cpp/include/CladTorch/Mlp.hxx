/// \file CladTorch/Mlp.hxx
/// \brief The multilayer perceptron.

#include <CladTorch/Load.hxx>

#ifndef CLADTORCH_MLP
#define CLADTORCH_MLP

#include <CladTorch/Model.hxx>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

struct _object; // Python's PyObject

namespace CladTorch {

/// Normalisation of the values of each hidden layer, before the activation, with a learned scale and shift.
enum ENormalisation {
   kNoNormalisation = 0,
   kBatchNorm = 1, ///< over the events of a batch; with running statistics in predictions (Ioffe and Szegedy 2015)
   kLayerNorm = 2, ///< over the values of each event (Ba, Kiros and Hinton 2016)
};

/// Further options of the layers of an Mlp.
struct MlpOptions {
   EActivation fActivation = kReLU; ///< after each layer but the last
   EInit fInit = kUniform;          ///< distribution of the initial weights and biases
   std::uint64_t fSeed = 1;         ///< of the initial weights and biases
   ENormalisation fNormalisation = kNoNormalisation;
   /// Probability, in [0, 1), that a value after the activation of a hidden layer is set to 0 in training (Srivastava
   /// et al. 2014).
   double fDropout = 0;

   /// Called by PyROOT when it meets this class: checks the names and types of fields, copies.
   static void __cppyy_pythonize__(_object *pyclass, const std::string &name);
};

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
/// Trained, evaluated and used with the methods of Model.
class Mlp : public Model {
public:
   /// \param sizes Inputs, neurons of each hidden layer, outputs: at least two numbers, none of them 0.
   /// \param activation After each layer but the last.
   /// \param init Distribution of the initial weights and biases.
   /// \param seed Of the initial weights and biases.
   explicit Mlp(const std::vector<std::size_t> &sizes, EActivation activation = kReLU, EInit init = kUniform,
                std::uint64_t seed = 1);
   /// The same with normalisation or dropout. Such an Mlp computes and is saved as a Model of a torch::nn::Sequential: its
   /// scalers stay those of the first Fit().
   explicit Mlp(const std::vector<std::size_t> &sizes, const MlpOptions &options);
   /// The same with an activation of your own: C++ text that defines `double activation(double x)`; other code may
   /// precede it. Clad differentiates it, which needs clang and Clad's plugin; the derivative is compared with
   /// difference quotients. It runs with the back end aot (FitOptions::fGradient = kClad) on the CPU.
   explicit Mlp(const std::vector<std::size_t> &sizes, const std::string &activation, EInit init = kUniform,
                std::uint64_t seed = 1);
   /// Reads what Save() wrote; throws for any other file, for a model of a module, and for a file whose SHA-256 does not
   /// match.
   /// \param activation The text of the model's own activation, if it has one: code from a file is never compiled. The
   ///        error shows the text that is missing.
   static Mlp Load(const std::string &path, const std::string &activation = "");

   /// Called by PyROOT when it meets this class: checks and names arguments, copies.
   static void __cppyy_pythonize__(_object *pyclass, const std::string &name);

private:
   Mlp(std::shared_ptr<Internal::ModelData> data, Internal::FromCore);
};

} // namespace CladTorch

#endif
