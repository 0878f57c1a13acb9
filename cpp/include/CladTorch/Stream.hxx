/// \file CladTorch/Stream.hxx
/// \brief Batches of data larger than memory.

#include <CladTorch/Load.hxx>

#ifndef CLADTORCH_STREAM
#define CLADTORCH_STREAM

#include <CladTorch/Dataset.hxx>
#include <CladTorch/FitOptions.hxx>
#include <CladTorch/Label.hxx>
#include <CladTorch/Source.hxx>
#include <CladTorch/View.hxx>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace CladTorch {

namespace Internal {
struct BatchesData;
struct StreamData;
} // namespace Internal

/// How the sources of a Stream are mixed.
enum EMixing {
   kProportional = 0, ///< each source contributes all its entries once
   kBalanced = 1,     ///< each contributes as many entries (before the cuts) as the largest has; smaller ones repeat, reshuffled
};

/// Which events of a Stream a Batches contains.
enum EPart {
   kTraining = 0,
   kValidation = 1,
};

/// The batches of one epoch of a Stream, one after the other. A thread reads ahead for as long as this lives.
class Batches {
public:
   // Copies share the batches. Not movable: a moved-from object would hold a null pointer.
   Batches(const Batches &) = default;
   Batches &operator=(const Batches &) = default;

   /// Moves to the next batch, at first to the first one; returns `false` after the last. Rethrows errors of the
   /// reading thread.
   bool Next();

   /// Events of the batch, n: FitOptions::fBatchSize, fewer in the last batch.
   std::size_t Rows() const { return Weights().Rows(); }
   /// [n, F], features as they were read. Stays valid after Next().
   FloatView Features() const;
   /// [n], or [n, T] for several targets.
   FloatView Labels() const;
   /// [n]
   FloatView Weights() const;

   /// Called by PyROOT when it meets this class: lets `for x, y, w in batches` run.
   static void __cppyy_pythonize__(_object *pyclass, const std::string &name);

private:
   friend class Stream;
   explicit Batches(std::shared_ptr<Internal::BatchesData> data) : fData(std::move(data)) {}

   std::shared_ptr<Internal::BatchesData> fData;
};

/// Events that are read during the training: N may exceed memory.
///
/// ~~~{.cpp}
/// CladTorch::Stream stream({"jet1_pt", "m_bb"});
/// stream.Add("sig_tree", "huge_*.root", 1).Add("bkg_tree", "huge_*.root", 0, "m_bb > 0");
/// model.Fit(stream, options);
/// ~~~
///
/// The order of the events is reproducible: it depends on the sources, FitOptions (fSeed, fShuffle, fBatchSize,
/// fValidation), the window and the mixing, but not on the number of threads or on the read-ahead. In every epoch, the
/// clusters of each source are shuffled (long clusters in pieces of a window), all sources are read in parallel in
/// proportion to their shares, and the events within a window of entries are shuffled together. A hash of the seed, the
/// index of the source and the entry assigns an event to the validation part, the same in every epoch. The first
/// windows are smaller, so that training starts early.
///
/// Memory, for each Batches: the window, the read-ahead of the same size, and a few blocks of 8 MB. If the fast reader
/// supports all columns, it reads one cluster of each source at a time and keeps it and the one before. Each of the two
/// takes at most 128 MB less the window, for all sources together, or the size of a window if that is more. Training
/// keeps one more window as a table and another one of validation events. One thread reads, with one event loop per
/// block. Do not use trees and data frames elsewhere while a stream reads them. Model::Fit switches implicit
/// multi-threading off for as long as it runs; where it is on, Batches() gives events only of sources without a cut
/// whose columns the fast reader reads.
///
/// A forked process cannot use the streams of its parent.
///
/// Copies refer to the same stream. All methods throw CladTorch::Error.
class Stream {
public:
   /// Scalar feature columns, in this order. For lists, masks and weights, make a Dataset and call Dataset::Stream.
   explicit Stream(const std::vector<std::string> &columns);
   // Not movable: a moved-from object would hold a null pointer.
   Stream(const Stream &) = default;
   Stream &operator=(const Stream &) = default;

   /// Adds the events of a source that pass `cut`; `label` is that of Dataset::Add. The cut is code: never take it from
   /// text that you do not trust. Opens the source, but reads no event yet. Supported are trees, RNTuples, chains,
   /// their files and data frames on them, but not entry lists, data frames with a range or on another source, or data
   /// frames made under `ROOT::EnableImplicitMT`. A tree and its file must outlive the stream and its batches, which a
   /// source given by file name does by itself.
   Stream &Add(const Source &source, const Label &label, const std::string &cut = "");
   /// The same with a function as cut: adds the events for which `cut`, called with `columns`, returns true.
   template <class F>
   Stream &Add(const Source &source, const Label &label, F cut, const std::vector<std::string> &columns)
   {
      return Add(source.Filter(cut, columns), label);
   }
   /// The same for the tree `tree` of a file, a glob ("run*.root") or a URL, or of a list of them.
   Stream &Add(const std::string &tree, const Files &files, const Label &label, const std::string &cut = "")
   {
      return Add(Source(tree, files), label, cut);
   }
   /// The same with a function as cut.
   template <class F>
   Stream &Add(const std::string &tree, const Files &files, const Label &label, F cut,
       const std::vector<std::string> &columns)
   {
      return Add(Source(tree, files).Filter(cut, columns), label);
   }
   /// The same for `{"tree", "files"}`, which would otherwise be ambiguous: two literals in braces also make a
   /// std::string, from two iterators.
   template <std::size_t N, class = std::enable_if_t<N == 2>>
   Stream &Add(const char *const (&source)[N], const Label &label, const std::string &cut = "")
   {
      return Add(Source(source[0], source[1]), label, cut);
   }

   /// Entries (before the cuts) that are shuffled together, at most 2^30. 0: as many as 64 MB of features hold, at most
   /// 65536. Scalers and the validation loss come from as many events, so that a few hundred are too few.
   Stream &SetWindow(std::uint64_t entries);
   /// Entries that may be read ahead, at least one block. Affects only memory and waiting times. 0: as many as the
   /// window.
   Stream &SetBuffer(std::uint64_t entries);
   Stream &SetMixing(EMixing mixing);

   /// Batches of one epoch, from 1 on: what Model::Fit trains on with the same options.
   CladTorch::Batches
   Batches(const FitOptions &options = FitOptions(), std::uint64_t epoch = 1, EPart part = kTraining) const;

   /// Entries of all sources, before the cuts.
   std::uint64_t Entries() const;
   /// Features per event, F.
   std::size_t Width() const;
   /// Names of the feature columns.
   std::vector<std::string> Columns() const;
   /// Names of the label columns, as Dataset::Targets().
   std::vector<std::string> Targets() const;
   /// Column or expression of the event weight; "": every event weighs 1.
   std::string Weight() const;

   /// Called by PyROOT when it meets this class: lets Add() take every data frame node.
   static void __cppyy_pythonize__(_object *pyclass, const std::string &name);

private:
   friend class Dataset;
   friend class Model;
   explicit Stream(std::shared_ptr<Internal::StreamData> data) : fData(std::move(data)) {}

   std::shared_ptr<Internal::StreamData> fData;
};

} // namespace CladTorch

#endif
