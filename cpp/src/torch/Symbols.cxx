/// \file torch/Symbols.cxx
/// \brief The inline functions of LibTorch's headers as symbols of the library: see cpp/src/Symbols.cxx.

#include <CladTorch/Torch/Headers.hxx>

#include <vector>

template class std::vector<at::Tensor>;

namespace CladTorch {

// A function pointer is the one type of function that several macros share.
#define CLADTORCH_COMPILE(...) \
   template Compiled Compile(torch::Tensor (*)(__VA_ARGS__), const std::vector<torch::Tensor> &, const CompileOptions &);
CLADTORCH_COMPILE(torch::Tensor)
CLADTORCH_COMPILE(torch::Tensor, torch::Tensor)
CLADTORCH_COMPILE(torch::Tensor, torch::Tensor, torch::Tensor)
CLADTORCH_COMPILE(torch::Tensor, torch::Tensor, torch::Tensor, torch::Tensor)
CLADTORCH_COMPILE(const torch::Tensor &)
CLADTORCH_COMPILE(const torch::Tensor &, const torch::Tensor &)
CLADTORCH_COMPILE(const torch::Tensor &, const torch::Tensor &, const torch::Tensor &)
CLADTORCH_COMPILE(const torch::Tensor &, const torch::Tensor &, const torch::Tensor &, const torch::Tensor &)
CLADTORCH_COMPILE(const std::vector<torch::Tensor> &)

} // namespace CladTorch
