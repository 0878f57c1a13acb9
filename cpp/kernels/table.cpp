/// \file table.cpp
/// The table of one variant; CT_VARIANT is its name.
#include "columns.hpp"
#include "kernels.hpp"
#include "tile.hpp"

namespace CladTorch::Kernels {
namespace {

template <typename Table, typename T>
constexpr Table MakeTable()
{
   return {Linear<T>,
           LinearPullback<T>,
           kTileColumns<T>,
           LayerLength<T>,
           PackLayer<T>,
           UnpackLayer<T>,
           TransposedLength<T>,
           TransposeLayer<T>,
           PackedLinear<T>,
           PackedPullback<T>,
           PackMatrix<T>,
           UnpackMatrix<T>,
           Gather<T>,
           ActivationPullback<T>,
           Loss<T>,
           Add<T>,
           Sgd<T>,
           Adam<T>,
           AdamW<T>,
           Map<T>,
           MapPullback<T>,
           Accumulate<T>,
           Copy<T>,
           Max<T>,
           MaxPullback<T>,
           Length<T>,
           LengthPullback<T>,
           Softmax<T>,
           SoftmaxPullback<T>,
           SoftmaxDown<T>,
           SoftmaxDownPullback<T>,
           Normalise<T>,
           NormalisePullback<T>,
           NormaliseScalePullback<T>,
           ChannelSpread<T>,
           ChannelMoments<T>,
           Standardise<T>,
           StandardiseSums<T>,
           StandardisePullback<T>,
           Argsort<T>,
           Choose<T>,
           ChoosePullback<T>,
           Products<T>,
           BiasedProduct<T>,
           Convolve<T>,
           ConvolvePullback<T>,
           ConvolveWeightPullback<T>};
}

} // namespace

const ct_kernels kTable = {CT_VARIANT, MakeTable<ct_kernels_f32, float>(), MakeTable<ct_kernels_f64, double>(),
                           {ConvertColumn, ScatterLists, Interleave, GatherRows}};

} // namespace CladTorch::Kernels
