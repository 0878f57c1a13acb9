#include "Network.hxx"

#include "Preserve.hxx"

#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>
#include <stdexcept>
#include <string_view>

namespace CladTorch {
namespace Internal {

namespace {

/// Most numbers of an event.
constexpr std::size_t kWidest = 1 << 24;

std::string Shown(const std::vector<std::size_t> &shape)
{
   std::string text;
   for (const auto size : shape)
      text += (text.empty() ? "" : ", ") + std::to_string(size);
   return "[" + text + "]";
}

void CheckShape(const std::vector<std::size_t> &shape)
{
   std::size_t width = 1;
   for (const auto size : shape) {
      if (size == 0 || size > kWidest / width)
         throw std::runtime_error("an event of shape " + Shown(shape) + ": give the sizes of one event's dimensions, such as "
                                  "{1, 128}, at most " + std::to_string(kWidest) + " numbers");
      width *= size;
   }
   if (shape.empty())
      throw std::runtime_error("an event without dimensions: give its shape, such as {28} for 28 numbers");
}

/// A class as users write it: Sequential for torch::nn::SequentialImpl.
std::string ShortName(const torch::nn::Module &module)
{
   const std::string ending = "Impl";
   auto name = module.name();
   name.erase(0, name.rfind(':') + 1);
   const auto length = name.size();
   if (length > ending.size() && name.compare(length - ending.size(), ending.size(), ending) == 0)
      name.resize(length - ending.size());
   return name;
}

void CheckOutputs(const TensorList &results, std::int64_t rows, const std::string &name)
{
   const auto refuse = [&](const std::string &returned) {
      throw std::runtime_error(name + " returns " + returned + " for " + std::to_string(rows) +
                               " events: a model gives each event of a batch its outputs, [events, outputs] of float32");
   };
   if (results.size() != 1)
      refuse(std::to_string(results.size()) + " tensors");
   const auto &result = results[0];
   if (!result.defined())
      refuse("an undefined tensor");
   if (result.scalar_type() != torch::kFloat32)
      refuse("a tensor of type " + std::string(c10::toString(result.scalar_type())));
   if (result.dim() == 0 || result.dim() > 2 || result.size(0) != rows || result.numel() == 0)
      refuse("a tensor of shape " + c10::str(result.sizes()));
}

/// Operators that change nothing but the shape, by the names of their nodes in LibTorch's graph.
bool IsReshape(const std::string &node)
{
   for (const std::string_view name : {"Squeeze", "Unsqueeze", "View", "UnsafeView", "ReshapeAlias", "Select", "Slice",
                                       "Alias", "Clone", "T", "Transpose", "Permute", "Expand"})
      if (node.rfind(std::string(name) + "Backward", 0) == 0)
         return true;
   return false;
}

} // namespace

ModeScope::ModeScope(torch::nn::Module *module, bool training)
{
   if (!module)
      return;
   for (const auto &part : module->modules())
      fBefore.emplace_back(part, part->is_training());
   module->train(training);
}

ModeScope::~ModeScope()
{
   for (const auto &[part, training] : fBefore)
      part->train(training); // its parts, too, which come after it
}

Network::Network(ListFunction function, std::shared_ptr<torch::nn::Module> module, const std::vector<std::size_t> &shape)
   : fFunction(std::move(function)), fModule(std::move(module)), fShape(shape), fName(fModule ? ShortName(*fModule) : "function")
{
   CheckShape(shape);
   if (!fModule)
      return;
   for (const auto &parameter : fModule->named_parameters())
      CheckTensor("parameter '" + parameter.key() + "'", parameter.value());
   for (const auto &buffer : fModule->named_buffers())
      CheckTensor("buffer '" + buffer.key() + "'", buffer.value());
}

void Network::CheckTensor(const std::string &what, const torch::Tensor &tensor) const
{
   if (!tensor.defined())
      return;
   if (!tensor.is_cpu() || tensor.layout() != torch::kStrided)
      throw std::runtime_error(what + " of " + fName + " is on " + tensor.device().str() + " or sparse: move the module with "
                               "to(torch::kCPU)");
   if (tensor.is_floating_point() && tensor.scalar_type() != torch::kFloat32)
      throw std::runtime_error(what + " of " + fName + " is of type " + c10::toString(tensor.scalar_type()) +
                               ", but a model trains in float32: convert the module with to(torch::kFloat32)");
}

TensorName Network::NameOf(const torch::Tensor &tensor) const
{
   if (!fModule)
      return {};
   std::string path;
   for (const auto &named : {fModule->named_parameters(), fModule->named_buffers()})
      for (const auto &item : named)
         if (path.empty() && item.value().is_same(tensor))
            path = item.key();
   const auto end = path.rfind('.');
   if (end == std::string::npos)
      return {path, ""};
   const auto part = path.substr(0, end);
   const auto *module = fModule->named_modules().find(part);
   return {path, module ? part + " (" + ShortName(**module) + ")" : part};
}

torch::Tensor Network::Events(std::int64_t rows) const
{
   std::vector<std::int64_t> sizes{rows};
   sizes.insert(sizes.end(), fShape.begin(), fShape.end());
   auto generator = at::detail::createCPUGenerator(1);
   return torch::randn(sizes, generator);
}

TensorList Network::Call(const torch::Tensor &events) const
{
   std::string what;
   try {
      return fFunction({events});
   } catch (const c10::Error &e) {
      what = e.what_without_backtrace();
   } catch (const std::exception &e) {
      what = e.what();
   } catch (...) {
      what = "something that is no std::exception";
   }
   throw std::runtime_error(fName + " throws for " + std::to_string(events.size(0)) + " events of shape " + Shown(fShape) +
                            ": " + what);
}

torch::Tensor Network::Outputs(bool training, std::int64_t rows) const
{
   const auto events = Events(rows);
   const Preserve preserve({events});
   const ModeScope mode(fModule.get(), training);
   const c10::InferenceMode normal(false);
   const torch::AutoGradMode gradients(training);
   const auto results = Call(events);
   CheckOutputs(results, rows, fName);
   if (training && !results[0].requires_grad())
      throw std::runtime_error(WhyNothingTrains());
   return results[0];
}

std::string Network::WhyNothingTrains() const
{
   const auto parameters = fModule ? fModule->parameters() : TensorList();
   if (parameters.empty())
      return fName + " has no parameters to train: use tensors that require a gradient (requires_grad), such as those of "
                     "torch::nn::Linear";
   const auto frozen = std::none_of(parameters.begin(), parameters.end(), [](const auto &one) { return one.requires_grad(); });
   return frozen ? "no parameter of " + fName + " requires a gradient, so that there is nothing to train: call requires_grad_() "
                                                "on those to train"
                 : "the outputs of " + fName + " have no derivatives with respect to its parameters: leave out what cuts them "
                                               "off (detach(), NoGradGuard, argmax)";
}

std::string LastActivation(const torch::Tensor &outputs)
{
   auto node = outputs.grad_fn();
   while (node && IsReshape(node->name()))
      node = node->next_edge(0).function;
   for (const std::string name : {"Sigmoid", "LogSigmoid", "Softmax"})
      if (node && node->name().rfind(name + "Backward", 0) == 0)
         return name;
   return "";
}

} // namespace Internal
} // namespace CladTorch
