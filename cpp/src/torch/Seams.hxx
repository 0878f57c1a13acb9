/// \file Seams.hxx
/// \brief Which operators of a function kernels run, and which LibTorch.

#ifndef CLADTORCH_SEAMS
#define CLADTORCH_SEAMS

#include "Observe.hxx"
#include "Subgraph.hxx"

#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

namespace CladTorch {
namespace Internal {

/// An operator of a function.
struct Operator {
   torch::jit::Node *fNode;
   std::size_t fNumber;     ///< from 1 on, in the function's order
   Values fOperands, fResults;
   bool fKernels = true;    ///< kernels run it; otherwise LibTorch does
   std::string fReason = {}; ///< why not kernels; empty if LibTorch runs it only because LibTorch runs its neighbours
   std::size_t fSteps = 0;  ///< number of kernels that it takes
   std::size_t fDraws = 0;  ///< random factors of kernels; 1 for an operator of LibTorch's that may draw random numbers
   std::size_t fPart = 0;
};

/// The operators of a recorded function in parts, which run one after the other: parts with even numbers on kernels,
/// the others on LibTorch. A part depends only on earlier ones.
class Seams {
public:
   /// Throws Unobservable if no part is worthwhile for kernels, or if the parts would not be the same function.
   Seams(const Observation &observation, const std::string &name);

   /// The parts in the order in which they run; none is without operators.
   std::vector<std::vector<Operator>> Parts() const;
   /// Whether another part than `part` uses the value, or the function returns it.
   bool IsUsedOutside(const torch::jit::Value &value, std::size_t part) const;
   /// The reasons why LibTorch runs operators, as text.
   std::string Reason() const;

private:
   void Ask(Operator &one, const std::string &name);
   void Number();
   void Sink();
   bool GiveUpMasks();
   bool GiveUpSmallParts();
   void CheckDraws(const std::vector<std::string> &draws) const;

   const torch::jit::Graph &fGraph;
   std::vector<Operator> fOperators;
   std::unordered_map<const torch::jit::Value *, std::size_t> fProducers; ///< index of the operator
   std::unordered_map<const torch::jit::Value *, std::vector<std::size_t>> fUsers;
};

} // namespace Internal
} // namespace CladTorch

#endif
