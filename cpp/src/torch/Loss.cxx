/// \file torch/Loss.cxx
/// \brief A loss written with LibTorch's operators, observed as what a fit minimises.

#include <CladTorch/Torch/Guard.hxx>
#include <CladTorch/Torch/Model.hxx>

#include "../CoreBox.hxx"
#include "DynamicBatch.hxx"
#include "EventParts.hxx"

#include <ATen/CPUGeneratorImpl.h>

#include <stdexcept>
#include <utility>

namespace CladTorch {
namespace Internal {

namespace {

/// Events of the first observation: see Model.cxx.
constexpr std::int64_t kEvents = 6;
const std::string kName = "the loss";

/// Rows of outputs and labels, from 0 to 1.
torch::Tensor Rows(std::int64_t rows, std::size_t width)
{
   auto generator = at::detail::createCPUGenerator(1);
   return torch::rand({rows, static_cast<std::int64_t>(width)}, generator);
}

std::vector<std::size_t> Addresses(const Observation &observation)
{
   if (observation.fParameters > 0)
      throw std::runtime_error(kName + " uses tensors that require a gradient, which a fit does not train: detach() them");
   std::vector<std::size_t> addresses;
   for (const auto &tensor : observation.fConstants) {
      if (!tensor.is_cpu() || tensor.layout() != torch::kStrided)
         throw std::runtime_error(kName + " uses a tensor on " + tensor.device().str() + " or sparse: move it with to(torch::kCPU)");
      addresses.push_back(reinterpret_cast<std::size_t>(tensor.data_ptr()));
   }
   return addresses;
}

} // namespace

std::shared_ptr<LossData> ObserveLoss(ListFunction loss, std::size_t outputs, std::size_t labels)
{
   return TorchGuard("CladTorch::Model::Fit", [&] {
      const auto ofLabels = [loss = std::move(loss)](const TensorList &parts) { return loss({parts[0], parts[1].detach()}); };
      const auto function = OfParts(ofLabels, {{outputs}, {labels}});
      const Wanted wanted{{true}, true, true};
      try {
         DynamicBatch batch(function, {Rows(kEvents, outputs + labels)}, wanted, kName, "use the same operators for any number of events");
         rust::Vec<Core::ObservedGraph> one;
         std::string why;
         try {
            const auto single = batch.ObserveLike(function, {Rows(1, outputs + labels)}, kName);
            one.push_back(single.Graph());
         } catch (const Thrown &thrown) {
            why = thrown.Message();
         } catch (const std::exception &e) {
            why = e.what();
         }
         const auto addresses = Addresses(batch.First());
         return std::make_shared<LossData>(LossData{Core::fit_loss_observed(batch.TakeCore(), one, why, Slice(addresses), outputs, labels)});
      } catch (const Thrown &thrown) {
         throw std::runtime_error(kName + " throws where it is observed, for outputs [events, " + std::to_string(outputs) +
                                  "] and labels [events, " + std::to_string(labels) + "]: " + thrown.Message());
      }
   });
}

} // namespace Internal
} // namespace CladTorch
