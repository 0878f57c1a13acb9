#include <CladTorch/Functor.hxx>
#include <CladTorch/Error.hxx>
#include <CladTorch/Guard.hxx>
#include <CladTorch/Model.hxx>

#include "CoreBox.hxx"
#include "Score.hxx"

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <string>

namespace CladTorch {

using namespace Internal;

void Internal::Score(const ModelData &model, const float *row, std::size_t size, float *out, std::size_t outputs)
{
   try {
      Core::model_score(*model.fCore, {row, size}, false, {out, outputs});
   } catch (const std::exception &e) {
      throw Error(e.what());
   }
}

std::size_t Internal::CommonLength(const std::size_t *lengths, std::size_t count)
{
   const auto *other = std::find_if(lengths, lengths + count, [&](auto length) { return length != *lengths; });
   if (other != lengths + count)
      throw Error("argument " + std::to_string(other - lengths) + " has " + std::to_string(*other) + " numbers, argument 0 has " +
                  std::to_string(*lengths) + ": the columns of one score an object need one number for each object");
   return count == 0 ? 0 : *lengths;
}

Functor::Functor(std::shared_ptr<const ModelData> model) : fModel(std::move(model)) {}

float Functor::Evaluate(const float *row, std::size_t size) const
{
   float score = 0;
   Score(*fModel, row, size, &score, 1);
   return score;
}

std::size_t Functor::Inputs() const
{
   return Core::model_inputs(*fModel->fCore);
}

CladTorch::Functor Model::Functor() const
{
   return Guard(Where("Functor").c_str(), [&] {
      if (Outputs() != 1)
         throw std::runtime_error("a functor returns one number, but the model has " + std::to_string(Outputs()) +
                                  " outputs: use Define, whose column holds all of them");
      return CladTorch::Functor(Frozen());
   });
}

void Model::CheckFunctor(std::size_t arguments) const
{
   Guard(Where("Functor").c_str(), [&] {
      if (arguments != Inputs())
         throw std::runtime_error("a functor of " + std::to_string(arguments) +
                                  " arguments was asked for, but the model has " + std::to_string(Inputs()) +
                                  " inputs");
   });
}

} // namespace CladTorch
