/// \file torch/Loss.cxx
/// \brief A loss written with LibTorch's operators, observed as what a fit minimises.

#include <CladTorch/Torch/Guard.hxx>
#include <CladTorch/Torch/Model.hxx>

#include "CoreBox.hxx"
#include "DynamicBatch.hxx"
#include "EventParts.hxx"

#include <ATen/CPUGeneratorImpl.h>

#include <stdexcept>
#include <utility>

namespace CladTorch {
namespace Internal {

namespace {

/// Events of the first observation: see Model.cxx.
constexpr std::int64_t kLossEvents = 6;
const std::string kName = "the loss";

/// Rows of outputs and labels, from 0 to 1.
torch::Tensor Rows(std::int64_t rows, std::size_t width)
{
   auto generator = at::detail::createCPUGenerator(1);
   return torch::rand({rows, static_cast<std::int64_t>(width)}, generator);
}

std::vector<std::size_t> AddressesOf(const Observation &observation)
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

/// Converts class numbers [events, 1] to rows [events, classes], the probabilities that cross-entropies take: 1 at the
/// class, otherwise 0.
torch::Tensor OfClasses(const torch::Tensor &labels, std::size_t classes)
{
   return (labels == torch::arange(static_cast<std::int64_t>(classes), labels.options())).to(labels.dtype());
}

/// \param classes Whether labels are class numbers, which OfClasses() converts for the loss.
std::shared_ptr<LossData> Observe(const ListFunction &loss, std::size_t outputs, std::size_t labels, bool classes)
{
   const auto ofLabels = [loss, outputs, classes](const TensorList &parts) {
      const auto given = parts[1].detach();
      return loss({parts[0], classes ? OfClasses(given, outputs) : given});
   };
   const auto function = OfParts(ofLabels, {{outputs}, {labels}});
   const Wanted wanted{{true}, true, true};
   DynamicBatch batch(function, {Rows(kLossEvents, outputs + labels)}, wanted, kName, "use the same operators for any number of events");
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
   const auto addresses = AddressesOf(batch.First());
   return std::make_shared<LossData>(
      LossData{Core::fit_loss_observed(batch.TakeCore(), one, why, Slice(addresses), outputs, labels, classes), false});
}

/// Whether class numbers [events, 1] may be a mistake for the loss: it treats all classes alike then, and also accepts
/// rows [events, outputs] of 0 and 1.
bool MayMeanRows(const ListFunction &loss, std::size_t outputs)
{
   try {
      const torch::NoGradGuard withoutGradients;
      const auto z = Rows(kLossEvents, outputs), classes = torch::arange(kLossEvents).remainder(static_cast<std::int64_t>(outputs));
      const auto y = classes.to(torch::kFloat32).unsqueeze(1);
      const auto given = loss({z, y})[0];
      const auto isGiven = [&](const torch::Tensor &other) { return torch::allclose(given, other, 1e-4, 1e-6); };
      if (!isGiven(loss({z.roll(1, 1), y})[0]) || isGiven(loss({z, 0.5 * y})[0])) // or it ignores labels
         return false;
      Observe(loss, outputs, 1, true);
      return true;
   } catch (const std::exception &) {
      return false;
   } catch (const Thrown &) {
      return false;
   }
}

} // namespace

std::shared_ptr<LossData> ObserveLoss(ListFunction loss, std::size_t outputs, std::size_t labels)
{
   return TorchGuard("CladTorch::Model::Fit", [&] {
      const auto rows = [](std::size_t width) { return "[events, " + std::to_string(width) + "]"; };
      std::string thrown = kName + " throws where it is observed, for outputs " + rows(outputs) + " and labels " + rows(labels) + ": ";
      try {
         auto observed = Observe(loss, outputs, labels, false);
         observed->fMayMeanRows = outputs > 1 && labels == 1 && MayMeanRows(loss, outputs);
         return observed;
      } catch (const Thrown &first) {
         thrown += first.Message();
      } catch (const Unobservable &e) {
         throw std::runtime_error(kName + ": " + e.what());
      }
      if (outputs == 1 || labels != 1)
         throw std::runtime_error(thrown);
      try {
         return Observe(loss, outputs, labels, true);
      } catch (const Thrown &second) {
         throw std::runtime_error(thrown + "; and for classes as rows " + rows(outputs) + " of 0 and 1: " + second.Message());
      }
   });
}

} // namespace Internal
} // namespace CladTorch
