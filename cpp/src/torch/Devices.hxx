/// \file torch/Devices.hxx
/// \brief Where tensors lie, and what LibTorch has there: streams and random numbers.

#ifndef CLADTORCH_TORCH_DEVICES
#define CLADTORCH_TORCH_DEVICES

#include <CladTorch/Torch/LibTorch.hxx>

#include <ATen/core/MT19937RNGEngine.h>
#include <torch/csrc/jit/ir/ir.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace CladTorch {
namespace Internal {

/// The device of the first of these tensors; the CPU if there are none. Functions run on one device: see
/// CheckOneDevice().
torch::Device DeviceOf(const std::vector<torch::Tensor> &tensors);

/// The device of a recorded value, if LibTorch recorded it.
std::optional<torch::Device> DeviceOf(const torch::jit::Value &value);

/// Throws Unobservable if inputs are on several devices.
void CheckOneDevice(const std::vector<torch::Tensor> &inputs);

/// Number of a GPU for the core; -1 for the CPU.
std::int32_t GpuNumber(torch::Device device);

/// The address of LibTorch's current stream of this thread on a GPU; 0 for its default stream and for the CPU.
std::size_t CurrentStream(torch::Device device);

/// The state of LibTorch's random number generators.
struct RandomState {
   at::mt19937_data_pod fCpu;
   std::string fGpu; ///< its generator's bytes
   bool operator!=(const RandomState &other) const;
};

/// The state on the CPU, and on `device` if that is a GPU.
RandomState RandomStateNow(torch::Device device);

} // namespace Internal
} // namespace CladTorch

#endif
