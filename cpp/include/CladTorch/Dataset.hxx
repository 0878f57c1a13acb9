/// \file CladTorch/Dataset.hxx
/// \brief Columns of trees and data frames as the input of a network.

#ifndef CLADTORCH_DATASET
#define CLADTORCH_DATASET

#include <CladTorch/FloatView.hxx>

#include <ROOT/RDataFrame.hxx>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

class TTree;

namespace CladTorch {

namespace Internal {
struct DatasetData;
/// Marks the constructors around an object of the core, so that `{}` and `{0}` never mean them.
struct FromCore {};
} // namespace Internal

/// N events (rows) of F features, a label and a weight each, read from any number of sources.
///
/// ~~~{.cpp}
/// CladTorch::Dataset data({"jet1_pt", "m_bb"});
/// data.Column("jet_eta", 4, -9);                       // an array: the first 4, padded with -9
/// data.Add("sig_tree", "Higgs_data.root", 1).Add("bkg_tree", "Higgs_data.root", 0, "m_bb > 0");
/// ~~~
///
/// Every source is read in one event loop into one float32 tensor [N, F]; rows come in the order of the entries, with
/// `ROOT::EnableImplicitMT` too. Scalar columns of every arithmetic type and `bool` are taken as they are; arrays,
/// `std::vector` and `ROOT::RVec` need a length (see Column()). A source that fails leaves the dataset as it was.
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

   /// The event weight of the sources added from now on: a scalar column, or "" for weight 1.
   Dataset &SetWeight(const std::string &column);

   /// Adds the events of a data frame that pass `cut` (an expression as for `Filter`; "": all), with one label.
   Dataset &Add(ROOT::RDF::RNode frame, double label, const std::string &cut = "");
   /// The same with the label from a scalar column.
   Dataset &Add(ROOT::RDF::RNode frame, const std::string &labelColumn, const std::string &cut = "");

   /// Adds a tree or chain, with its friends; also one that lives in memory.
   Dataset &Add(TTree *tree, double label, const std::string &cut = "");
   Dataset &Add(TTree *tree, const std::string &labelColumn, const std::string &cut = "");
   Dataset &Add(TTree &tree, double label, const std::string &cut = "") { return Add(&tree, label, cut); }
   Dataset &Add(TTree &tree, const std::string &labelColumn, const std::string &cut = "")
   {
      return Add(&tree, labelColumn, cut);
   }

   /// Adds the tree (or RNTuple) `tree` of a file, a glob ("run*.root") or a URL.
   Dataset &Add(const std::string &tree, const std::string &files, double label, const std::string &cut = "");
   Dataset &Add(const std::string &tree, const std::string &files, const std::string &labelColumn,
                const std::string &cut = "");

   /// Adds any other node of a data frame's graph: a filter, a range, a data frame itself.
   template <class Proxied>
   Dataset &Add(const ROOT::RDF::RInterface<Proxied> &frame, double label, const std::string &cut = "")
   {
      return Add(ROOT::RDF::RNode(frame), label, cut);
   }
   template <class Proxied>
   Dataset &
   Add(const ROOT::RDF::RInterface<Proxied> &frame, const std::string &labelColumn, const std::string &cut = "")
   {
      return Add(ROOT::RDF::RNode(frame), labelColumn, cut);
   }

   /// Two datasets that share the events out: a share `first` of [0, 1], chosen by `seed`, and the rest.
   std::pair<Dataset, Dataset> Split(double first, std::uint64_t seed = 1) const;

   /// Events, N.
   std::size_t Rows() const;
   /// Features of an event, F: the sum of the columns' lengths.
   std::size_t Width() const;
   /// Names of the feature columns.
   std::vector<std::string> Columns() const;

   /// [N, F], features as they were read (not standardised).
   FloatView Features() const;
   /// [N]
   FloatView Labels() const;
   /// [N], 1 where no weight column was set.
   FloatView Weights() const;

   /// Columns, sources, events and labels, on the standard output.
   void Print() const;

   /// Called by PyROOT when it meets this class: lets Add() take every data frame node.
   static void __cppyy_pythonize__(_object *pyclass, const std::string &name);

private:
   friend class Mlp;
   Dataset(std::shared_ptr<Internal::DatasetData> data, Internal::FromCore);

   std::shared_ptr<Internal::DatasetData> fData;
};

} // namespace CladTorch

#endif
