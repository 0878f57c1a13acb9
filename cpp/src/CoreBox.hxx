/// \file CoreBox.hxx
/// \brief The objects of the Rust core behind the public classes.

#ifndef CLADTORCH_COREBOX
#define CLADTORCH_COREBOX

#include <CladTorch/Dataset.hxx>
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

/// What the events of a source weigh.
struct Weight {
   std::string fText; ///< a column or expression, or what a function is called in messages; "": 1
   /// Of a function: adds it to a data frame, as a column of this name.
   std::function<ROOT::RDF::RNode(ROOT::RDF::RNode, const std::string &name)> fDefine = {};
};

/// What a Dataset points to. Shared by its copies and by the views of its numbers; never changed while shared.
struct DatasetData {
   explicit DatasetData(rust::Box<Core::Dataset> core) : fCore(std::move(core)) {}

   rust::Box<Core::Dataset> fCore;
   Weight fWeight;                 ///< of the sources to come
   std::string fReadWeight;        ///< text of the weight of the last source
   EReader fReader = kAutoReader;  ///< of the sources to come
   ESharding fSharding = kReplicated;
};

struct ModelData;

/// The module or function of LibTorch that models were made of.
class ModuleLink {
public:
   virtual ~ModuleLink() = default;
   /// Throws where the module had the parameters of `model` and was given others since.
   virtual void Check(const ModelData &model) const = 0;
   /// Batches that the module's normalisations have counted, each of its counters.
   virtual std::vector<std::int64_t> Counts() const = 0;
   /// Adds so many to those of `model`.
   virtual void Count(ModelData &model, std::uint64_t batches) const = 0;
   /// The module's parameters, running statistics and counts are those of `model` from now on.
   virtual void Share(const std::shared_ptr<ModelData> &model) = 0;
};

/// What a Model and its functors point to. Never changed while shared.
struct ModelData {
   explicit ModelData(rust::Box<Core::Model> core) : fCore(std::move(core)) {}
   std::shared_ptr<ModelData> Copy() const;

   rust::Box<Core::Model> fCore;
   const char *fClass = "Model"; ///< that the user made
   bool fFromFile = false;       ///< the texts of its columns were not written by who runs it
   mutable std::atomic<bool> fDrawn{false}; ///< its parameters are random still, and nobody was told
   mutable std::atomic<bool> fToldUnlike{false}; ///< that it was asked about events unlike those of its training
   std::shared_ptr<ModuleLink> fModule; ///< none: a Mlp
   std::vector<std::int64_t> fCounts; ///< see ModuleLink::Counts()
   History fLastFit;
   bool fTrained = false; ///< by a fit, also one before it was saved to its file
   std::shared_ptr<const ModelData> fStart; ///< before its first fit; none: not known, or not trained
};

/// Says once of a model that the means of `features` [rows, inputs] leave the range of its training.
void TellUnlike(const ModelData &model, rust::Slice<const float> features);

/// What a fit minimises, where its options do not say it.
struct LossData {
   rust::Box<Core::FitLoss> fCore;
   /// With labels [events, 1] it makes no difference between the outputs, and it takes rows [events, outputs] as well.
   bool fMayMeanRows = false;
};

/// What Model points to after `core` was read from a file.
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

/// Threads for the core: what was asked for, else ROOT's pool, else 0 (all cores).
inline std::size_t Threads(int asked)
{
   return asked > 0 ? static_cast<std::size_t>(asked) : ROOT::GetThreadPoolSize();
}

} // namespace Internal
} // namespace CladTorch

#endif
