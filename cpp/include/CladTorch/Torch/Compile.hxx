/// \file CladTorch/Torch/Compile.hxx
/// \brief A function written with LibTorch, observed once and run with gradients made by Clad.

#ifndef CLADTORCH_TORCH_COMPILE
#define CLADTORCH_TORCH_COMPILE

#include <CladTorch/Torch/LibTorch.hxx>

#include <cstddef>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

struct _object; // Python's PyObject

namespace CladTorch {

/// The back end that runs a compiled function. For tensors on a GPU it is cuda, kernels with Clad's derivatives that NVRTC compiles for
/// this graph, or LibTorch.
enum EBackEnd {
   kAnyBackEnd = 0,      ///< aot, which needs no compiler, or cuda; operators that it does not support, or all, run on LibTorch
   kAotBackEnd = 1,      ///< kernels with Clad's derivatives, part of the plugin; for tensors on the CPU
   kJitBackEnd = 2,      ///< one C++ function written and differentiated by Clad for this graph; needs clang and Clad; on the CPU
   kAutogradBackEnd = 3, ///< LibTorch itself
   kFastestBackEnd = 4,  ///< jit, which takes seconds to compile once; otherwise as kAnyBackEnd
};

/// How to compile.
struct CompileOptions {
   std::string fName = "function";  ///< in messages, in Print() and in generated code
   EBackEnd fBackEnd = kAnyBackEnd; ///< throws if the chosen one does not support the function
   double fTimeLimit = 60;          ///< seconds for compiling one set of shapes (not by NVRTC); Ctrl-C ends it too
   /// Compiles for any number of rows: the first dimension of the first input, and of every input of the same length.
   /// The function is observed once, with three numbers of rows of at least 2. The graph for any other number is
   /// derived and compared with one run of the function, so that a last, smaller batch needs neither a full observation
   /// nor a compiler: jit's function serves the number of rows of the examples, aot all others. Compile throws, and
   /// names the operator, if the three graphs differ in more than the number of rows. Inputs of 0 or 1 rows, inputs that
   /// are not contiguous, and numbers of rows for which the function behaves differently are observed separately, as is
   /// every number of rows of a function that is split. On a GPU NVRTC compiles for each number of rows. Other numbers
   /// of rows are tried even if you never call it with them: if LibTorch refuses one inside a `return {a, b};`, ROOT's
   /// interpreter crashes (assign `a` and `b` to variables first).
   bool fDynamicBatch = false;

   /// Called by PyROOT when it meets this class: checks the names and types of fields, copies.
   static void __cppyy_pythonize__(_object *pyclass, const std::string &name);
};

namespace Internal {
struct CompiledData;
using TensorList = std::vector<torch::Tensor>;
using ListFunction = std::function<TensorList(const TensorList &)>;
} // namespace Internal

/// A compiled function of tensors, made by CladTorch::Compile.
///
/// Results have the shapes and types that the function returns, in dense memory in the order of their dimensions:
/// `y.t()` of a result is not contiguous, where LibTorch's may be. Without gradients, an element-wise function of tensors that all lie
/// in memory in another order (`x.t()`) returns its results in that order, as LibTorch does: call contiguous() before data_ptr().
///
/// It is specialised for the dtype, shape, strides and device of its inputs and captured tensors, and for which of them
/// require gradients: a call that differs in any of these compiles another specialisation. At most 256 are kept: then
/// a few calls with other shapes replace the oldest, and LibTorch runs the rest. Captured tensors (parameters of a torch::nn module,
/// running statistics), and whether they require gradients, are read at each call. Copies share everything. All methods
/// are thread-safe and throw CladTorch::Error; while one thread compiles for new shapes, others run existing
/// specialisations. Batches whose rows are independent are processed in blocks, on torch::get_num_threads() threads;
/// kernels sum over blocks in a fixed order, for the same bits with any number of threads. Sums of operators that are
/// left to LibTorch (back ends "split" and "autograd") may depend on that number, as in LibTorch. In a forked process
/// these operators, and compiling for new shapes, wait forever for LibTorch's threads unless torch::set_num_threads(1)
/// was called there. On a GPU kernels run on LibTorch's current stream, and a call returns before they have run, unless
/// it checks indices.
class Compiled {
public:
   /// \param module Owned by `function`: each call checks whether it and its submodules are in training mode.
   Compiled(Internal::ListFunction function, const std::vector<torch::Tensor> &examples, const CompileOptions &options,
            const torch::nn::Module *module = nullptr);
   // Not movable: a moved-from object would hold a null pointer.
   Compiled(const Compiled &) = default;
   Compiled &operator=(const Compiled &) = default;

   /// The value of a function that returns one tensor. Autograd does not record it; what Backward() needs for all
   /// floating-point inputs is kept for this thread until its next Forward(). Throws if LibTorch runs the function and
   /// cannot differentiate it by one of these inputs (a loss by its event weights, for example): then call the object
   /// itself, with inputs that require only the gradients you want.
   torch::Tensor Forward(const std::vector<torch::Tensor> &inputs) const;
   /// The same for any number of returned tensors.
   std::vector<torch::Tensor> ForwardAll(const std::vector<torch::Tensor> &inputs) const;

   /// Gradients of the sum over the outputs of `adjoints` times output with respect to each input of this thread's last
   /// Forward(), contiguous; an undefined tensor for an input that is not of floating point.
   /// \param adjoints One for each output, of its shape and type.
   /// Throws if an input was changed in place since; LibTorch does not track changes of inference-mode tensors.
   std::vector<torch::Tensor> Backward(const std::vector<torch::Tensor> &adjoints) const;

   /// The derivative of every element that the function returns by every element of each input: for an output of shape
   /// S and an input of shape T a tensor of shape [S..., T...]; undefined for an input that is not of floating point.
   /// Takes one backward pass per returned element. Example: the derivative of each score by a calibration constant.
   std::vector<torch::Tensor> Jacobian(const std::vector<torch::Tensor> &inputs) const;
   /// For a function that returns one number: its matrix of second derivatives times `directions`, of the shapes of the
   /// inputs. LibTorch's autograd computes it from the function itself: compiled functions have first derivatives
   /// only.
   std::vector<torch::Tensor>
   HessianVector(const std::vector<torch::Tensor> &inputs, const std::vector<torch::Tensor> &directions) const;

   /// The value as part of LibTorch's autograd graph: gradients flow to the inputs and captured parameters that require
   /// them. LibTorch itself computes second derivatives.
   template <class... Tensors>
   torch::Tensor operator()(const Tensors &...inputs) const
   {
      return Call({inputs...});
   }
   /// The same for a list of inputs.
   torch::Tensor Call(const std::vector<torch::Tensor> &inputs) const;
   /// The same for any number of returned tensors.
   std::vector<torch::Tensor> CallAll(const std::vector<torch::Tensor> &inputs) const;

   /// Prints, for each specialisation, operators, shapes, memory, the back end, and the reason for it.
   void Print() const;
   /// Discards all specialisations: the next call observes the function again. Call it after changes that a call cannot
   /// detect: of a number or flag that the function captures, of the tensor that a captured variable refers to (w = v;
   /// in-place changes are detected), of the mode (train() or eval()) of a module that a lambda captures.
   void Reset() const;
   /// The back end for inputs like the examples: "aot", "jit", "cuda", "split" (kernels, and LibTorch for the operators that
   /// they do not support) or "autograd" (LibTorch for everything).
   std::string BackEnd() const;
   /// Why no faster back end was used; empty if there is no such reason.
   std::string Reason() const;
   /// The C++ function that the jit back end compiled for inputs like the examples, and Clad's derivative of it, or the kernels
   /// of the back end cuda, for reading; empty with other back ends, which compile nothing.
   std::string Code() const;
   /// The number of specialisations, at most 256.
   std::size_t Specialisations() const;

   /// Called by PyROOT when it meets this class: checks and names arguments, copies.
   static void __cppyy_pythonize__(_object *pyclass, const std::string &name);

private:
   std::shared_ptr<Internal::CompiledData> fData;
};

namespace Internal {

/// The most tensors that a function may take one by one.
constexpr std::size_t kMostTensors = 8;

template <std::size_t>
using OneTensor = const torch::Tensor &;

template <class F, class Numbers>
struct TakesTensors;
template <class F, std::size_t... I>
struct TakesTensors<F, std::index_sequence<I...>> : std::is_invocable<F &, OneTensor<I>...> {};

/// The smallest number of tensors, from N on, with which F can be called; 0 if there is none.
template <class F, std::size_t N = 1>
constexpr std::size_t Fewest()
{
   if constexpr (TakesTensors<F, std::make_index_sequence<N>>::value)
      return N;
   else if constexpr (N < kMostTensors)
      return Fewest<F, N + 1>();
   else
      return 0;
}

/// Whether the body of F is compiled for each number of tensors that is tried, as for a generic lambda.
template <class F, class = void>
struct IsGeneric : std::is_class<F> {};
template <class F>
struct IsGeneric<F, std::void_t<decltype(&F::operator())>> : std::false_type {};

/// The greatest number of tensors, from N on, with which F can be called: more than N where it has default arguments.
template <class F, std::size_t N>
constexpr std::size_t Most()
{
   if constexpr (IsGeneric<F>::value || N == kMostTensors)
      return N;
   else if constexpr (TakesTensors<F, std::make_index_sequence<N + 1>>::value)
      return Most<F, N + 1>();
   else
      return N;
}

inline TensorList AsList(torch::Tensor value)
{
   return {std::move(value)};
}
inline TensorList AsList(TensorList values)
{
   return values;
}
/// Of tensors, lists and tuples: those of nn::LSTM lie within one another.
template <class... Values>
TensorList AsList(const std::tuple<Values...> &values)
{
   TensorList all;
   const auto add = [&](TensorList list) { all.insert(all.end(), list.begin(), list.end()); };
   std::apply([&](const auto &...value) { (add(AsList(value)), ...); }, values);
   return all;
}

template <class R, class = void>
struct IsResult : std::false_type {};
template <class R>
struct IsResult<R, std::void_t<decltype(AsList(std::declval<R>()))>> : std::true_type {};

/// The results of `function` for these inputs.
template <class F, class... Inputs>
TensorList ResultsOf(F &function, const Inputs &...inputs)
{
   using R = decltype(function(inputs...));
   static_assert(IsResult<R>::value, "a function for CladTorch::Compile has to return a torch::Tensor, or a std::vector or std::tuple "
                                     "of them; one number is a tensor, too: return x.sum(), not x.sum().item<double>()");
   if constexpr (IsResult<R>::value)
      return AsList(function(inputs...));
}

template <class F, std::size_t... I>
TensorList ResultsOfEach(F &function, const TensorList &inputs, std::index_sequence<I...>)
{
   return ResultsOf(function, inputs[I]...);
}

[[noreturn]] inline void RefuseNumber(std::size_t fewest, std::size_t most, std::size_t given, bool isGeneric)
{
   const auto takes = (fewest < most ? std::to_string(fewest) + " to " : "") + std::to_string(most);
   throw std::invalid_argument("the function takes " + takes + (most == 1 ? " tensor, but " : " tensors, but ") +
                               std::to_string(given) + (given == 1 ? " was given" : " were given") +
                               (isGeneric ? "; for any number of them (auto... t) write a function of a std::vector" : ""));
}

/// The results of a function that takes kFewest to kMost tensors, tried from N on.
template <class F, std::size_t kFewest, std::size_t kMost, std::size_t N = kFewest>
TensorList Unpacked(F &function, const TensorList &inputs)
{
   if (inputs.size() == N)
      return ResultsOfEach(function, inputs, std::make_index_sequence<N>());
   if constexpr (N < kMost)
      return Unpacked<F, kFewest, kMost, N + 1>(function, inputs);
   else
      RefuseNumber(kFewest, kMost, inputs.size(), IsGeneric<F>::value);
}

template <class F, class = void>
struct IsModule : std::is_base_of<torch::detail::ModuleHolderIndicator, F> {};
template <class M>
struct IsModule<std::shared_ptr<M>, std::enable_if_t<std::is_base_of_v<torch::nn::Module, M>>> : std::true_type {};

/// Throws that a function or module is a null pointer.
void RefuseNull(const std::string &what);

template <class M>
std::shared_ptr<M> ModulePointer(std::shared_ptr<M> module)
{
   if (!module)
      RefuseNull("module");
   return module;
}
template <class M>
std::shared_ptr<M> ModulePointer(const torch::nn::ModuleHolder<M> &module)
{
   return module.ptr();
}

/// Turns any function of tensors into a function of a list.
template <class F>
ListFunction AsListFunction(F function)
{
   if constexpr (std::is_pointer_v<F>)
      if (!function)
         RefuseNull("function");
   constexpr auto fewest = Fewest<F>(); // first, because a generic lambda accepts any number of arguments
   if constexpr (fewest > 0)
      return [function = std::move(function)](const TensorList &inputs) mutable {
         return Unpacked<F, fewest, Most<F, fewest>()>(function, inputs);
      };
   else if constexpr (std::is_invocable_v<F &, const TensorList &>)
      return [function = std::move(function)](const TensorList &inputs) mutable { return ResultsOf(function, inputs); };
   else
      static_assert(fewest > 0, "CladTorch::Compile takes a function of one to eight torch::Tensor, by value or const reference, or of a "
                                "std::vector of them; a lambda captures numbers: [k](torch::Tensor x) { return k * x; }");
}

} // namespace Internal

/// The device "cpu", "cuda" or "cuda:N", ready for tensors: `x.to(CladTorch::OpenDevice("cuda:0"))`. It loads LibTorch's library for
/// GPUs, as Python's `import torch` does. Call it before any other use of LibTorch, which looks for that library only
/// once. Throws if there is no such device, and says what is missing.
torch::Device OpenDevice(const std::string &name);

/// Observes `function` and compiles it, with gradients.
///
/// ~~~{.cpp}
/// torch::Tensor my_graph(torch::Tensor x, torch::Tensor w) { return x.matmul(w).relu().sum(); }
/// auto compiled = CladTorch::Compile(my_graph, {x, w});
/// auto y = compiled.Forward({x, w});
/// auto gradients = compiled.Backward({torch::ones_like(y)}); // for x and w
/// ~~~
///
/// \param function Takes one to eight `torch::Tensor`, some of which may have defaults, or a `std::vector` of them, and returns
///        a tensor, a vector or a tuple of tensors; or a module of torch::nn (`torch::nn::Sequential net`, not a reference to it), whose
///        train() and eval() are then followed, but not other submodules, options (`Dropout`'s `p`) or tensors that are
///        assigned to its members: call Reset() after such a change. A function that is more than operators on its inputs and captured
///        tensors runs on LibTorch, and Reason() names the obstacle: values read out of tensors (item(), data_ptr())
///        and branches on them, results whose shape depends on values, custom autograd functions, hooks, gradients
///        switched off or on, changes of inputs and captured tensors, random numbers other than dropout's, results that
///        are inputs, tensors that it computes from its inputs and keeps (in a member, a list), operators that differ
///        from call to call (a counter). A call of kernels computes only the results: side effects of the function
///        (printing, counting, filling a histogram) occur while it is observed, not at a call. Plain
///        numbers that a function captures, and captured tensors that it reads by their address, cannot be tracked: see
///        Reset(). Nor can branches on the place of an input in memory: is_same(), storage_offset().
/// \param examples Inputs to observe it with, all on the CPU or all on one GPU. The function runs a few times, with gradients and without,
///        and on other values of the same shapes, positive-definite for symmetric matrices. Changes of tensors by operators and of LibTorch's
///        random state are undone: other threads may draw the same random numbers again. Tensors that the function creates and
///        keeps stay, and so does state that it replaces (`h = ...`, `set_data()`) or writes by its address: with
///        fBackEnd = kAutogradBackEnd it is not run here. A function of a vector is called with as many tensors as there are
///        examples.
/// \param options Back end and its limits. A function that no back end supports runs on LibTorch's autograd; Print()
///        gives the reason.
template <class F>
Compiled Compile(F function, const std::vector<torch::Tensor> &examples, const CompileOptions &options = {})
{
   if constexpr (Internal::IsModule<F>::value) {
      const auto module = Internal::ModulePointer(function);
      const auto forward = [module](const auto &...inputs) -> decltype(module->forward(inputs...)) {
         return module->forward(inputs...);
      };
      return Compiled(Internal::AsListFunction(forward), examples, options, module.get());
   } else {
      return Compiled(Internal::AsListFunction(std::move(function)), examples, options);
   }
}

} // namespace CladTorch

#endif
