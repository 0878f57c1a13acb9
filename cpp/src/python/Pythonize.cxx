/// \file Pythonize.cxx
/// \brief The functions that PyROOT calls when it meets a public class, and DLPack's capsules.

#include <CladTorch/CrossValidation.hxx>
#include <CladTorch/Dataset.hxx>
#include <CladTorch/Ensemble.hxx>
#include <CladTorch/Evaluation.hxx>
#include <CladTorch/Files.hxx>
#include <CladTorch/FitOptions.hxx>
#include <CladTorch/Functor.hxx>
#include <CladTorch/History.hxx>
#include <CladTorch/Jagged.hxx>
#include <CladTorch/Label.hxx>
#include <CladTorch/Mlp.hxx>
#include <CladTorch/Model.hxx>
#include <CladTorch/RandomSearch.hxx>
#include <CladTorch/Scaler.hxx>
#include <CladTorch/Search.hxx>
#include <CladTorch/Signal.hxx>
#include <CladTorch/Source.hxx>
#include <CladTorch/Stream.hxx>
#include <CladTorch/View.hxx>

#include "DLPack.hxx"
#include "Python.hxx"

#include <string>

namespace CladTorch {

using namespace Internal;

namespace {

/// Runs when Python drops a capsule: a capsule that was taken has another name.
template <class Managed>
void DropCapsule(_object *capsule, const char *name)
{
   const auto pointer = PythonFunction<void *(*)(_object *, const char *)>("PyCapsule_GetPointer");
   const auto isValid = PythonFunction<int (*)(_object *, const char *)>("PyCapsule_IsValid");
   if (!isValid(capsule, name))
      return;
   auto *managed = static_cast<Managed *>(pointer(capsule, name));
   managed->deleter(managed);
}

_object *Capsule(void *managed, const char *name, void (*drop)(_object *))
{
   return PythonFunction<_object *(*)(void *, const char *, void (*)(_object *))>("PyCapsule_New")(managed, name, drop);
}

constexpr const char *kVersioned = "dltensor_versioned";
constexpr const char *kLegacy = "dltensor";

} // namespace

template <class T>
_object *View<T>::DLPackCapsule(bool versioned, bool copied) const
{
   if (versioned)
      return Capsule(ExportVersioned(*this, copied), kVersioned,
                     [](_object *capsule) { DropCapsule<DLManagedTensorVersioned>(capsule, kVersioned); });
   return Capsule(ExportCopy(*this), kLegacy,
                  [](_object *capsule) { DropCapsule<DLManagedTensor>(capsule, kLegacy); });
}

template <class T>
void View<T>::__cppyy_pythonize__(_object *pyclass, const std::string &name)
{
   Pythonize(pyclass, name);
}

template <class T>
void Jagged<T>::__cppyy_pythonize__(_object *pyclass, const std::string &name)
{
   Pythonize(pyclass, name);
}

template class View<float>;
template class View<double>;
template class View<std::int64_t>;
template class View<Long64_t>;
template void Jagged<float>::__cppyy_pythonize__(_object *, const std::string &);
template void Jagged<double>::__cppyy_pythonize__(_object *, const std::string &);
template void Jagged<std::int64_t>::__cppyy_pythonize__(_object *, const std::string &);
template void Jagged<Long64_t>::__cppyy_pythonize__(_object *, const std::string &);

void Batches::__cppyy_pythonize__(_object *pyclass, const std::string &name)
{
   Pythonize(pyclass, name);
}

void CrossValidation::__cppyy_pythonize__(_object *pyclass, const std::string &name)
{
   Pythonize(pyclass, name);
}

void Dataset::__cppyy_pythonize__(_object *pyclass, const std::string &name)
{
   Pythonize(pyclass, name);
}

void Ensemble::__cppyy_pythonize__(_object *pyclass, const std::string &name)
{
   Pythonize(pyclass, name);
}

void Epoch::__cppyy_pythonize__(_object *pyclass, const std::string &name)
{
   Pythonize(pyclass, name);
}

void Evaluation::__cppyy_pythonize__(_object *pyclass, const std::string &name)
{
   Pythonize(pyclass, name);
}

void Files::__cppyy_pythonize__(_object *pyclass, const std::string &name)
{
   Pythonize(pyclass, name);
}

void FitOptions::__cppyy_pythonize__(_object *pyclass, const std::string &name)
{
   Pythonize(pyclass, name);
}

void Functor::__cppyy_pythonize__(_object *pyclass, const std::string &name)
{
   Pythonize(pyclass, name);
}

void History::__cppyy_pythonize__(_object *pyclass, const std::string &name)
{
   Pythonize(pyclass, name);
}

void Label::__cppyy_pythonize__(_object *pyclass, const std::string &name)
{
   Pythonize(pyclass, name);
}

void Metric::__cppyy_pythonize__(_object *pyclass, const std::string &name)
{
   Pythonize(pyclass, name);
}

void MlpOptions::__cppyy_pythonize__(_object *pyclass, const std::string &name)
{
   Pythonize(pyclass, name);
}

void Mlp::__cppyy_pythonize__(_object *pyclass, const std::string &name)
{
   Pythonize(pyclass, name);
}

void Model::__cppyy_pythonize__(_object *pyclass, const std::string &name)
{
   Pythonize(pyclass, name);
}

void RandomSearch::__cppyy_pythonize__(_object *pyclass, const std::string &name)
{
   Pythonize(pyclass, name);
}

void Scaler::__cppyy_pythonize__(_object *pyclass, const std::string &name)
{
   Pythonize(pyclass, name);
}

void Signal::Binary::__cppyy_pythonize__(_object *pyclass, const std::string &name)
{
   Pythonize(pyclass, name);
}

void Signal::Bounds::__cppyy_pythonize__(_object *pyclass, const std::string &name)
{
   Pythonize(pyclass, name);
}

void Signal::Candidate::__cppyy_pythonize__(_object *pyclass, const std::string &name)
{
   Pythonize(pyclass, name);
}

void Signal::CoherentSearch::__cppyy_pythonize__(_object *pyclass, const std::string &name)
{
   Pythonize(pyclass, name);
}

void Signal::Injection::__cppyy_pythonize__(_object *pyclass, const std::string &name)
{
   Pythonize(pyclass, name);
}

void Signal::MatchedFilter::__cppyy_pythonize__(_object *pyclass, const std::string &name)
{
   Pythonize(pyclass, name);
}

void Signal::NetworkFilter::__cppyy_pythonize__(_object *pyclass, const std::string &name)
{
   Pythonize(pyclass, name);
}

void Signal::OnlineSearch::__cppyy_pythonize__(_object *pyclass, const std::string &name)
{
   Pythonize(pyclass, name);
}

void Signal::Reach::__cppyy_pythonize__(_object *pyclass, const std::string &name)
{
   Pythonize(pyclass, name);
}

void Signal::Response::__cppyy_pythonize__(_object *pyclass, const std::string &name)
{
   Pythonize(pyclass, name);
}

void Signal::Sensitivity::__cppyy_pythonize__(_object *pyclass, const std::string &name)
{
   Pythonize(pyclass, name);
}

void Signal::Strain::__cppyy_pythonize__(_object *pyclass, const std::string &name)
{
   Pythonize(pyclass, name);
}

void Signal::Trigger::__cppyy_pythonize__(_object *pyclass, const std::string &name)
{
   Pythonize(pyclass, name);
}

void Signal::Whitener::__cppyy_pythonize__(_object *pyclass, const std::string &name)
{
   Pythonize(pyclass, name);
}

void Source::__cppyy_pythonize__(_object *pyclass, const std::string &name)
{
   Pythonize(pyclass, name);
}

void Stream::__cppyy_pythonize__(_object *pyclass, const std::string &name)
{
   Pythonize(pyclass, name);
}

void Trial::__cppyy_pythonize__(_object *pyclass, const std::string &name)
{
   Pythonize(pyclass, name);
}

} // namespace CladTorch
