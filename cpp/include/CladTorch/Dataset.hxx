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
#include <utility>
#include <vector>

namespace CladTorch {

class Stream;

namespace Internal {
struct DatasetData;
/// Marks the constructors around an object of the core, so that `{}` and `{0}` never mean them.
struct FromCore {};
} // namespace Internal

/// See Dataset::SetReader.
enum EReader {
   kAutoReader, ///< the fast reader where it is sure of the column, else ROOT's
   kRootReader, ///< ROOT's
   kFastReader  ///< the fast reader only
};

/// N events (rows) of F features, a label (or T targets) and a weight each, read from any number of sources.
///
/// ~~~{.cpp}
/// CladTorch::Dataset data({"jet1_pt", "m_bb"});
/// data.Column("jet_eta", 4, -9);                       // an array: the first 4, padded with -9
/// data.Add("sig_tree", "Higgs_data.root", 1).Add("bkg_tree", "Higgs_data.root", 0, "m_bb > 0");
/// ~~~
///
/// Every source is read into one float32 tensor [N, F], by the fast reader or by ROOT (see SetReader()); rows come in the order of the entries, with
/// `ROOT::EnableImplicitMT` too. Scalar columns of every arithmetic type and `bool` are taken as they are; arrays,
/// `std::vector` and `ROOT::RVec` need a length (see Column()). A source that fails leaves the dataset as it was.
///
/// A column (label, weight) is what the source calls it: a branch, `branch.leaf`, a member of a split object
/// (`tracks.fX`), a column of a friend. Where the source has no column of that name, the text is an expression, as is
/// every cut: C++ over the source's columns, as for `RDataFrame::Define`, evaluated for every event that passes the
/// cut. Beside C++ there are `Sum$(list)`, `Min$`, `Max$` and `Length$` of `TTree::Draw`, and `list[i]` of a list that
/// is shorter is an error that names the entry. Columns() lists an expression by its text, and Mlp::Define evaluates
/// it again. Mind that `n / 2` of two integers is cut down in C++.
///
/// **Cuts and expressions are code**: they are compiled and run with all rights of the user. Never take them, or names of
/// columns, from text that you do not trust.
///
/// Copies are cheap: they share the numbers until one of them changes. All methods throw CladTorch::Error.
class Dataset {
public:
   /// Scalar feature columns, in this order.
   explicit Dataset(const std::vector<std::string> &columns = {});
   // Copies only: what was moved from would be left without anything to point to.
   Dataset(const Dataset &) = default;
   Dataset &operator=(const Dataset &) = default;

   /// Adds a feature column.
   /// \param name A column of every source to come.
   /// \param length Numbers an event. 0: the column is a scalar. Otherwise it may be an array, `std::vector` or
   ///        `RVec`, of which the first `length` numbers are taken.
   /// \param pad Stands in for what a shorter event lacks.
   /// Throws after the first source, and for a name that is there already.
   Dataset &Column(const std::string &name, std::size_t length = 0, float pad = 0);
   /// Adds a column of lists of lists (`std::vector<std::vector<float>>`), or of a flat list of as many numbers.
   /// \param shape Lists, and numbers of each list: the features are row-major, `{2, 3}` gives 6. What lacks is padded.
   Dataset &
   Column(const std::string &name, const std::pair<std::size_t, std::size_t> &shape, float pad = 0);

   /// Adds, for the list column `name`, as many features as it has: 1 where an event has a number, 0 where the pad
   /// stands in. Columns() calls them "mask(name)". Throws where there is no such column yet.
   Dataset &Mask(const std::string &name);

   /// Who reads the columns of the sources added from now on. The fast reader takes branches of numbers, arrays of them
   /// and vectors in local files written by ROOT 3.04 or later; what it is not sure of is left to ROOT, column by column,
   /// and Print() says which and why. Both give the same bits, but behind a basket without entries: ROOT's reader gives the
   /// entry behind it numbers of the basket before, the fast reader the right ones, and Print() names such columns.
   ///
   /// What ROOT's data frame does not read reliably is refused with its name: lists in the objects of a collection
   /// (`tracks.fHits` of a `std::vector` or `TClonesArray`), members of their members in a `TClonesArray`, arrays with a
   /// count whose baskets leave the offsets out, entries behind an empty basket, and names that several branches have.
   ///
   /// With kFastReader a column that would be left to ROOT is an error. Cuts are ROOT's work in any case.
   Dataset &SetReader(EReader reader);

   /// The event weight of the sources added from now on: a scalar column or expression, or "" for weight 1. Negative
   /// weights are kept. Mlp::Fit refuses a weight that was set after the last Add, which no event has.
   Dataset &SetWeight(const std::string &column);
   /// The same, computed by `f` from `columns`; `f` is anything that `RDataFrame::Define` takes.
   template <class F>
   Dataset &SetWeight(F f, const std::vector<std::string> &columns)
   {
      return SetWeightFunction(
         [f, columns](ROOT::RDF::RNode frame, const std::string &name) { return frame.Define(name, f, columns); },
         columns);
   }

   /// Adds the events of a source that pass `cut` (an expression; "": all). Of a data frame with `Vary` the nominal values
   /// are read.
   /// \param label A number for all events, a scalar column or expression, or a list of T columns or expressions: the
   ///        targets of a regression (kMeanSquaredError, kHuber), as in `{"energy", "phi"}`. Every source of a dataset must
   ///        give the same targets in the same order.
   Dataset &Add(const Source &source, const Label &label, const std::string &cut = "");
   /// The same for the events for which the function `cut` of `columns` is true.
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
   /// The same for the tree (or RNTuple) `tree` of a file, a glob ("run*.root") or a URL.
   Dataset &Add(const std::string &tree, const std::string &files, const Label &label, const std::string &cut = "")
   {
      return Add(Source(tree, files), label, cut);
   }

   /// Scales the event weights so that all classes (events of one label) weigh the same and the total stays as it is:
   /// an event of class c gets w -> w W / (K W_c), with W the sum of all weights, W_c that of its class and K the number
   /// of classes. Throws if the weight of a class is not positive, for more than 1000 different labels, and for several
   /// targets.
   Dataset &Balance();

   /// A stream of the same columns and weight column, without sources: for data bigger than memory.
   CladTorch::Stream Stream() const;

   /// Two datasets that share the events out: a share `first` of [0, 1], chosen by `seed`, and the rest.
   std::pair<Dataset, Dataset> Split(double first, std::uint64_t seed = 1) const;

   /// Events, N.
   std::size_t Rows() const;
   /// Features of an event, F: the sum of the columns' lengths.
   std::size_t Width() const;
   /// Names of the feature columns.
   std::vector<std::string> Columns() const;
   /// Names of the label columns, T; empty if labels are numbers, or come from columns of different names.
   std::vector<std::string> Targets() const;

   /// [N, F], features as they were read (not standardised).
   FloatView Features() const;
   /// [N], or [N, T] for several targets.
   FloatView Labels() const;
   /// [N], 1 where no weight column was set.
   FloatView Weights() const;

   /// Columns, sources, events and which reader read what, on the standard output.
   void Print() const;

   /// Called by PyROOT when it meets this class: lets Add() take every data frame node.
   static void __cppyy_pythonize__(_object *pyclass, const std::string &name);

private:
   friend class Mlp;
   Dataset(std::shared_ptr<Internal::DatasetData> data, Internal::FromCore);
   /// \param define Adds the weight to a data frame, as a column of this name.
   Dataset &
   SetWeightFunction(const std::function<ROOT::RDF::RNode(ROOT::RDF::RNode, const std::string &name)> &define,
                     const std::vector<std::string> &columns);

   std::shared_ptr<Internal::DatasetData> fData;
};

} // namespace CladTorch

#endif
