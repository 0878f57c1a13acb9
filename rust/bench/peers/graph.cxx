// The sides in C++ of `cargo xtask bench graph`: `graph eager|direct|jit|function|operator|node THREADS`.
//
// eager: LibTorch. direct: CladTorch::Compile, Forward() and Backward(). jit: the same with that back end required.
// function: the compiled function inside LibTorch's autograd. operator: `cladtorch::mlp` inside it. node: a node of LibTorch's
// autograd graph that computes nothing, with value and gradient of the case `call` at hand.
// A repetition is the value and the gradients of all inputs that are numbers.

#include "graphs.h"
#include "lines.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/autograd/functions/utils.h>

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>

namespace {

/// The perceptron by the operator, the loss by LibTorch.
torch::Tensor PerceptronByOperator(const Tensors &t)
{
   static const auto mlp = c10::Dispatcher::singleton()
                              .findSchemaOrThrow("cladtorch::mlp", "")
                              .typed<torch::Tensor(const torch::Tensor &, at::TensorList, c10::string_view)>();
   return torch::binary_cross_entropy_with_logits(mlp.call(t[0], at::TensorList(t).slice(1, 6), "relu"), t[7]);
}

struct Node : torch::autograd::Node {
   torch::Tensor fGradient;
   torch::autograd::variable_list apply(torch::autograd::variable_list &&) override { return {fGradient}; }
};

struct Side {
   std::string fWho;
   int fThreads;
};

class Run {
   Graph fGraph;
   Tensors fInputs, fNumbers;
   CladTorch::CompileOptions fOptions;
   std::optional<CladTorch::Compiled> fCompiled;
   std::function<Tensors()> fGradients; ///< also sets fValue
   torch::Tensor fValue;
   const torch::Tensor fOne = torch::ones({});

public:
   Run(const Side &side, const std::string &name, std::int64_t rows) : fGraph(Graphs().at(name))
   {
      const bool recorded = side.fWho != "direct" && side.fWho != "jit";
      for (const auto &input : fGraph.fInputs(rows)) {
         fInputs.push_back(input.Make(fInputs.size()));
         if (!input.fClasses)
            fNumbers.push_back(fInputs.back().set_requires_grad(recorded));
      }
      fOptions.fName = name;
      fOptions.fTimeLimit = 300;
      if (side.fWho == "jit")
         fOptions.fBackEnd = CladTorch::kJitBackEnd;
      if (side.fWho == "eager")
         fGradients = [this] { return Recorded(fGraph.fFunction); };
      else if (side.fWho == "operator")
         fGradients = [this] { return Recorded(PerceptronByOperator); };
      else if (side.fWho == "function")
         fGradients = [this] { return Recorded([this](const Tensors &inputs) { return Compiled().Call(inputs); }); };
      else if (side.fWho == "node")
         fGradients = [this, value = fGraph.fFunction(fInputs).detach(), gradient = Recorded(fGraph.fFunction).at(0)] {
            return Recorded([&](const Tensors &inputs) {
               const std::shared_ptr<Node> node(new Node, torch::autograd::deleteNode);
               node->set_next_edges(torch::autograd::collect_next_edges(inputs));
               node->fGradient = gradient;
               auto output = value.detach();
               torch::autograd::set_history(output, node);
               return output;
            });
         };
      else
         fGradients = [this] {
            fValue = Compiled().Forward(fInputs);
            return Compiled().Backward({fOne});
         };
   }

   /// Seconds per repetition. The very first one compiles.
   double Round(std::int64_t steps)
   {
      const auto start = std::chrono::steady_clock::now();
      for (std::int64_t step = 0; step < steps; ++step)
         fGradients();
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / steps;
   }

   /// The value plus the mean magnitude of each gradient.
   double Check()
   {
      double sum = 0;
      for (const auto &gradient : fGradients())
         if (gradient.defined())
            sum += gradient.abs().mean().item<double>();
      return sum + fValue.item<double>();
   }

private:
   /// Compiled on first use.
   const CladTorch::Compiled &Compiled()
   {
      if (!fCompiled)
         fCompiled = CladTorch::Compile(fGraph.fFunction, fInputs, fOptions);
      return *fCompiled;
   }

   template <class F>
   Tensors Recorded(F &&function)
   {
      fValue = function(fInputs);
      return torch::autograd::grad({fValue}, fNumbers);
   }
};

} // namespace

int main(int, char **arguments)
{
   const Side side{arguments[1], std::stoi(arguments[2])};
   torch::set_num_threads(side.fThreads);
   std::unique_ptr<Run> run;
   Serve([&](const std::string &verb, Values &values) -> std::string {
      if (verb == "case") {
         run.reset();
         run = std::make_unique<Run>(side, values.at("graph"), std::stoll(values.at("batch")));
         return "ready";
      }
      if (run && verb == "round")
         return Said("time", run->Round(std::stoll(values.at("steps"))));
      if (run && verb == "check")
         return Said("check", run->Check());
      throw std::invalid_argument("no request '" + verb + "' now");
   });
}
