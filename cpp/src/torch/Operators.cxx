// Operators registered with LibTorch's dispatcher: after the plugin is loaded, torch::jit and Python's torch.ops know
// them. Fully connected layers, compiled as CladTorch::Compile would.
//
//   cladtorch::linear_act(x [N, in], weight [out, in], bias [out], activation) -> [N, out]
//   cladtorch::mlp(x [N, in], [weight, bias, weight, bias, ...], activation) -> [N, out], no activation after the last
//
// Both are made of cladtorch::layers, which has kernels for the CPU and GPUs, for autograd and for shapes alone.

#include <CladTorch/Torch/Compile.hxx>

#include "CleanDispatch.hxx"

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/autograd/autograd_not_implemented_fallback.h>
#include <torch/library.h>

#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace {

using CladTorch::Compiled;
using CladTorch::Internal::CleanDispatch;
using Tensors = std::vector<torch::Tensor>;

torch::Tensor Activate(const std::string &name, const torch::Tensor &x)
{
   static const std::map<std::string, std::function<torch::Tensor(const torch::Tensor &)>> known = {
      {"identity", [](const torch::Tensor &z) { return z; }},
      {"relu", [](const torch::Tensor &z) { return z.relu(); }},
      {"leaky_relu", [](const torch::Tensor &z) { return torch::leaky_relu(z); }},
      {"tanh", [](const torch::Tensor &z) { return z.tanh(); }},
      {"sigmoid", [](const torch::Tensor &z) { return z.sigmoid(); }},
      {"silu", [](const torch::Tensor &z) { return torch::silu(z); }},
      {"gelu", [](const torch::Tensor &z) { return torch::gelu(z); }},
      {"softplus", [](const torch::Tensor &z) { return torch::softplus(z); }},
   };
   const auto found = known.find(name);
   TORCH_CHECK(found != known.end(), "activation '", name, "' is unknown: use identity, relu, leaky_relu, tanh, sigmoid, "
               "silu, gelu or softplus");
   return found->second(x);
}

void CheckParameters(at::TensorList parameters)
{
   TORCH_CHECK(!parameters.empty() && parameters.size() % 2 == 0, "the parameters are a weight and a bias for each layer, "
               "but ", parameters.size(), " tensors were given");
}

/// The function that is compiled: `tensors` are the input and the parameters.
torch::Tensor Evaluate(const Tensors &tensors, const std::string &activation, bool last)
{
   auto x = tensors.front();
   for (std::size_t i = 1; i + 1 < tensors.size(); i += 2) {
      x = torch::linear(x, tensors[i], tensors[i + 1]);
      if (last || i + 2 < tensors.size())
         x = Activate(activation, x);
   }
   return x;
}

Compiled &Layers(const Tensors &tensors, const std::string &activation, bool last)
{
   static std::mutex mutex;
   static std::map<std::pair<std::string, bool>, Compiled> compiled;
   const std::lock_guard<std::mutex> lock(mutex);
   const auto known = compiled.find({activation, last});
   if (known != compiled.end())
      return known->second;
   CladTorch::CompileOptions options;
   options.fName = "cladtorch::layers";
   const auto evaluate = [=](const Tensors &given) { return Evaluate(given, activation, last); };
   return compiled.emplace(std::make_pair(activation, last), CladTorch::Compile(evaluate, tensors, options)).first->second;
}

Tensors Joined(const torch::Tensor &x, at::TensorList parameters)
{
   CheckParameters(parameters);
   Tensors tensors{x.detach()};
   for (const auto &parameter : parameters)
      tensors.push_back(parameter.detach());
   return tensors;
}

// ---- kernels ----

torch::Tensor ComputeLayers(const torch::Tensor &x, at::TensorList parameters, c10::string_view activation, bool last)
{
   const CleanDispatch outside;
   const torch::NoGradGuard withoutGradients;
   const auto tensors = Joined(x, parameters);
   return Layers(tensors, std::string(activation), last).Call(tensors);
}

Tensors ComputeGradients(const torch::Tensor &adjoint, const torch::Tensor &x, at::TensorList parameters,
                      c10::string_view activation, bool last)
{
   const CleanDispatch outside;
   const auto tensors = Joined(x, parameters);
   const auto &layers = Layers(tensors, std::string(activation), last);
   layers.Forward(tensors);
   return layers.Backward({adjoint});
}

torch::Tensor LayersShape(const torch::Tensor &x, at::TensorList parameters, c10::string_view, bool)
{
   CheckParameters(parameters);
   TORCH_CHECK(x.dim() > 0, "the input has no dimension, but a layer takes [N, in] or [in]");
   auto shape = x.sym_sizes().vec();
   shape.back() = parameters[parameters.size() - 2].sym_size(0);
   return at::empty_symint(shape, x.options());
}

Tensors BackwardShape(const torch::Tensor &, const torch::Tensor &x, at::TensorList parameters, c10::string_view, bool)
{
   Tensors gradients{at::empty_symint(x.sym_sizes(), x.options())};
   for (const auto &parameter : parameters)
      gradients.push_back(at::empty_symint(parameter.sym_sizes(), parameter.options()));
   return gradients;
}

/// Dispatches again for both directions, so that substitutes for tensors (shapes alone, recorded functions) work.
struct LayersGradient : torch::autograd::Function<LayersGradient> {
   static torch::Tensor forward(torch::autograd::AutogradContext *context, const torch::Tensor &x,
                                at::TensorList parameters, const std::string &activation, bool last)
   {
      static const auto layers = c10::Dispatcher::singleton()
                                    .findSchemaOrThrow("cladtorch::layers", "")
                                    .typed<decltype(ComputeLayers)>();
      const at::AutoDispatchBelowADInplaceOrView below;
      auto saved = parameters.vec();
      saved.insert(saved.begin(), x);
      context->save_for_backward(std::move(saved));
      context->saved_data["activation"] = activation;
      context->saved_data["last"] = last;
      return layers.call(x, parameters, activation, last);
   }

   static Tensors backward(torch::autograd::AutogradContext *context, Tensors adjoints)
   {
      static const auto backward = c10::Dispatcher::singleton()
                                      .findSchemaOrThrow("cladtorch::layers_backward", "")
                                      .typed<decltype(ComputeGradients)>();
      const auto saved = context->get_saved_variables();
      auto gradients = backward.call(adjoints.front(), saved.front(), at::TensorList(saved).slice(1),
                                     context->saved_data["activation"].toStringView(),
                                     context->saved_data["last"].toBool());
      gradients.resize(gradients.size() + 2); // for the activation and `last`
      return gradients;
   }
};

torch::Tensor LayersWithGradient(const torch::Tensor &x, at::TensorList parameters, c10::string_view activation, bool last)
{
   return LayersGradient::apply(x, parameters, std::string(activation), last);
}

// ---- the public operators ----

torch::Tensor CallLayers(const torch::Tensor &x, at::TensorList parameters, c10::string_view activation, bool last)
{
   static const auto layers =
      c10::Dispatcher::singleton().findSchemaOrThrow("cladtorch::layers", "").typed<decltype(ComputeLayers)>();
   return layers.call(x, parameters, activation, last);
}

torch::Tensor LinearAct(const torch::Tensor &x, const torch::Tensor &weight, const std::optional<torch::Tensor> &bias,
                        c10::string_view activation)
{
   const Tensors parameters{weight, bias ? *bias : at::zeros_symint(weight.sym_sizes().slice(0, 1), weight.options())};
   return CallLayers(x, parameters, activation, true);
}

torch::Tensor MultilayerPerceptron(const torch::Tensor &x, at::TensorList parameters, c10::string_view activation)
{
   return CallLayers(x, parameters, activation, false);
}

} // namespace

TORCH_LIBRARY(cladtorch, library)
{
   library.def("linear_act(Tensor input, Tensor weight, Tensor? bias, str activation) -> Tensor", &LinearAct);
   library.def("mlp(Tensor input, Tensor[] parameters, str activation) -> Tensor", &MultilayerPerceptron);
   library.def("layers(Tensor input, Tensor[] parameters, str activation, bool last) -> Tensor");
   library.def("layers_backward(Tensor adjoint, Tensor input, Tensor[] parameters, str activation, bool last) -> Tensor[]");
}

TORCH_LIBRARY_IMPL(cladtorch, CPU, library)
{
   library.impl("layers", &ComputeLayers);
   library.impl("layers_backward", &ComputeGradients);
}

TORCH_LIBRARY_IMPL(cladtorch, CUDA, library)
{
   library.impl("layers", &ComputeLayers);
   library.impl("layers_backward", &ComputeGradients);
}

TORCH_LIBRARY_IMPL(cladtorch, Meta, library)
{
   library.impl("layers", &LayersShape);
   library.impl("layers_backward", &BackwardShape);
}

TORCH_LIBRARY_IMPL(cladtorch, Autograd, library)
{
   library.impl("layers", &LayersWithGradient);
   library.impl("layers_backward", torch::autograd::autogradNotImplementedFallback());
}
