/// \file CladTorch/Dataset.hxx
/// \brief Columns of trees and data frames as the input of a network.

#include <CladTorch/Load.hxx>

#ifndef CLADTORCH_DATASET
#define CLADTORCH_DATASET

#include <CladTorch/Label.hxx>
#include <CladTorch/Source.hxx>
#include <CladTorch/View.hxx>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

class TH2;

namespace CladTorch {

class Stream;

namespace Internal {
struct DatasetData;
struct SearchRound;
/// Tag of the constructors that take an object of the core, so that `{}` and `{0}` never select them.
struct FromCore {};
} // namespace Internal

/// See Dataset::SetReader.
enum EReader {
   kAutoReader, ///< the fast reader where it supports the column, otherwise ROOT's
   kRootReader, ///< ROOT's
   kFastReader  ///< the fast reader only
};

/// Which events of its sources a Dataset holds in a job of several processes (see FitOptions::fParallel). In a single
/// process all three are the same.
enum ESharding {
   kReplicated = 0, ///< all, on every process
   kSharded = 1,    ///< this process's share of the clusters of each source
   kOwnShard = 2,   ///< all events of the sources that this process adds; every process adds different ones
};

/// N events (rows) of F features, a label (or T targets) and a weight each, read from any number of sources.
///
/// ~~~{.cpp}
/// CladTorch::Dataset data({"jet1_pt", "m_bb"});
/// data.Column("jet_eta", 4, -9);                       // an array: the first 4, padded with -9
/// data.Add("sig_tree", "Higgs_data.root", 1).Add("bkg_tree", "Higgs_data.root", 0, "m_bb > 0");
/// ~~~
///
/// All sources are read into one float32 tensor [N, F], by the fast reader or by ROOT (see SetReader()). Rows are in
/// the order of the entries, under `ROOT::EnableImplicitMT` too. Scalar columns have any arithmetic type or `bool`;
/// arrays, `std::vector` and `ROOT::RVec` need a length (see Column()). A source that fails leaves the dataset as it
/// was.
///
/// A column (label, weight) is what the source calls it: a branch, `branch.leaf`, a member of a split object
/// (`tracks.fX`), a column of a friend. Where the source has no column of that name, the text is an expression, as is
/// every cut: C++ over the source's columns, as for `RDataFrame::Define`, evaluated for every event that passes the
/// cut. `Sum$(list)`, `Min$`, `Max$` and `Length$` of `TTree::Draw` work too. `list[i]` beyond the end of a list is an
/// error that names the entry. Columns() lists an expression by its text, and Model::Define evaluates
/// it again. As in C++, `n / 2` of an integer `n` rounds towards zero.
///
/// **Cuts and expressions are code**: they are compiled and run with all rights of the user. Never take them, or names
/// of columns, from text that you do not trust.
///
/// Copies are cheap: they share the data until one of them changes. All methods throw CladTorch::Error.
class Dataset {
public:
   /// Scalar feature columns, in this order.
   explicit Dataset(const std::vector<std::string> &columns = {});
   // Not movable: a moved-from object would hold a null pointer.
   Dataset(const Dataset &) = default;
   Dataset &operator=(const Dataset &) = default;

   /// Adds a feature column.
   /// \param name A column of every source that is added later.
   /// \param length Elements per event. 0: the column is a scalar. Otherwise it may be an array, `std::vector` or
   ///        `RVec`, of which the first `length` elements are taken.
   /// \param pad Fills the missing elements of shorter events.
   /// Throws after the first source was added, and for a name that exists already.
   Dataset &Column(const std::string &name, std::size_t length = 0, float pad = 0);
   /// Adds a column of lists of lists (`std::vector<std::vector<float>>`), or of a flat list of the same total length.
   /// \param shape Number of lists and elements per list. The features are row-major: `{2, 3}` gives 6. Missing
   ///        elements are padded.
   Dataset &
   Column(const std::string &name, const std::pair<std::size_t, std::size_t> &shape, float pad = 0);

   /// Adds a mask of the list column `name`, one feature per element: 1 where the event has the element, 0 where it was
   /// padded. Columns() calls them "mask(name)". Throws if there is no such column yet.
   Dataset &Mask(const std::string &name);

   /// Chooses the reader for sources that are added later. The fast reader supports branches of numbers, arrays and
   /// vectors in local files written by ROOT 3.04 or later. ROOT reads every other column, and Print() names these
   /// columns and the reason. Both readers give the same bits, with one exception: after a basket without entries
   /// ROOT's reader returns values of the basket before, while the fast reader returns the right ones. Print() names
   /// such columns.
   ///
   /// Columns that ROOT's data frame does not read reliably are refused by name: lists in the objects of a collection
   /// (`tracks.fHits` of a `std::vector` or `TClonesArray`), members of their members in a `TClonesArray`, arrays with
   /// a count whose baskets omit the offsets, entries after an empty basket (where ROOT would read them), and names
   /// that several branches share.
   ///
   /// With kFastReader, a column that the fast reader does not support is an error. ROOT evaluates cuts in any case.
   Dataset &SetReader(EReader reader);

   /// Chooses which part of the sources this process of an MPI job holds. Call it before the first Add.
   ///
   /// ~~~{.cpp}
   /// CladTorch::Dataset data({"jet1_pt", "m_bb"});
   /// data.SetSharding(CladTorch::kSharded).Add("events", "run*.root", CladTorch::Label("is_signal"));
   /// options.fParallel = CladTorch::kMpi; // the fit takes the events of all processes
   /// ~~~
   ///
   /// With kSharded and kOwnShard the data are spread over the memory of all nodes. A fit with kMpi trains on the same
   /// batches as a fit to the whole dataset, whatever the number of processes: each process computes those events of a
   /// batch that it holds. All processes must add the same number of sources. With kSharded they must add the same
   /// sources, of the kinds that Stream::Add takes, or data from memory, and each process keeps its share. Rows(),
   /// Features(), Split(), Evaluate() and Predict() refer to the events of this process. Balance() is refused.
   Dataset &SetSharding(ESharding sharding);

   /// The event weight of sources that are added later: a scalar column or expression, or "" for weight 1. Negative
   /// weights are kept. Model::Fit refuses a weight that was set after the last Add, as no event would have it.
   Dataset &SetWeight(const std::string &column);
   /// The same, computed by `f` from `columns`; `f` is anything that `RDataFrame::Define` takes.
   template <class F>
   Dataset &SetWeight(F f, const std::vector<std::string> &columns)
   {
      return SetWeightFunction(
         [f, columns](ROOT::RDF::RNode frame, const std::string &name) { return frame.Define(name, f, columns); },
         columns);
   }

   /// Adds the events of a source that pass `cut` (an expression; "": all). From a data frame with `Vary`, the
   /// nominal values are read.
   /// \param label A number for all events, a scalar column or expression, or a list of T columns or expressions: the
   ///        targets of a regression (kMeanSquaredError, kHuber), as in `{"energy", "phi"}`. Every source of a dataset
   ///        must give the same targets in the same order.
   Dataset &Add(const Source &source, const Label &label, const std::string &cut = "");
   /// The same with a function as cut: adds the events for which `cut`, called with `columns`, returns true.
   ///
   /// ~~~{.cpp}
   /// data.SetWeight([](float pt) { return 1 + pt; }, {"pt"});
   /// data.Add({"events", "run*.root"}, 1, [](float pt, float eta) { return pt > 20 && eta < 2; }, {"pt", "eta"});
   /// ~~~
   template <class F>
   Dataset &Add(const Source &source, const Label &label, F cut, const std::vector<std::string> &columns)
   {
      return Add(source.Filter(cut, columns), label);
   }
   /// The same for the tree (or RNTuple) `tree` of a file, a glob ("run*.root") or a URL, or of a list of them.
   Dataset &Add(const std::string &tree, const Files &files, const Label &label, const std::string &cut = "")
   {
      return Add(Source(tree, files), label, cut);
   }
   /// The same with a function as cut.
   template <class F>
   Dataset &Add(const std::string &tree, const Files &files, const Label &label, F cut,
       const std::vector<std::string> &columns)
   {
      return Add(Source(tree, files).Filter(cut, columns), label);
   }
   /// The same for `{"tree", "files"}`, which would otherwise be ambiguous: two literals in braces also make a
   /// std::string, from two iterators.
   template <std::size_t N, class = std::enable_if_t<N == 2>>
   Dataset &Add(const char *const (&source)[N], const Label &label, const std::string &cut = "")
   {
      return Add(Source(source[0], source[1]), label, cut);
   }

   /// Adds events from memory.
   ///
   /// ~~~{.cpp}
   /// data.Add(CladTorch::FloatView(numbers).Reshape(data.Width()), CladTorch::FloatView(labels));
   /// ~~~
   /// In Python arrays, data frames of pandas and dictionaries of arrays are given as sources: `data.Add(frame, "label")`.
   /// \param features [N, F], the features of each event in the order of the columns: see Lengths().
   /// \param labels [N], or [N, T] for several targets.
   /// \param weights [N]; empty: 1. Throws if it is empty after SetWeight(), as events from memory do not have that
   ///        column.
   /// \param targets Names of the T labels. Empty: none for one label, "target 1", "target 2", ... for several.
   Dataset &Add(const FloatView &features, const FloatView &labels, const FloatView &weights = FloatView(),
                const std::vector<std::string> &targets = {});

   /// Adds the events of another dataset, with their labels and weights. It must have the same columns and targets.
   Dataset &Add(const Dataset &other);

   /// Scales the event weights so that all classes (events of one label) have the same total weight and the sum over
   /// all events stays the same: an event of class c gets w -> w W / (K W_c), with W the sum of all weights, W_c that
   /// of its class and K the number of classes. Throws if the weight of a class is not positive, for more than 1000
   /// different labels, and for several targets.
   Dataset &Balance();

   /// A stream of the same columns and weight column, without sources: for data larger than memory.
   CladTorch::Stream Stream() const;

   /// Splits the events at random into two datasets: a fraction `first` in [0, 1], chosen by `seed`, and the rest.
   std::pair<Dataset, Dataset> Split(double first, std::uint64_t seed = 1) const;

   /// Events, N.
   std::size_t Rows() const;
   /// Features per event, F: the sum of the columns' lengths.
   std::size_t Width() const;
   /// Names of the feature columns.
   std::vector<std::string> Columns() const;
   /// Elements per event of each column: 1 for a scalar.
   std::vector<std::size_t> Lengths() const;
   /// Names of the label columns, T; empty if labels are numbers, or come from columns of different names.
   std::vector<std::string> Targets() const;
   /// The event weight of sources that are added later, as given to SetWeight(); "": 1.
   std::string Weight() const;

   /// [N, F], features as they were read (not standardised).
   FloatView Features() const;
   /// [N], or [N, T] for several targets.
   FloatView Labels() const;
   /// [N], 1 where no weight column was set.
   FloatView Weights() const;

   /// Linear correlations of the features, weighted: one labelled bin for each element of a column; 0 for a constant one.
   /// The histogram belongs to the caller; draw it with "COLZ".
   TH2 *Correlations() const;

   /// Prints columns, sources, numbers of events, and the reader of each column.
   void Print() const;

   /// Called by PyROOT when it meets this class: lets Add() take every data frame node.
   static void __cppyy_pythonize__(_object *pyclass, const std::string &name);

private:
   friend class Ensemble;
   friend struct Internal::SearchRound;
   friend class Model;
   friend class Evaluation;
   Dataset(std::shared_ptr<Internal::DatasetData> data, Internal::FromCore);
   /// \param define Adds the weight to a data frame, as a column of this name.
   Dataset &
   SetWeightFunction(const std::function<ROOT::RDF::RNode(ROOT::RDF::RNode, const std::string &name)> &define,
                     const std::vector<std::string> &columns);

   std::shared_ptr<Internal::DatasetData> fData;
};

} // namespace CladTorch

#endif
