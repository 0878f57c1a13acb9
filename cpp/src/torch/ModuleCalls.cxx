#include "ModuleCalls.hxx"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <stdexcept>

namespace CladTorch {
namespace Internal {

namespace {

/// Held from Begin() to End(). A network may call another one's model.
std::recursive_mutex gRunning;

/// Runs `f`; the core accepts only std::exception, and no stack trace.
template <class F>
void Called(const std::string &name, F f)
{
   try {
      f();
   } catch (const c10::Error &e) {
      throw std::runtime_error(name + ": " + e.what_without_backtrace());
   } catch (const std::exception &) {
      throw;
   } catch (...) {
      throw std::runtime_error(name + " throws something other than a std::exception");
   }
}


} // namespace

void PlacedTensors::Show(std::size_t i, const float *memory, const std::function<void(void *)> &keep) const
{
   fTensors[i].set_data(torch::from_blob(const_cast<float *>(memory), fShapes[i], keep, torch::kFloat32));
}

std::unique_lock<std::recursive_mutex> ModuleCalls::Idle()
{
   return std::unique_lock<std::recursive_mutex>(gRunning);
}

ModuleCalls::ModuleCalls(Network network) : fNetwork(std::move(network)) {}

void ModuleCalls::SetTensors(PlacedTensors tensors)
{
   fTensors = std::move(tensors);
   std::vector<Counter> each; // a normalisation that is called twice counts twice
   for (const auto &counter : fTensors.fCounters) {
      const auto &tensor = counter.fTensor;
      const auto known = std::find_if(each.begin(), each.end(), [&](const auto &one) { return one.fTensor.is_same(tensor); });
      if (known != each.end())
         known->fStep += counter.fStep;
      else if (tensor.numel() == 1 && tensor.scalar_type() == torch::kInt64)
         each.push_back(counter);
   }
   fTensors.fCounters = std::move(each);
   for (const auto &tensor : fTensors.fTensors)
      fTensors.fShapes.push_back(tensor.sizes().vec());
}

void ModuleCalls::Begin(std::size_t threads) const noexcept
{
   gRunning.lock();
   fThreads = at::get_num_threads();
   if (threads > 0)
      at::set_num_threads(static_cast<int>(std::min<std::size_t>(threads, 1 << 10)));
}

void ModuleCalls::Bind(const float *parameters, float *state) const
{
   const auto &[tensors, places, counters, shapes] = fTensors;
   for (std::size_t i = 0; i < tensors.size(); ++i) {
      fOwn.push_back(places[i].kind == kFixed ? torch::Tensor() : tensors[i].variable_data());
      if (places[i].kind == kFixed)
         continue;
      fTensors.Show(i, (places[i].kind == kParameter ? parameters : state) + places[i].start, [](void *) {});
   }
}

/// Sets the counters to their values after `step` batches of a fit.
void ModuleCalls::SetCounters(std::uint64_t step) const
{
   for (const auto &[tensor, each] : fTensors.fCounters) {
      auto &count = *tensor.data_ptr<std::int64_t>();
      fOwnCounts.push_back(count);
      count += each * static_cast<std::int64_t>(step);
   }
}

/// A copy of `x`, which the network may change, as [rows, shape...].
torch::Tensor ModuleCalls::Rows(rust::Slice<const float> x) const
{
   auto sizes = std::vector<std::int64_t>{-1};
   sizes.insert(sizes.end(), fNetwork.Shape().begin(), fNetwork.Shape().end());
   return torch::from_blob(const_cast<float *>(x.data()), {static_cast<std::int64_t>(x.size())}).clone().view(sizes);
}

void ModuleCalls::Forward(bool training, std::uint64_t seed, std::uint64_t step, rust::Slice<const float> x,
                          rust::Slice<const float> parameters, rust::Slice<float> state, rust::Slice<float> outputs) const
{
   Called(fNetwork.Name(), [&] {
      GiveBack();
      auto generator = at::detail::getDefaultCPUGenerator();
      {
         const std::lock_guard<std::mutex> lock(generator.mutex());
         fRandomState = generator.get_state();
         generator.set_current_seed(seed);
      }
      Bind(parameters.data(), state.data());
      SetCounters(step);
      const c10::InferenceMode normal(false);
      const torch::AutoGradMode gradients(training);
      const ModeScope mode(fNetwork.Module(), training);
      const auto results = fNetwork.Call(Rows(x));
      if (static_cast<std::size_t>(results.numel()) != outputs.size())
         throw std::runtime_error(fNetwork.Name() + " gives " + std::to_string(results.numel()) + " elements instead of " +
                                  std::to_string(outputs.size()));
      const auto plain = results.detach().contiguous();
      std::copy_n(plain.data_ptr<float>(), outputs.size(), outputs.data());
      if (training)
         fOutputs = results;
   });
}

void ModuleCalls::Backward(rust::Slice<const float> adjoint, rust::Slice<float> gradient) const
{
   Called(fNetwork.Name(), [&] {
      const c10::InferenceMode normal(false);
      const auto &[tensors, places, counters, shapes] = fTensors;
      TensorList leaves;
      std::vector<std::size_t> starts;
      for (std::size_t i = 0; i < tensors.size(); ++i)
         if (places[i].kind == kParameter) {
            leaves.push_back(tensors[i]);
            starts.push_back(places[i].start);
         }
      const auto given = torch::from_blob(const_cast<float *>(adjoint.data()), fOutputs.sizes());
      const auto found = torch::autograd::grad({fOutputs}, leaves, {given}, false, false, true);
      for (std::size_t i = 0; i < leaves.size(); ++i) {
         auto *to = gradient.data() + starts[i];
         const auto count = static_cast<std::size_t>(leaves[i].numel());
         if (found[i].defined()) {
            const auto plain = found[i].contiguous();
            std::copy_n(plain.data_ptr<float>(), count, to);
         } else {
            std::fill_n(to, count, 0.0f);
         }
      }
   });
}

void ModuleCalls::Gradient(rust::Slice<const float> x, rust::Slice<const float> parameters, rust::Slice<float> state,
                           rust::Slice<float> gradient) const
{
   Called(fNetwork.Name(), [&] {
      GiveBack();
      Bind(parameters.data(), state.data());
      const c10::InferenceMode normal(false);
      const torch::AutoGradMode gradients(true);
      const ModeScope mode(fNetwork.Module(), false);
      const auto events = Rows(x).requires_grad_();
      const auto rows = events.size(0);
      const auto outputs = fNetwork.Call(events.clone()).view({rows, -1}); // events are a leaf, which no network may change
      const auto all = torch::from_blob(gradient.data(), {rows, outputs.size(1), static_cast<std::int64_t>(gradient.size()) / (rows * outputs.size(1))});
      for (std::int64_t output = 0; output < outputs.size(1); ++output) {
         torch::Tensor found; // undefined if the output does not depend on the events
         if (outputs.requires_grad())
            found = torch::autograd::grad({outputs.select(1, output).sum()}, {events}, {}, true, false, true)[0];
         auto to = all.select(1, output);
         if (found.defined())
            to.copy_(found.reshape({rows, -1}));
         else
            to.zero_();
      }
   });
}

void ModuleCalls::GiveBack() const
{
   fOutputs.reset();
   for (std::size_t i = 0; i < fOwn.size(); ++i)
      if (fOwn[i].defined())
         fTensors.fTensors[i].set_data(fOwn[i]);
   fOwn.clear();
   for (std::size_t i = 0; i < fOwnCounts.size(); ++i)
      *fTensors.fCounters[i].fTensor.data_ptr<std::int64_t>() = fOwnCounts[i];
   fOwnCounts.clear();
   if (fRandomState.defined()) {
      auto generator = at::detail::getDefaultCPUGenerator();
      const std::lock_guard<std::mutex> lock(generator.mutex());
      generator.set_state(fRandomState);
      fRandomState.reset();
   }
}

void ModuleCalls::End() const noexcept
{
   GiveBack();
   at::set_num_threads(fThreads);
   gRunning.unlock();
}

} // namespace Internal
} // namespace CladTorch
