/// \file CladTorch/CrossValidation.hxx
/// \brief k-fold cross-validation.

#include <CladTorch/Load.hxx>

#ifndef CLADTORCH_CROSSVALIDATION
#define CLADTORCH_CROSSVALIDATION

#include <CladTorch/Evaluation.hxx>
#include <CladTorch/History.hxx>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

struct _object; // Python's PyObject

namespace CladTorch {

class Model;

namespace Internal {
struct CrossValidationData;
}

/// What Model::CrossValidate() found: a model for each fold of the events, trained on the other folds.
///
/// ~~~{.cpp}
/// auto folds = model.CrossValidate(events, 5);
/// folds.Print();                       // the figures of each fold, their mean and its error
/// folds.Evaluate().DrawRoc();          // of all events, each judged by the model that has not seen it
/// ~~~
class CrossValidation {
public:
   // Not movable: a moved-from object would hold a null pointer.
   CrossValidation(const CrossValidation &) = default;
   CrossValidation &operator=(const CrossValidation &) = default;

   /// k
   std::size_t Folds() const;
   /// [N], the fold of each event, from 0 to k - 1.
   const std::vector<std::uint32_t> &FoldOf() const;
   /// [k]
   const std::vector<Model> &Models() const;
   /// [k]
   const std::vector<History> &Histories() const;
   /// [N, C] row-major: for each event what the model of its fold predicts, which was not trained on it.
   const std::vector<float> &Predictions() const;
   /// Of all events, by Predictions().
   Evaluation Evaluate() const;
   /// Of the events of one fold.
   Evaluation Evaluate(std::size_t fold) const;
   /// The AUC of each fold, counted from 0 (the accuracy of several classes, the RMSE of a regression), the validation loss of the
   /// parameters that were kept, the mean over the folds, and its standard error from their spread (whose variance divides by
   /// k - 1); as the training sets overlap, the true error is somewhat larger. A fold without such a figure (an AUC
   /// needs events of both classes) shows "nan" and is left out of the mean; a line below says why.
   void Print() const;

   /// Called by PyROOT when it meets this class: checks and names arguments, copies.
   static void __cppyy_pythonize__(_object *pyclass, const std::string &name);

private:
   friend class Model;
   explicit CrossValidation(std::shared_ptr<const Internal::CrossValidationData> data) : fData(std::move(data)) {}

   std::shared_ptr<const Internal::CrossValidationData> fData;
};

} // namespace CladTorch

#endif
