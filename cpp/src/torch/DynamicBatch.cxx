#include "DynamicBatch.hxx"

#include "Fills.hxx"

#include <algorithm>

namespace CladTorch {
namespace Internal {

namespace {

/// Fewest rows of an observation; see CanBegin().
constexpr std::int64_t kFewest = 2;

/// The operator that is given constant `index`, " for aten::gru at operator 3 of function"; "" if none is.
std::string Taker(const Observation &observation, std::size_t index)
{
   const auto value = observation.fGraph.constants[index];
   for (const auto &node : observation.fGraph.nodes)
      for (const auto &argument : node.arguments)
         if ((argument.kind == Core::ArgumentKind::Value && argument.value == value) ||
             (argument.kind == Core::ArgumentKind::Values && std::find(argument.list.begin(), argument.list.end(), value) != argument.list.end()))
            return " for " + std::string(node.op) + " at " + std::string(node.place);
   return "";
}

/// A function as it was observed with `fRows` rows.
struct OfRows {
   const Observation &fObservation;
   std::int64_t fRows;

   std::string Operator(std::size_t node) const
   {
      const auto &nodes = fObservation.fGraph.nodes;
      const auto name = node < nodes.size() ? std::string(nodes[node].op) : "the end of the function";
      return name + " with " + std::to_string(fRows) + " rows";
   }
};

/// Throws if the function calls other operators for other numbers of rows, and names the first one.
void CheckOperators(const OfRows &first, const OfRows &other, const std::string &remedy)
{
   const auto &a = first.fObservation.fGraph.nodes, &b = other.fObservation.fGraph.nodes;
   for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i)
      if (i >= a.size() || i >= b.size() || a[i].op != b[i].op)
         throw std::runtime_error(std::string(i < a.size() ? a[i].place : b[i].place) + " is " + first.Operator(i) + " and " +
                                  other.Operator(i) + ": the function branches on the number of rows (size(0)), or loops over "
                                  "the rows; " + remedy);
}

/// Throws if a tensor that the function makes of numbers depends on the number of rows.
void CheckConstants(const Observation &first, const Observation &other, const std::string &name, const std::string &remedy)
{
   try {
      CheckSameConstants(first, other, name);
   } catch (const Unobservable &) {
      std::string taker;
      for (std::size_t i = 0; i < std::min(first.fConstants.size(), other.fConstants.size()) && taker.empty(); ++i)
         if (first.fMade[i] && first.fConstants[i].sizes() != other.fConstants[i].sizes())
            taker = Taker(first, i);
      throw std::runtime_error("a tensor that " + name + " makes of numbers" + taker + " follows the number of rows; make it "
                               "of an input (torch::ones_like(x); its cumsum(0) - 1 for torch::arange), or " + remedy);
   }
}

} // namespace

bool DynamicBatch::CanBegin(const TensorList &inputs)
{
   return !inputs.empty() && inputs[0].dim() > 0 && inputs[0].size(0) >= kFewest &&
          std::all_of(inputs.begin(), inputs.end(), [](const auto &input) { return input.is_contiguous(); });
}

DynamicBatch::DynamicBatch(const ListFunction &function, const TensorList &examples, const Wanted &wanted, const std::string &name,
                           const std::string &remedy)
   : fRows(examples[0].size(0)), fWanted(wanted)
{
   for (const auto &example : examples)
      fInputs.push_back({example.scalar_type(), example.device(), example.sizes().vec(), example.dim() > 0 && example.size(0) == fRows});
   auto first = Observe(function, examples, wanted, name);
   const auto other = fRows + 3; // odd where the examples' number is even
   Observation observed[2];
   try {
      observed[0] = Observe(function, WithRows(examples, fRows + 1), wanted, name);
      observed[1] = Observe(function, WithRows(examples, other), wanted, name);
   } catch (const Thrown &thrown) {
      throw std::runtime_error(name + " works with " + std::to_string(fRows) + " rows but not with more: " +
                               thrown.Message() + "; each input whose first dimension is as long as that of the first "
                               "input follows it: give examples where no other one is, or " + remedy);
   }
   CheckOperators({first, fRows}, {observed[0], fRows + 1}, remedy);
   CheckOperators({first, fRows}, {observed[1], other}, remedy);
   const auto fills = FillsOfOtherShapes(first, observed);
   for (auto *observation : {&first, &observed[0], &observed[1]})
      SpellOutFills(*observation, fills);
   for (const auto &observation : observed) {
      CheckConstants(first, observation, name, remedy);
      if (observation.fReached != first.fReached || observation.fDraws != first.fDraws)
         throw Unobservable("gradients or random numbers follow the number of rows");
   }
   fCore = Core::any_batch_new(first.Graph(), observed[0].Graph(), fRows, observed[1].Graph(), other, remedy);
   fCaptured = Captured(first.fConstants);
   fFirst = std::move(first);
   fFirst.fGraph = {};
   fFirst.fRecorded = nullptr;
}

TensorList DynamicBatch::WithRows(const TensorList &examples, std::int64_t rows) const
{
   const auto picked = torch::arange(rows).remainder(fRows);
   TensorList list;
   for (std::size_t i = 0; i < examples.size(); ++i)
      list.push_back(fInputs[i].fFollows ? examples[i].detach().index_select(0, picked.to(examples[i].device())) : examples[i]);
   return list;
}

bool DynamicBatch::Fits(const TensorList &inputs) const
{
   if (inputs.size() != fInputs.size() || !CanBegin(inputs) || !fCaptured.Fit())
      return false;
   const auto rows = inputs[0].size(0);
   for (std::size_t i = 0; i < inputs.size(); ++i) {
      const auto &[type, device, shape, follows] = fInputs[i];
      const auto sizes = inputs[i].sizes();
      if (inputs[i].scalar_type() != type || inputs[i].device() != device || sizes.size() != shape.size())
         return false;
      for (std::size_t d = 0; d < shape.size(); ++d)
         if (sizes[d] != (follows && d == 0 ? rows : shape[d]))
            return false;
   }
   return true;
}

Observation DynamicBatch::ObserveLike(const ListFunction &function, const TensorList &inputs, const std::string &name) const
{
   auto observation = Observe(function, inputs, fWanted, name);
   SpellOutFills(observation, fFirst.fFills);
   CheckSameConstants(fFirst, observation, name);
   return observation;
}

Observation DynamicBatch::At(std::int64_t rows) const
{
   auto observation = fFirst;
   observation.fGraph = Core::any_batch_at(**fCore, rows);
   return observation;
}

} // namespace Internal
} // namespace CladTorch
