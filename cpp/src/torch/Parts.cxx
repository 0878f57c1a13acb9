#include "Parts.hxx"

#include "CompiledFunction.hxx"
#include "Recorded.hxx"

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace CladTorch {
namespace Internal {

namespace {

using torch::jit::Value;

/// Whether autograd goes back through it; lists of tensors are taken to be of floating point.
bool IsDifferentiable(const Value &value)
{
   const auto type = value.type()->cast<c10::TensorType>();
   if (!type || !type->scalarType())
      return true;
   return c10::isFloatingType(*type->scalarType()) || c10::isComplexType(*type->scalarType());
}

/// Whether the operator, if it makes floating point of floating point, passes gradients: LibTorch's autograd ends at
/// some.
bool PassesGradients(const torch::jit::Node &node)
{
   const std::string name = node.kind().toUnqualString();
   constexpr std::string_view like = "_like";
   const bool isLike = name.size() > like.size() && name.compare(name.size() - like.size(), like.size(), like) == 0;
   return !isLike && name != "detach" && name.compare(0, 4, "new_") != 0;
}

/// The operands through which autograd goes back from a result: some operators take no more than the shape or the type of others.
Values Passing(const Operator &one, const Value *result)
{
   if (!PassesGradients(*one.fNode))
      return {};
   const std::string name = one.fNode->kind().toUnqualString();
   if (name == "broadcast_tensors" && one.fResults.size() == one.fOperands.size())
      return {one.fOperands.at(std::find(one.fResults.begin(), one.fResults.end(), result) - one.fResults.begin())};
   const bool takesShape = name == "expand_as" || name == "reshape_as" || name == "view_as" || name == "type_as";
   return takesShape ? Values{one.fOperands.front()} : one.fOperands;
}

/// A tensor with the observed type, shape, strides and device, and arbitrary values. Elements that an operator returned
/// in one place, or with gaps between them, lie as in a tensor that LibTorch makes like that one.
torch::Tensor Example(const Value &value, bool isArgument)
{
   const auto &type = value.type()->expectRef<c10::TensorType>();
   const auto sizes = *type.sizes().concrete_sizes(), strides = *type.strides().concrete_sizes();
   const auto options = torch::dtype(*type.scalarType()).device(type.device().value_or(torch::kCPU));
   auto example = torch::empty_strided(sizes, strides, options);
   return isArgument || example.is_non_overlapping_and_dense() ? example : torch::empty_like(example);
}

/// The tensor with the observed strides; another operator may have chosen others.
torch::Tensor Conformed(const torch::Tensor &tensor, const Layout &layout)
{
   if (layout.Fits(tensor))
      return tensor;
   if (!layout.HasShape(tensor))
      throw std::runtime_error("an operator returned a tensor of shape " + c10::str(tensor.sizes()) + ", and of another one when it "
                               "was observed");
   return layout.Empty().copy_(tensor);
}

/// For each output of a part, the inputs that autograd goes back to.
Reached ReachedFrom(const Subgraph &part, const std::vector<Operator> &operators,
                    const std::unordered_set<const Value *> &requiring)
{
   std::unordered_map<const Value *, std::vector<bool>> reached;
   const auto count = part.Inputs().size();
   for (std::size_t i = 0; i < count; ++i) {
      auto &own = reached[part.Inputs()[i]];
      own.resize(count);
      own[i] = requiring.count(part.Inputs()[i]) > 0;
   }
   for (const auto &one : operators)
      for (const auto *result : one.fResults) {
         auto &all = reached[result];
         all.resize(count);
         if (!requiring.count(result))
            continue;
         for (const auto *operand : Passing(one, result))
            if (requiring.count(operand))
               for (std::size_t i = 0; i < count; ++i)
                  all[i] = all[i] || reached.at(operand)[i];
      }
   Reached list;
   for (const auto *output : part.Outputs())
      list.push_back(reached.at(output));
   return list;
}

} // namespace

/// Makes the parts of a function one after the other.
class Parts::Builder {
public:
   Builder(Parts &parts, const Observation &observation, const Marks &gradients, const CompileOptions &options)
      : fParts(parts), fGraph(*observation.fRecorded), fSeams(observation, options.fName), fOptions(options),
        fInputs(observation.fGraph.inputs.size())
   {
      for (std::size_t i = 0; i < fGraph.inputs().size(); ++i) {
         fNumbers[fGraph.inputs()[i]] = fParts.fValues++;
         if (gradients[i])
            fRequiring.insert(fGraph.inputs()[i]);
      }
   }

   void Run()
   {
      for (const auto &operators : fSeams.Parts())
         Add(operators);
      for (const auto *output : fGraph.outputs())
         fParts.fOutputs.push_back(fNumbers.at(output));
      fParts.fReason = fSeams.Reason();
      ForgetEarly();
   }

private:
   void Add(const std::vector<Operator> &operators)
   {
      for (const auto &one : operators)
         FollowGradients(one);
      std::vector<torch::jit::Node *> nodes;
      for (const auto &one : operators)
         nodes.push_back(one.fNode);
      const auto number = operators.front().fPart;
      const Subgraph graph(nodes, [&](const Value &value) { return fSeams.IsUsedOutside(value, number); });
      Part part;
      part.fReplay = std::make_shared<const Replay>(graph.Graph());
      for (const auto *input : graph.Inputs())
         part.fTakes.push_back(fNumbers.at(input));
      if (operators.front().fKernels)
         OnKernels(part, graph, operators);
      else
         OnLibTorch(part, operators);
      for (const auto *output : graph.Outputs())
         part.fGives.push_back(fNumbers[output] = fParts.fValues++);
      fParts.fParts.push_back(std::move(part));
   }

   void FollowGradients(const Operator &one)
   {
      for (const auto *result : one.fResults) {
         const auto passing = Passing(one, result);
         if (IsDifferentiable(*result) && std::any_of(passing.begin(), passing.end(), [&](const Value *operand) { return fRequiring.count(operand) > 0; }))
            fRequiring.insert(result);
      }
   }

   void OnKernels(Part &part, const Subgraph &graph, const std::vector<Operator> &operators)
   {
      TensorList examples;
      Wanted wanted{{}, false, false};
      for (const auto *input : graph.Inputs()) {
         examples.push_back(Example(*input, fNumbers.at(input) < fGraph.inputs().size()));
         wanted.fInputs.push_back(fRequiring.count(input) > 0);
         wanted.fRecorded = wanted.fCaptured = wanted.fRecorded || wanted.fInputs.back();
      }
      const auto observe = [&] {
         std::vector<std::size_t> numbers;
         Observation seen;
         for (const auto &one : operators) {
            numbers.push_back(one.fNumber);
            seen.fDraws.insert(seen.fDraws.end(), one.fDraws, one.fNode->kind().toQualString());
         }
         seen.fGraph = LowerPart(*graph.Graph(), fOptions.fName, std::move(numbers));
         for (std::size_t i = 0; i < examples.size(); ++i)
            std::copy(examples[i].strides().begin(), examples[i].strides().end(), seen.fGraph.values[seen.fGraph.inputs[i]].strides.begin());
         seen.fReached = ReachedFrom(graph, operators, fRequiring);
         return seen;
      };
      auto function = std::make_shared<const ListFunction>([replay = part.fReplay](const TensorList &inputs) { return (*replay)(inputs); });
      auto kernels = std::make_shared<const Specialisation>(std::move(function), examples, wanted, fOptions, observe);
      if (!kernels->Compiled())
         throw Unobservable(kernels->Reason());
      for (const auto update : kernels->Updates())
         AddUpdate(*graph.Inputs()[update], operators.front().fPart);
      part.fLayouts = {examples.begin(), examples.end()};
      for (const auto *output : graph.Outputs())
         part.fResults.emplace_back(Example(*output, false));
      part.fKernels = std::move(kernels);
      part.fReplay = nullptr;
   }

   /// A call may change only a captured tensor that no other part reads before or after that.
   void AddUpdate(const Value &value, std::size_t part)
   {
      const auto number = fNumbers.at(&value);
      if (number < fInputs || number >= fGraph.inputs().size() || fSeams.IsUsedOutside(value, part))
         throw Unobservable("it changes a tensor that several parts use");
      fParts.fUpdates.push_back(static_cast<std::uint32_t>(number));
   }

   static void OnLibTorch(Part &part, const std::vector<Operator> &operators)
   {
      for (const auto &one : operators)
         part.fOperators += "  operator " + std::to_string(one.fNumber) + ", " + one.fNode->kind().toQualString() +
                            (one.fReason.empty() ? " has kernels, which would gain no time by itself" : " " + one.fReason) + '\n';
   }

   /// Values are dropped when no later part takes them.
   void ForgetEarly()
   {
      std::unordered_set<std::size_t> used(fParts.fOutputs.begin(), fParts.fOutputs.end());
      for (auto part = fParts.fParts.rbegin(); part != fParts.fParts.rend(); ++part)
         for (const auto number : part->fTakes)
            if (used.insert(number).second)
               part->fForgets.push_back(number);
   }

   Parts &fParts;
   const torch::jit::Graph &fGraph;
   const Seams fSeams;
   const CompileOptions &fOptions;
   const std::size_t fInputs;
   std::unordered_map<const Value *, std::size_t> fNumbers;
   std::unordered_set<const Value *> fRequiring; ///< values that require a gradient
};

Parts::Parts(const Observation &observation, const Marks &gradients, const CompileOptions &options)
{
   Builder(*this, observation, gradients, options).Run();
}

TensorList Parts::operator()(const TensorList &arguments) const
{
   torch::jit::Stack values(arguments.begin(), arguments.end());
   values.resize(fValues);
   for (const auto &part : fParts) {
      torch::jit::Stack stack;
      for (const auto number : part.fTakes)
         stack.push_back(values[number]);
      for (const auto number : part.fForgets)
         values[number] = c10::IValue();
      auto results = Run(part, std::move(stack));
      for (std::size_t i = 0; i < results.size(); ++i)
         values[part.fGives[i]] = std::move(results[i]);
   }
   TensorList outputs;
   for (const auto number : fOutputs)
      outputs.push_back(values[number].toTensor());
   return outputs;
}

torch::jit::Stack Parts::Run(const Part &part, torch::jit::Stack stack)
{
   if (!part.fKernels)
      return (*part.fReplay)(std::move(stack));
   TensorList arguments;
   for (std::size_t i = 0; i < stack.size(); ++i)
      arguments.push_back(Conformed(stack[i].toTensor(), part.fLayouts[i]));
   stack.clear();
   const bool recorded = part.fKernels->Recorded() && torch::GradMode::is_enabled() &&
                         std::any_of(arguments.begin(), arguments.end(), [](const auto &argument) { return argument.requires_grad(); });
   auto results = recorded ? CompiledFunction::Run(std::move(arguments), part.fKernels)
                           : part.fKernels->Forward(std::move(arguments), nullptr);
   // LibTorch's operators fill memory in its order: random numbers, for example, would go to other elements.
   for (std::size_t i = 0; i < results.size(); ++i)
      results[i] = Conformed(results[i], part.fResults[i]);
   return torch::jit::Stack(std::make_move_iterator(results.begin()), std::make_move_iterator(results.end()));
}

std::string Parts::Describe() const
{
   std::string text;
   for (std::size_t i = 0; i < fParts.size(); ++i) {
      const auto &part = fParts[i];
      text += "part " + std::to_string(i + 1) + " of " + std::to_string(fParts.size());
      text += part.fKernels ? " on kernels, " + part.fKernels->Describe() : " on LibTorch\n" + part.fOperators;
   }
   return text;
}

std::string Parts::Code() const
{
   std::string text;
   for (const auto &part : fParts)
      text += part.fKernels ? part.fKernels->Code() : "";
   return text;
}

} // namespace Internal
} // namespace CladTorch
