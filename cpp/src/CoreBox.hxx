/// \file CoreBox.hxx
/// \brief The objects of the Rust core behind the public classes.

#ifndef CLADTORCH_COREBOX
#define CLADTORCH_COREBOX

#include <CladTorch/Dataset.hxx>
#include <CladTorch/FitOptions.hxx>
#include <CladTorch/History.hxx>

#include "cladtorch/src/bridge/dataset.rs.h"
#include "cladtorch/src/bridge/loss.rs.h"
#include "cladtorch/src/bridge/model.rs.h"
#include "rust/cxx.h"

#include <TROOT.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace CladTorch {
namespace Internal {

/// The weight of each event of a source.
struct Weight {
   std::string fText; ///< a column or expression, or a function's name in messages; "": weight 1
   /// Set for a function: adds its weights to a data frame, as a column of this name.
   std::function<ROOT::RDF::RNode(ROOT::RDF::RNode, const std::string &name)> fDefine = {};
};

/// The data of a Dataset. Shared by its copies and by the views of its values; never changed while shared.
struct DatasetData {
   explicit DatasetData(rust::Box<Core::Dataset> core) : fCore(std::move(core)) {}

   rust::Box<Core::Dataset> fCore;
   Weight fWeight;                 ///< of sources added from now on
   std::string fReadWeight;        ///< text of the weight of the last source
   EReader fReader = kAutoReader;  ///< of sources added from now on
   ESharding fSharding = kReplicated;
};

struct ModelData;

/// The module or function of LibTorch that models were made of.
class ModuleLink {
public:
   virtual ~ModuleLink() = default;
   /// Throws if the module had the parameters of `model` and has been given others since.
   virtual void Check(const ModelData &model) const = 0;
   /// Throws if a fit with these options would not do what the module says now.
   virtual void CheckFit(const ModelData &model, const FitOptions &options) const = 0;
   /// The numbers of batches that the module's normalisations have counted, one for each counter.
   virtual std::vector<std::int64_t> Counts() const = 0;
   /// Adds `batches` to the counts of `model`.
   virtual void Count(ModelData &model, std::uint64_t batches) const = 0;
   /// The module's parameters, running statistics and counts are those of `model` from now on.
   virtual void Share(const std::shared_ptr<ModelData> &model) = 0;
};

/// The data of a Model and its functors. Never changed while shared.
struct ModelData {
   explicit ModelData(rust::Box<Core::Model> core) : fCore(std::move(core)) {}
   std::shared_ptr<ModelData> Copy() const;

   rust::Box<Core::Model> fCore;
   const char *fClass = "Model"; ///< class of the user's object
   bool fFromFile = false;       ///< the texts of its columns come from a file, not from the user who runs it
   mutable std::atomic<bool> fDrawn{false}; ///< its parameters are still random, and no warning was given
   mutable std::atomic<bool> fToldUnlike{false}; ///< the user was warned of events unlike those of its training
   std::shared_ptr<ModuleLink> fModule; ///< none: an Mlp
   std::vector<std::int64_t> fCounts; ///< see ModuleLink::Counts()
   History fLastFit;
   bool fTrained = false; ///< by a fit, also one before it was saved to its file
   std::shared_ptr<const ModelData> fStart; ///< before its first fit; none: not known, or not trained
};

/// Warns once per model if the means of `features` [rows, inputs] are outside the range of its training.
void TellUnlike(const ModelData &model, rust::Slice<const float> features);

/// The loss that a fit minimises if its options do not name one.
struct LossData {
   rust::Box<Core::FitLoss> fCore;
   /// With labels [events, 1] it treats all outputs alike, but it also accepts rows [events, outputs].
   bool fMayMeanRows = false;
};

/// The data of a Model after `core` was read from a file.
std::shared_ptr<ModelData> FromFile(rust::Box<Core::Model> core);

/// Calls Core::model_load or Core::mlp_load.
std::shared_ptr<ModelData> LoadModel(rust::Box<Core::Model> (*load)(rust::Str, rust::Str), const std::string &path,
                                     const std::string &activation);

template <class T>
rust::Slice<const T> Slice(const std::vector<T> &values)
{
   return {values.data(), values.size()};
}

inline std::vector<std::string> Strings(const rust::Vec<rust::String> &texts)
{
   return std::vector<std::string>(texts.begin(), texts.end());
}

/// "a, b"
inline std::string Joined(const std::vector<std::string> &names)
{
   std::string list;
   for (const auto &name : names)
      list += (list.empty() ? "" : ", ") + name;
   return list;
}

/// Threads for the core: the requested number, else that of ROOT's pool, else 0 (all cores).
inline std::size_t Threads(int asked)
{
   return asked > 0 ? static_cast<std::size_t>(asked) : ROOT::GetThreadPoolSize();
}

} // namespace Internal
} // namespace CladTorch

#endif
