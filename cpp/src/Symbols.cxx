/// \file Symbols.cxx
/// \brief The inline functions of the public headers, and of the containers in their interface, as symbols of the library.
///
/// ROOT's interpreter never compiles an inline function that it first met in a declaration that failed: after a typing
/// error the corrected macro would not link. It finds the functions here. This file is compiled with
/// -fkeep-inline-functions, or clang's equivalent.

#include <CladTorch/CladTorch.hxx>

#include <map>
#include <string>
#include <utility>
#include <vector>

template class std::vector<std::string>;
template class std::vector<std::size_t>;
template class std::vector<std::vector<std::size_t>>;
template class std::vector<float>;
template class std::vector<double>;
template class std::vector<std::vector<double>>;
template class std::map<std::string, CladTorch::FloatView>;

namespace CladTorch {
namespace Internal {

/// Makes the compiler emit T's implicit members.
template <class T>
void KeepCopies(const T &value, T &other)
{
   T copy(value);
   other = copy;
}

template void KeepCopies(const Batches &, Batches &);
template void KeepCopies(const Dataset &, Dataset &);
template void KeepCopies(const Evaluation &, Evaluation &);
template void KeepCopies(const Files &, Files &);
template void KeepCopies(const FitOptions &, FitOptions &);
template void KeepCopies(const CladTorch::Functor &, CladTorch::Functor &);
template void KeepCopies(const History &, History &);
template void KeepCopies(const Label &, Label &);
template void KeepCopies(const Mlp &, Mlp &);
template void KeepCopies(const Model &, Model &);
template void KeepCopies(const RandomSearch &, RandomSearch &);
template void KeepCopies(const CladTorch::Scaler &, CladTorch::Scaler &);
template void KeepCopies(const Signal::NetworkFilter &, Signal::NetworkFilter &);
template void KeepCopies(const Signal::OnlineSearch &, Signal::OnlineSearch &);
template void KeepCopies(const Signal::Whitener &, Signal::Whitener &);
template void KeepCopies(const Source &, Source &);
template void KeepCopies(const Stream &, Stream &);
template void KeepCopies(const TensorLoss &, TensorLoss &);
template void KeepCopies(const Trial &, Trial &);
template void KeepCopies(const std::pair<Dataset, Dataset> &, std::pair<Dataset, Dataset> &);

/// Makes the compiler emit the default constructors.
FitOptions KeepDefaults()
{
   const History history;
   return history.Epochs() ? FitOptions() : FitOptions{};
}

} // namespace Internal
} // namespace CladTorch
