#include "Devices.hxx"

#include <CladTorch/Torch/Guard.hxx>

#include "Observe.hxx"

#include "cladtorch/src/bridge/compiled.rs.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <mutex>
#include <stdexcept>

namespace CladTorch {
namespace Internal {

namespace {

std::string RandomBytes(torch::Device gpu)
{
   auto generator = at::globalContext().defaultGenerator(gpu);
   const std::lock_guard<std::mutex> lock(generator.mutex());
   const auto state = generator.get_state();
   return {static_cast<const char *>(state.const_data_ptr()), state.nbytes()};
}

} // namespace

torch::Device DeviceOf(const TensorList &tensors)
{
   return tensors.empty() ? torch::Device(torch::kCPU) : tensors.front().device();
}

std::optional<torch::Device> DeviceOf(const torch::jit::Value &value)
{
   const auto type = value.type()->cast<c10::TensorType>();
   return type ? type->device() : std::nullopt;
}

void CheckOneDevice(const TensorList &inputs)
{
   const auto device = DeviceOf(inputs);
   for (const auto &input : inputs)
      if (input.device() != device)
         throw Unobservable("its inputs lie on several devices, " + device.str() + " and " + input.device().str());
}

std::int32_t GpuNumber(torch::Device device)
{
   return device.is_cpu() ? -1 : device.index();
}

std::size_t CurrentStream(torch::Device device)
{
   if (device.is_cpu())
      return 0;
   // LibTorch's library for GPUs, which nothing links to, has registered these functions.
   const c10::impl::VirtualGuardImpl gpu(device.type());
   return reinterpret_cast<std::size_t>(gpu.getStreamNativeHandle(gpu.getStream(device)));
}

bool RandomState::operator!=(const RandomState &other) const
{
   const auto &a = fCpu, &b = other.fCpu;
   return a.left_ != b.left_ || a.next_ != b.next_ || a.state_ != b.state_ || fGpu != other.fGpu;
}

RandomState RandomStateNow(torch::Device device)
{
   RandomState now{{}, device.is_cpu() ? "" : RandomBytes(device)};
   auto generator = at::detail::getDefaultCPUGenerator();
   const std::lock_guard<std::mutex> lock(generator.mutex());
   now.fCpu = at::check_generator<at::CPUGeneratorImpl>(generator)->engine().data();
   return now;
}

} // namespace Internal

torch::Device OpenDevice(const std::string &name)
{
   return Internal::TorchGuard("CladTorch::OpenDevice", [&] {
      Core::device_open(name);
      const torch::Device device(name == "cuda" ? "cuda:0" : name);
      if (!device.is_cpu() && !at::globalContext().hasCUDA())
         throw std::runtime_error("LibTorch looked for GPUs before its library for them was loaded: call OpenDevice(\"" + name +
                                  "\") first of all in a new session");
      return device;
   });
}

} // namespace CladTorch
