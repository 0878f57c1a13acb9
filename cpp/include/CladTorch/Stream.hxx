/// \file CladTorch/Stream.hxx
/// \brief Events of data bigger than memory.

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
#include <utility>
#include <vector>

namespace CladTorch {

namespace Internal {
struct BatchesData;
struct StreamData;
} // namespace Internal

/// How the sources of a Stream are mixed.
enum EMixing {
   kProportional = 0, ///< each gives as many entries as it has
   kBalanced = 1,     ///< each gives as many entries as the largest has; smaller ones come again, in another order
};

/// Which events of a Stream are given out.
enum EPart {
   kTraining = 0,
   kValidation = 1,
};

/// The batches of one epoch of a Stream, one after the other. A thread reads ahead for as long as this lives.
class Batches {
public:
   explicit Batches(std::shared_ptr<Internal::BatchesData> data) : fData(std::move(data)) {}
   // Copies only, which are the same batches: what was moved from would be left without anything to point to.
   Batches(const Batches &) = default;
   Batches &operator=(const Batches &) = default;

   /// Goes to the next batch, the first to begin with; `false` after the last. Throws what the reading thread threw.
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
   std::shared_ptr<Internal::BatchesData> fData;
};

/// Events that are read while they are used: N may be larger than memory.
///
/// ~~~{.cpp}
/// CladTorch::Stream stream({"jet1_pt", "m_bb"});
/// stream.Add("sig_tree", "huge_*.root", 1).Add("bkg_tree", "huge_*.root", 0, "m_bb > 0");
/// model.Fit(stream, options);
/// ~~~
///
/// The order of the events belongs to the definition: it depends on the sources, FitOptions (fSeed, fShuffle,
/// fBatchSize, fValidation), the window and the mixing, and neither on threads nor on how far the reading is ahead. Every
/// epoch shuffles the clusters of each source, and pieces of a window within a longer cluster, and walks through all
/// sources at once, each at the pace of its share; the events of a window of entries are shuffled together. An event
/// belongs to the validation part by a hash of the seed, the number of its source and its entry: in every epoch, whatever
/// is read when. The first windows are smaller, so that training begins soon.
///
/// Memory, for each Batches: the window, as many entries read ahead and a few blocks of 8 MB. Where the fast reader reads
/// all columns, it reads a cluster of each source at a time, or as much of it as fits, and holds that and the one before:
/// 128 MB less the window each, for all sources together, or as much as a window. Training keeps a window as a table and another one of validation events.
/// Reading takes one thread of its own, with one event loop a block; ROOT's trees and data frames that were given must not
/// be used elsewhere meanwhile. Mlp::Fit switches implicit multi-threading off for as long as it runs; where it is on,
/// Batches() gives events only of sources without a cut whose columns the fast reader reads.
///
/// A forked process cannot use the streams of the one that it came from.
///
/// Copies are the same stream. All methods throw CladTorch::Error.
class Stream {
public:
   /// Scalar feature columns, in this order. For lists, masks and weights make a Dataset and call Dataset::Stream.
   explicit Stream(const std::vector<std::string> &columns);
   // Copies only: what was moved from would be left without anything to point to.
   Stream(const Stream &) = default;
   Stream &operator=(const Stream &) = default;

   /// Adds the events of a source that pass `cut`; `label` is that of Dataset::Add. The cut is code: never take it from
   /// text that you do not trust. Opens the source, but reads no event yet. Trees, RNTuples, chains, their files and data
   /// frames on them are taken; not: entry lists, data frames with a range or on another source, and data frames made
   /// under `ROOT::EnableImplicitMT`. A tree and its file have to live as long as the stream and its batches are used: a
   /// file's name needs no such care.
   Stream &Add(const Source &source, const Label &label, const std::string &cut = "");
   /// The same for the events for which the function `cut` of `columns` is true, as Dataset::Add has it.
   template <class F>
   Stream &Add(const Source &source, const Label &label, F cut, const std::vector<std::string> &columns)
   {
      return Add(source.Filter(cut, columns), label);
   }
   /// The same for the tree `tree` of a file, a glob ("run*.root") or a URL.
   Stream &Add(const std::string &tree, const std::string &files, const Label &label, const std::string &cut = "")
   {
      return Add(Source(tree, files), label, cut);
   }

   /// Entries (before the cuts) that are shuffled together. 0: as many as 64 MB of features hold, at most 65536.
   Stream &SetWindow(std::uint64_t entries);
   /// Entries that may be read ahead, one block at least; changes only memory and waiting. 0: as many as the window.
   Stream &SetBuffer(std::uint64_t entries);
   Stream &SetMixing(EMixing mixing);

   /// Batches of one epoch, from 1 on: what Mlp::Fit trains on with the same options.
   CladTorch::Batches
   Batches(const FitOptions &options = FitOptions(), std::uint64_t epoch = 1, EPart part = kTraining) const;

   /// Entries of all sources, before the cuts.
   std::uint64_t Entries() const;
   /// Features of an event, F.
   std::size_t Width() const;
   /// Names of the feature columns.
   std::vector<std::string> Columns() const;
   /// Names of the label columns, as Dataset::Targets().
   std::vector<std::string> Targets() const;

   /// Called by PyROOT when it meets this class: lets Add() take every data frame node.
   static void __cppyy_pythonize__(_object *pyclass, const std::string &name);

private:
   friend class Dataset;
   friend class Mlp;
   explicit Stream(std::shared_ptr<Internal::StreamData> data) : fData(std::move(data)) {}

   std::shared_ptr<Internal::StreamData> fData;
};

} // namespace CladTorch

#endif
