/// \file score.h
/// \brief Code that CladTorch's macros of `quality` and `end-to-end` share: the quality of a model.

#ifndef CLADTORCH_BENCH_SCORE
#define CLADTORCH_BENCH_SCORE

#include <CladTorch/CladTorch.hxx>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>

/// By the task: area under the ROC curve ("binary"), share of right classes ("classes"), or minus the root mean squared
/// error ("regression"), all of them with the events' weights.
inline double Score(const CladTorch::Mlp &model, const CladTorch::Dataset &data, const std::string &task)
{
   if (task == "binary")
      return model.Auc(data);
   const auto values = model.Predict(data);
   const auto labels = data.Labels(), weights = data.Weights();
   const auto outputs = model.Outputs();
   double right = 0, squares = 0, total = 0;
   for (std::size_t row = 0; row < data.Rows(); ++row) {
      const auto first = values.begin() + row * outputs;
      right += weights(row) * (std::max_element(first, first + outputs) - first == labels(row));
      squares += weights(row) * std::pow(first[0] - labels(row), 2);
      total += weights(row);
   }
   return task == "classes" ? right / total : -std::sqrt(squares / total);
}

#endif
