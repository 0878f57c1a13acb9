/// \file DynamicBatch.hxx
/// \brief One observation of a function for every number of rows.

#ifndef CLADTORCH_DYNAMICBATCH
#define CLADTORCH_DYNAMICBATCH

#include "CoreBox.hxx"
#include "Captured.hxx"
#include "Observe.hxx"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace CladTorch {
namespace Internal {

/// A function that was observed with three numbers of rows: the length of the first dimension of the first input, and of
/// every input whose first dimension is as long. Thread-safe once made.
class DynamicBatch {
public:
   /// Throws std::runtime_error, with what else to do, where the operators follow the rows in another way than their numbers
   /// do, and Unobservable.
   DynamicBatch(const ListFunction &function, const TensorList &examples, const Wanted &wanted, const std::string &name,
                const std::string &remedy);

   /// Whether inputs like these can be the examples of one: two rows at least, all of them dense. A dimension of one row
   /// is broadcast, and none leaves LibTorch nothing to do: those are observed by themselves.
   static bool CanBegin(const TensorList &inputs);

   /// Whether `inputs` differ from the examples in their number of rows alone, and captured tensors are as they were.
   bool Fits(const TensorList &inputs) const;
   /// What it was observed for.
   const Wanted &ForWanted() const { return fWanted; }
   std::int64_t Rows() const { return fRows; }
   /// Of the examples, without its graph.
   const Observation &First() const { return fFirst; }
   /// For the core; what is left can do nothing more.
   rust::Box<Core::AnyBatch> TakeCore() { return std::move(*fCore); }
   /// The function as it is seen with other inputs, a single row for one. Throws as Observe() does, and where it captures other
   /// tensors.
   Observation ObserveLike(const ListFunction &function, const TensorList &inputs, const std::string &name) const;
   /// As it would be observed with so many rows.
   Observation At(std::int64_t rows) const;

private:
   struct Input {
      torch::ScalarType fType;
      torch::Device fDevice;
      std::vector<std::int64_t> fShape;
      bool fFollows; ///< the rows
   };
   TensorList WithRows(const TensorList &examples, std::int64_t rows) const;

   std::int64_t fRows; ///< of the examples
   Wanted fWanted;
   std::vector<Input> fInputs;
   Captured fCaptured;
   Observation fFirst; ///< of the examples, without its graph
   std::optional<rust::Box<Core::AnyBatch>> fCore; ///< there once it is observed
};

} // namespace Internal
} // namespace CladTorch

#endif
