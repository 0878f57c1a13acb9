/// \file torch/TorchScript.cxx
/// \brief Model::LoadTorchScript(): a network of a file, as LibTorch reads it.

#include <CladTorch/Model.hxx>
#include <CladTorch/Torch/Guard.hxx>

#include "CoreBox.hxx"
#include "FilePath.hxx"
#include "Interrupt.hxx"
#include "EventParts.hxx"
#include "LargeStack.hxx"
#include "Network.hxx"
#include "NetworkModel.hxx"
#include "ScriptGraph.hxx"
#include "ScriptOf.hxx"

#include "cladtorch/src/bridge/files.rs.h"

#include <caffe2/serialize/in_memory_adapter.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/passes/inliner.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/serialization/import.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace CladTorch {

using namespace Internal;

namespace {

/// The deepest nesting of modules, beyond that of any network.
constexpr int kDeepest = 100;

using Script = torch::jit::Module;
using torch::jit::Node;

std::string ClassOf(const Script &script)
{
   const auto name = script.type()->name();
   return name ? name->name() : "TorchScript";
}

/// Wraps a TorchScript module as one of torch::nn: the same parameters and buffers, under the same names, and its mode.
class ScriptModule : public torch::nn::Module {
public:
   explicit ScriptModule(Script script, int depth = 0) : Module(ClassOf(script)), fScript(std::move(script))
   {
      if (depth > kDeepest)
         throw std::runtime_error("has modules more than " + std::to_string(kDeepest) + " deep in one another");
      for (const auto &parameter : fScript.named_parameters(false))
         register_parameter(parameter.name, parameter.value, parameter.value.requires_grad());
      for (const auto &buffer : fScript.named_buffers(false))
         register_buffer(buffer.name, buffer.value);
      for (const auto &child : fScript.named_children())
         register_module(child.name, std::make_shared<ScriptModule>(child.value, depth + 1));
   }

   void train(bool on) override
   {
      Module::train(on);
      if (const auto slot = fScript._ivalue()->type()->findAttributeSlot("training"))
         fScript._ivalue()->setSlot(*slot, on);
   }

private:
   Script fScript;
};

/// Why an operator must not be in a network that is called any number of times; empty: it may be.
std::string WhyNot(const Node &node)
{
   using namespace torch::jit;
   const auto kind = node.kind();
   const std::string name = kind.toQualString();
   if (!kind.is_aten() && !kind.is_prim())
      return "calls " + name + ", which is no operator of LibTorch's";
   // Batch normalisation of PyTorch before 2.0 replaces its count of batches; nothing is computed from it.
   if (kind == prim::SetAttr && node.s(attr::name) != "num_batches_tracked")
      return "sets its attribute '" + node.s(attr::name) + "'";
   static const std::array<const char *, 9> kEffects{"aten::from_file", "aten::save", "aten::manual_seed", "prim::Print",
                                                     "prim::PythonOp", "prim::CallMethod", "prim::CallFunction", "prim::fork",
                                                     "prim::awaitable"};
   const auto isElsewhere = name.rfind("prim::rpc", 0) == 0 || node.hasAttribute(attr::Subgraph); // or in another thread
   return isElsewhere || std::find(kEffects.begin(), kEffects.end(), name) != kEffects.end() ? "calls " + name : "";
}

void CheckOperators(const torch::jit::Block &block)
{
   for (const auto *node : block.nodes()) {
      if (const auto why = WhyNot(*node); !why.empty())
         throw std::runtime_error("its forward " + why + ", and a model's network only computes: leave that out and save it again");
      for (const auto *inner : node->blocks())
         CheckOperators(*inner);
   }
}

void Check(const Script &script)
{
   const auto forward = script.find_method("forward");
   if (!forward)
      throw std::runtime_error(ClassOf(script) + " has no method forward");
   const auto graph = forward->graph()->copy();
   torch::jit::Inline(*graph);
   CheckOperators(*graph->block());
}

/// The network of an archive that the core has checked.
Script Load(const rust::Vec<std::uint8_t> &archive)
{
   const auto reader = std::make_shared<caffe2::serialize::MemoryReadAdapter>(archive.data(), static_cast<off_t>(archive.size()));
   return torch::jit::load(reader, torch::Device(torch::kCPU), false);
}

/// The network of the file at `path`, which torch.export or TorchScript wrote: calling the result makes the module.
std::function<Script()> Opened(const std::string &path)
{
   if (Core::is_exported(path))
      return [spec = std::make_shared<Core::ScriptSpec>(Core::exported_script(path))] { return ScriptOf(*spec); };
   return [archive = std::make_shared<rust::Vec<std::uint8_t>>(Core::torch_script(path))] { return Load(*archive); };
}

TensorList Tensors(const c10::IValue &value)
{
   if (value.isTensor())
      return {value.toTensor()};
   if (value.isTensorList())
      return value.toTensorVector();
   TensorList tensors;
   if (!value.isTuple())
      throw std::runtime_error("forward returns a value of type " + value.tagKind() + " instead of a tensor");
   for (const auto &element : value.toTupleRef().elements())
      for (const auto &tensor : Tensors(element))
         tensors.push_back(tensor);
   return tensors;
}

/// Its forward, each call of which runs the same operators: LibTorch's own executor would fuse some after the first
/// calls.
class ScriptForward {
public:
   explicit ScriptForward(const Script &script) : fScript(script), fSchema(script.get_method("forward").function().getSchema())
   {
      auto graph = ScriptGraph(script);
      auto asking = graph->copy();
      if (AnswerGradients(*graph))
         fAsking = std::make_shared<torch::jit::GraphExecutor>(std::move(asking), "forward");
      fExecutor = std::make_shared<torch::jit::GraphExecutor>(std::move(graph), "forward");
   }

   TensorList operator()(const TensorList &inputs)
   {
      auto results = Run(*fExecutor, inputs);
      if (fAsking && !torch::GradMode::is_enabled())
         Compare(results, Run(*std::exchange(fAsking, nullptr), inputs)); // once, before it is observed
      return results;
   }

private:
   TensorList Run(torch::jit::GraphExecutor &executor, const TensorList &inputs) const
   {
      const torch::jit::GraphOptimizerEnabledGuard plain(false);
      torch::jit::Stack stack{fScript._ivalue()};
      stack.insert(stack.end(), inputs.begin(), inputs.end());
      fSchema.checkAndNormalizeInputs(stack);
      executor.run(stack);
      return Tensors(stack.back());
   }

   static void Compare(const TensorList &results, const TensorList &others)
   {
      bool alike = results.size() == others.size();
      for (std::size_t i = 0; alike && i < results.size(); ++i)
         alike = results[i].sizes() == others[i].sizes() && AreAlike(results[i], others[i]);
      if (!alike)
         throw std::runtime_error("its forward gives other values where gradients are recorded (torch.is_grad_enabled()): leave the question "
                                  "out and save it again");
   }

   Script fScript;
   c10::FunctionSchema fSchema;
   std::shared_ptr<torch::jit::GraphExecutor> fExecutor, fAsking; ///< as written, if it tests for gradients
};

/// Features and outputs are not scaled, also in later fits.
void KeepScale(ModelData &model)
{
   const auto keep = [&](auto set, std::size_t count) {
      set(*model.fCore, Slice(std::vector<double>(count, 0)), Slice(std::vector<double>(count, 1)));
   };
   keep(Core::model_set_scaler, Core::model_inputs(*model.fCore));
   keep(Core::model_set_target_scaler, Core::model_outputs(*model.fCore));
}

/// Adds the file's name to exceptions.
template <class F>
std::shared_ptr<ModelData> OfFile(const std::string &given, F make)
{
   const auto path = FilePath(given);
   const auto open = Opened(path);
   std::string what;
   try {
      Script script;
      OnLargeStack([&] {
         script = open();
         Check(script);
      });
      auto model = make(ScriptForward(script), std::make_shared<ScriptModule>(script));
      KeepScale(*model);
      model->fTrained = true; // on unknown events
      return model;
   } catch (const c10::Error &e) {
      what = e.what_without_backtrace();
   } catch (const std::exception &e) {
      what = e.what();
   }
   throw std::runtime_error("network file " + path + ": " + what);
}

} // namespace

Model Model::LoadTorchScript(const std::string &path, const std::vector<std::size_t> &shape)
{
   return LongCall("CladTorch::Model::LoadTorchScript", [&] {
      return Model(OfFile(path, [&](auto forward, auto module) { return ModelOf(std::move(forward), module, shape); }), FromCore());
   });
}

Model Model::LoadTorchScript(const std::string &path, std::initializer_list<std::vector<std::size_t>> shapes)
{
   return LongCall("CladTorch::Model::LoadTorchScript", [&] {
      const std::vector<std::vector<std::size_t>> given(shapes);
      return Model(OfFile(path, [&](auto forward, auto module) { return ModelOf(std::move(forward), module, given); }), FromCore());
   });
}

} // namespace CladTorch
