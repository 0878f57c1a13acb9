/// \file CladTorch/Functor.hxx
/// \brief A trained network as a callable for `RDataFrame::Define`.

#include <CladTorch/Load.hxx>

#ifndef CLADTORCH_FUNCTOR
#define CLADTORCH_FUNCTOR

#include <ROOT/RVec.hxx>

#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

struct _object; // Python's PyObject

namespace CladTorch {

namespace Internal {
struct ModelData;
}
class Model;

/// A frozen copy of a network with one output: later changes of the model do not affect it. It may be called from
/// several threads at once.
class Functor {
public:
   // Not movable: a moved-from object would hold a null pointer.
   Functor(const Functor &) = default;
   Functor &operator=(const Functor &) = default;

   /// \param row The features of one event, as many as the network has inputs; CladTorch::Error otherwise.
   /// \return What Model::Predict gives: the probability of label 1, or the value of a regression.
   float operator()(const ROOT::RVecF &row) const { return Evaluate(row.data(), row.size()); }

   /// The same for `size` features from `row` on.
   float Evaluate(const float *row, std::size_t size) const;

   /// Features per event.
   std::size_t Inputs() const;

   /// Called by PyROOT when it meets this class: checks and names arguments, copies.
   static void __cppyy_pythonize__(_object *pyclass, const std::string &name);

private:
   friend class Model;
   explicit Functor(std::shared_ptr<const Internal::ModelData> model);

   std::shared_ptr<const Internal::ModelData> fModel;
};

namespace Internal {
template <std::size_t, class T>
using Repeat = T;

template <class T>
struct IsRVec : std::false_type {};
template <class T>
struct IsRVec<ROOT::RVec<T>> : std::true_type {};

/// The common value of `lengths` [count]; throws CladTorch::Error if they differ.
std::size_t CommonLength(const std::size_t *lengths, std::size_t count);
} // namespace Internal

template <class Indices, class T>
class ScalarFunctor;

/// A Functor called with one argument of type T per feature. If T is a ROOT::RVec with one value for each object of an
/// event, it returns one score for each object.
template <std::size_t... I, class T>
class ScalarFunctor<std::index_sequence<I...>, T> {
public:
   explicit ScalarFunctor(Functor model) : fModel(std::move(model)) {}

   auto operator()(const Internal::Repeat<I, T> &...features) const
   {
      if constexpr (Internal::IsRVec<T>::value) {
         const std::size_t lengths[] = {features.size()...};
         ROOT::RVecF scores(Internal::CommonLength(lengths, sizeof...(I)));
         for (std::size_t object = 0; object < scores.size(); ++object)
            scores[object] = OfOne(features[object]...);
         return scores;
      } else {
         return OfOne(features...);
      }
   }

private:
   template <class... Numbers>
   float OfOne(const Numbers &...numbers) const
   {
      const float row[] = {static_cast<float>(numbers)...};
      return fModel.Evaluate(row, sizeof...(Numbers));
   }

   Functor fModel;
};

} // namespace CladTorch

#endif
