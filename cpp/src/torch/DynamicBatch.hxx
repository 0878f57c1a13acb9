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
   /// Throws std::runtime_error, with a remedy, if the operators depend on the number of rows otherwise than by their
   /// sizes, and Unobservable.
   DynamicBatch(const ListFunction &function, const TensorList &examples, const Wanted &wanted, const std::string &name,
                const std::string &remedy);

   /// Whether inputs like these can be the examples of one: at least two rows, all of them dense. A dimension of one
   /// row is broadcast, and with no rows LibTorch has nothing to do: such inputs are observed separately.
   static bool CanBegin(const TensorList &inputs);

   /// Whether `inputs` differ from the examples only in their number of rows, and captured tensors are unchanged.
   bool Fits(const TensorList &inputs) const;
   /// The call for which it was observed.
   const Wanted &ForWanted() const { return fWanted; }
   std::int64_t Rows() const { return fRows; }
   /// The observation of the examples, without its graph.
   const Observation &First() const { return fFirst; }
   /// Moves the core's part out; the rest of this object is then useless.
   rust::Box<Core::AnyBatch> TakeCore() { return std::move(*fCore); }
   /// The observation with other inputs, for example a single row. Throws as Observe() does, and if the function
   /// captures other tensors.
   Observation ObserveLike(const ListFunction &function, const TensorList &inputs, const std::string &name) const;
   /// The observation that `rows` rows would give.
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
   std::optional<rust::Box<Core::AnyBatch>> fCore; ///< set once it is observed
};

} // namespace Internal
} // namespace CladTorch

#endif
