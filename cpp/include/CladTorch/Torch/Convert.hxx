/// \file CladTorch/Torch/Convert.hxx
/// \brief LibTorch tensors from ROOT's containers and back.
///
/// | from | to | copies |
/// |---|---|---|
/// | FloatView (Dataset, Mlp) | AsTensor | no; the tensor keeps the memory alive |
/// | RVec, TMatrixT, TH1, TH2 | AsTensor | no; they must outlive the tensor |
/// | RVec passed by std::move | AsTensor | no; the tensor owns the memory |
/// | data frame | ToTensor | once, in one event loop |
/// | tensor | AsRVec | no; the tensor must outlive it |
/// | tensor | ToRVec, ToMatrix, SetContents | yes |
/// | tensor | ToDataFrame | no; the data frame keeps the tensor alive |
///
/// `AsTensor(x).clone()` makes an independent copy. Functions that pass a tensor to ROOT take dense CPU tensors of
/// exactly the type they name: convert with `.to(torch::kFloat32)` or `.cpu()`. Tensors with a pending negation or
/// conjugation (`torch::imag(z.conj())`) are copied. All functions throw CladTorch::Error.

#ifndef CLADTORCH_TORCH_CONVERT
#define CLADTORCH_TORCH_CONVERT

#include <CladTorch/Dataset.hxx>
#include <CladTorch/Torch/Guard.hxx>
#include <CladTorch/View.hxx>

#include <ROOT/RDataFrame.hxx>
#include <ROOT/RVec.hxx>
#include <TArrayD.h>
#include <TArrayF.h>
#include <TArrayI.h>
#include <TH1.h>
#include <TMatrixT.h>

#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace CladTorch {

namespace Internal {

/// Throws unless `tensor` is a CPU tensor of T's type and `rank` dimensions (any where negative).
template <class T>
void CheckTensor(const torch::Tensor &tensor, int rank = -1)
{
   constexpr auto type = c10::CppTypeToScalarType<T>::value;
   TORCH_CHECK(tensor.defined(), "the tensor is undefined");
   TORCH_CHECK(tensor.is_cpu() && tensor.layout() == torch::kStrided, "the tensor is on ", tensor.device(),
               " or sparse, but ROOT takes dense tensors on the CPU: move it with .cpu()");
   TORCH_CHECK(tensor.scalar_type() == type, "the tensor is of type ", tensor.scalar_type(), " instead of ", type,
               ": convert it with .to(torch::k", type, ")");
   TORCH_CHECK(rank < 0 || tensor.dim() == rank, "the tensor has ", tensor.dim(), " dimensions instead of ", rank);
}

/// Contiguous, with pending negations and conjugations applied.
inline torch::Tensor Dense(const torch::Tensor &tensor)
{
   return tensor.resolve_neg().resolve_conj().contiguous();
}

/// `data` as a tensor that keeps `owner` alive.
template <class T, class Owner>
torch::Tensor Wrap(const T *data, c10::IntArrayRef shape, c10::IntArrayRef strides, Owner owner)
{
   // LibTorch has no read-only tensors.
   return torch::from_blob(const_cast<T *>(data), shape, strides, [owner = std::move(owner)](void *) mutable {},
                           torch::dtype(c10::CppTypeToScalarType<T>::value));
}

} // namespace Internal

/// [rows, columns], or [rows] of a list, float32, sharing the memory of the view. The dataset or model uses it too:
/// `clone()` the tensor before you change it in place.
inline torch::Tensor AsTensor(const FloatView &view)
{
   return Internal::TorchGuard("CladTorch::AsTensor", [&] {
      const auto rows = static_cast<std::int64_t>(view.Rows()), columns = static_cast<std::int64_t>(view.Columns());
      if (view.Rank() == 1)
         return Internal::Wrap(view.Data(), {rows}, {1}, view);
      return Internal::Wrap(view.Data(), {rows, columns}, {columns, 1}, view);
   });
}

/// [size], sharing the memory of `values`, which must outlive the tensor and keep its size.
template <class T>
torch::Tensor AsTensor(ROOT::RVec<T> &values)
{
   return Internal::TorchGuard("CladTorch::AsTensor", [&] {
      return Internal::Wrap(values.data(), {static_cast<std::int64_t>(values.size())}, {1}, nullptr);
   });
}

/// [size], owning the elements of `values`.
template <class T>
torch::Tensor AsTensor(ROOT::RVec<T> &&values)
{
   return Internal::TorchGuard("CladTorch::AsTensor", [&] {
      auto owner = std::make_shared<ROOT::RVec<T>>(std::move(values)); // small ones are stored inside it
      return Internal::Wrap(owner->data(), {static_cast<std::int64_t>(owner->size())}, {1}, owner);
   });
}

/// [rows, columns], sharing the elements of `matrix`, which must outlive the tensor and keep its shape.
template <class T>
torch::Tensor AsTensor(TMatrixT<T> &matrix)
{
   return Internal::TorchGuard("CladTorch::AsTensor", [&] {
      return Internal::Wrap(matrix.GetMatrixArray(), {matrix.GetNrows(), matrix.GetNcols()}, {matrix.GetNcols(), 1},
                            nullptr);
   });
}

namespace Internal {

/// All bins of a histogram as [x], [x, y] or [x, y, z] with strides: ROOT's x is the fastest.
template <class T>
torch::Tensor Bins(T *contents, const TH1 &histogram, bool flow)
{
   std::vector<std::int64_t> shape{histogram.GetNbinsX() + 2}, strides{1};
   if (histogram.GetDimension() > 1)
      shape.push_back(histogram.GetNbinsY() + 2), strides.push_back(shape[0]);
   if (histogram.GetDimension() > 2)
      shape.push_back(histogram.GetNbinsZ() + 2), strides.push_back(shape[0] * shape[1]);
   auto bins = Wrap(contents, shape, strides, nullptr);
   for (std::size_t d = 0; !flow && d < shape.size(); ++d)
      bins = bins.narrow(static_cast<std::int64_t>(d), 1, shape[d] - 2);
   return bins;
}

} // namespace Internal

/// The bin contents of a TH1, TH2 or TH3 of type F, D or I: [x], [x, y] or [x, y, z], with strides, sharing the
/// histogram's memory. The histogram must outlive the tensor and keep its bins; entries that it buffers to choose its
/// range are filled in first.
/// \param flow With underflow and overflow, as the first and last bin along each axis.
/// Throws for a TProfile, whose bins are sums, and for bins of other types.
inline torch::Tensor AsTensor(TH1 &histogram, bool flow = false)
{
   return Internal::TorchGuard("CladTorch::AsTensor", [&]() -> torch::Tensor {
      for (const auto &[profile, projection] :
           {std::pair("TProfile", "ProjectionX()"), std::pair("TProfile2D", "ProjectionXY()"),
            std::pair("TProfile3D", "ProjectionXYZ()")})
         TORCH_CHECK(!histogram.InheritsFrom(profile), "histogram ", histogram.GetName(), " is a ", profile, ", which keeps ",
                     "sums instead of means: use its ", projection);
      if (histogram.GetBuffer())
         histogram.BufferEmpty(1);
      if (auto *floats = dynamic_cast<TArrayF *>(&histogram))
         return Internal::Bins(floats->fArray, histogram, flow);
      if (auto *doubles = dynamic_cast<TArrayD *>(&histogram))
         return Internal::Bins(doubles->fArray, histogram, flow);
      if (auto *integers = dynamic_cast<TArrayI *>(&histogram))
         return Internal::Bins(integers->fArray, histogram, flow);
      TORCH_CHECK(false, "histogram ", histogram.GetName(), " is a ", histogram.ClassName(),
                  ", whose bins are no tensor: use one of float, double or int");
   });
}

/// Fills the bins of `histogram` from a tensor of AsTensor()'s shape; errors become the square roots of the contents,
/// the statistics those of the bins.
/// \param values Of any real type.
inline void SetContents(TH1 &histogram, const torch::Tensor &values, bool flow = false)
{
   Internal::TorchGuard("CladTorch::SetContents", [&] {
      auto bins = AsTensor(histogram, flow);
      TORCH_CHECK(values.sizes() == bins.sizes(), "the tensor is ", values.sizes(), ", but the bins of histogram ",
                  histogram.GetName(), " are ", bins.sizes(), flow ? " with" : " without", " underflow and overflow");
      if (histogram.GetSumw2N())
         histogram.Sumw2(false);
      bins.copy_(values.detach());
      histogram.ResetStats();
   });
}

/// The elements of a tensor of one dimension, contiguous, sharing its memory: the tensor must outlive them.
template <class T>
ROOT::RVec<T> AsRVec(const torch::Tensor &tensor)
{
   return Internal::TorchGuard("CladTorch::AsRVec", [&] {
      Internal::CheckTensor<T>(tensor, 1);
      TORCH_CHECK(tensor.is_contiguous(), "the tensor is not contiguous: use ToRVec, or .contiguous()");
      TORCH_CHECK(!tensor.is_neg() && !tensor.is_conj(), "the memory holds the tensor with the opposite sign, or conjugated: ",
                  "use ToRVec, or .resolve_neg().resolve_conj()");
      return ROOT::RVec<T>(tensor.data_ptr<T>(), static_cast<std::size_t>(tensor.numel()));
   });
}

/// A copy of the elements, in row-major order.
template <class T>
ROOT::RVec<T> ToRVec(const torch::Tensor &tensor)
{
   return Internal::TorchGuard("CladTorch::ToRVec", [&] {
      Internal::CheckTensor<T>(tensor);
      const auto dense = Internal::Dense(tensor);
      return ROOT::RVec<T>(dense.data_ptr<T>(), dense.data_ptr<T>() + dense.numel());
   });
}

/// A copy of a tensor of two dimensions.
template <class T>
TMatrixT<T> ToMatrix(const torch::Tensor &tensor)
{
   return Internal::TorchGuard("CladTorch::ToMatrix", [&] {
      Internal::CheckTensor<T>(tensor, 2);
      constexpr std::int64_t most = std::numeric_limits<Int_t>::max();
      TORCH_CHECK(tensor.size(0) <= most && tensor.size(1) <= most && tensor.numel() <= most, "the tensor is ",
                  tensor.sizes(), ", but a TMatrixT counts rows, columns and elements up to ", most);
      const auto dense = Internal::Dense(tensor);
      return TMatrixT<T>(static_cast<Int_t>(dense.size(0)), static_cast<Int_t>(dense.size(1)), dense.data_ptr<T>());
   });
}

/// [N, F] float32, the scalar columns of all entries of a data frame or a node of its graph.
inline torch::Tensor ToTensor(ROOT::RDF::RNode frame, const std::vector<std::string> &columns)
{
   return AsTensor(Dataset(columns).Add(frame, 0).Features());
}

/// A data frame with the columns of a float32 or float64 tensor, [N, columns] (or [N] for one).
/// \param columns Their names.
inline ROOT::RDF::RNode ToDataFrame(const torch::Tensor &tensor, const std::vector<std::string> &columns)
{
   return Internal::TorchGuard("CladTorch::ToDataFrame", [&] {
      const auto values = tensor.detach().resolve_neg();
      const auto matrix = tensor.dim() == 1 ? values.unsqueeze(1) : values;
      const bool wide = matrix.scalar_type() == torch::kFloat64;
      wide ? Internal::CheckTensor<double>(matrix, 2) : Internal::CheckTensor<float>(matrix, 2);
      TORCH_CHECK(matrix.size(1) == static_cast<std::int64_t>(columns.size()), "the tensor has ", matrix.size(1),
                  " columns, but ", columns.size(), " names were given");
      ROOT::RDF::RNode frame = ROOT::RDataFrame(static_cast<ULong64_t>(matrix.size(0)));
      const auto define = [&](const std::string &name, const torch::Tensor &values, auto zero) {
         using T = decltype(zero);
         const auto read = [values, data = values.template data_ptr<T>(), step = values.stride(0)](ULong64_t entry) {
            return data[static_cast<std::int64_t>(entry) * step];
         };
         frame = frame.Define(name, read, {"rdfentry_"});
      };
      for (std::size_t i = 0; i < columns.size(); ++i) {
         const auto column = matrix.select(1, static_cast<std::int64_t>(i));
         wide ? define(columns[i], column, 0.) : define(columns[i], column, 0.f);
      }
      return frame;
   });
}

} // namespace CladTorch

#endif
