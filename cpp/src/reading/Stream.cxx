#include <CladTorch/Stream.hxx>
#include <CladTorch/Guard.hxx>

#include "FitSpec.hxx"
#include "Interrupt.hxx"
#include "ReadingThread.hxx"

#include <TROOT.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>

namespace CladTorch {

using namespace Internal;

namespace Internal {

/// The data of Batches; the thread ends before the objects that it reads for.
struct BatchesData {
   BatchesData(std::shared_ptr<StreamData> stream, rust::Box<Core::Epoch> epoch)
      : fEpoch(std::move(epoch)), fThread(std::move(stream), *fEpoch)
   {
   }

   HomeProcess fHome;
   rust::Box<Core::Epoch> fEpoch;
   std::shared_ptr<Core::Batch> fBatch = std::make_shared<Core::Batch>();
   std::shared_ptr<Core::Batch> fLast = std::make_shared<Core::Batch>(); ///< the previous one, whose memory may be free
   std::size_t fWidth = 0;
   std::size_t fTargets = 1;
   ReadingThread fThread;
};

namespace {

/// Makes `batch` one that no view shares.
void FreeOfViews(std::shared_ptr<Core::Batch> &batch)
{
   if (batch.use_count() > 1)
      batch = std::make_shared<Core::Batch>();
   // Orders other threads' reads through views, now gone, before the writes that follow.
   std::atomic_thread_fence(std::memory_order_acquire);
}

} // namespace

StreamData::StreamData(const DatasetData &columns) : fCore(Core::stream_new(Core::dataset_columns(*columns.fCore)))
{
   fSelection.fWeight = columns.fWeight;
   fSelection.fReader = columns.fReader;
}

rust::Box<Core::Epoch> StreamData::Epoch(std::uint64_t number, EPart part, const Core::FitSpec &fit) const
{
   fHome.Check("the stream");
   return Core::stream_epoch(*fCore, number, part == kValidation, fSpec, fit);
}

rust::Box<Core::Epoch> StreamData::EpochOfRank(std::uint64_t number, const Core::FitSpec &fit) const
{
   fHome.Check("the stream");
   return Core::stream_epoch_of_rank(*fCore, number, fSpec, fit);
}

} // namespace Internal

namespace {

void AddSource(StreamData &stream, const Source &source, const Label &label, const std::string &cut)
{
   stream.fHome.Check("the stream");
   auto selection = stream.fSelection;
   selection.fLabel = label;
   selection.fCut = cut;
   const std::lock_guard<std::mutex> lock(stream.fReading);
   auto reader = std::make_unique<RangeReader>(source, Core::stream_columns(*stream.fCore), selection);
   const auto &ends = reader->ClusterEnds();
   Core::stream_add(*stream.fCore, reader->Name(), TargetNames(label), {ends.data(), ends.size()});
   stream.fReaders.push_back(std::move(reader));
}

/// A view of a batch's values, which keeps the batch alive.
FloatView ViewOf(const std::shared_ptr<const Core::Batch> &batch, const rust::Vec<float> &values, std::size_t columns)
{
   return {values.data(), batch->weights.size(), columns, batch};
}

} // namespace

Stream::Stream(const std::vector<std::string> &columns)
   : fData(Guard("CladTorch::Stream", [&] { return Dataset(columns).Stream().fData; }))
{
}

CladTorch::Stream Dataset::Stream() const
{
   return Guard("CladTorch::Dataset::Stream", [&] {
      ROOT::EnableThreadSafety(); // a thread will read
      return CladTorch::Stream(std::make_shared<StreamData>(*fData));
   });
}

Stream &Stream::Add(const Source &source, const Label &label, const std::string &cut)
{
   return LongCall("CladTorch::Stream::Add", [&]() -> Stream & {
      AddSource(*fData, source, label, cut);
      return *this;
   });
}

Stream &Stream::SetWindow(std::uint64_t entries)
{
   return Guard("CladTorch::Stream::SetWindow", [&]() -> Stream & {
      Core::stream_check_window(entries);
      fData->fSpec.window = entries;
      return *this;
   });
}

Stream &Stream::SetBuffer(std::uint64_t entries)
{
   fData->fSpec.buffer = entries;
   return *this;
}

Stream &Stream::SetMixing(EMixing mixing)
{
   fData->fSpec.balanced = mixing == kBalanced;
   return *this;
}

CladTorch::Batches Stream::Batches(const FitOptions &options, std::uint64_t epoch, EPart part) const
{
   return Guard("CladTorch::Stream::Batches", [&] {
      if (epoch == 0)
         throw std::runtime_error("epoch 0 was asked for: epochs count from 1");
      auto data = std::make_shared<BatchesData>(fData, fData->Epoch(epoch, part, ToSpec(options)));
      data->fWidth = Width();
      data->fTargets = std::max<std::size_t>(1, Core::stream_targets(*fData->fCore).size());
      return CladTorch::Batches(std::move(data));
   });
}

std::uint64_t Stream::Entries() const
{
   return Core::stream_entries(*fData->fCore);
}

std::size_t Stream::Width() const
{
   return Core::stream_width(*fData->fCore);
}

std::vector<std::string> Stream::Columns() const
{
   return Guard("CladTorch::Stream::Columns", [&] {
      std::vector<std::string> names;
      for (const auto &column : Core::stream_columns(*fData->fCore))
         names.emplace_back(column.name);
      return names;
   });
}

std::vector<std::string> Stream::Targets() const
{
   return Guard("CladTorch::Stream::Targets", [&] { return Strings(Core::stream_targets(*fData->fCore)); });
}

std::string Stream::Weight() const
{
   return Guard("CladTorch::Stream::Weight", [&] { return fData->fSelection.fWeight.fText; });
}

bool Batches::Next()
{
   return LongCall("CladTorch::Batches::Next", [&] {
      fData->fHome.Check("the stream");
      auto &next = fData->fLast;
      FreeOfViews(next);
      Core::epoch_batch(*fData->fEpoch, *next);
      std::swap(fData->fBatch, next);
      return !fData->fBatch->weights.empty();
   }, "the reading");
}

FloatView Batches::Features() const
{
   return ViewOf(fData->fBatch, fData->fBatch->features, fData->fWidth);
}

FloatView Batches::Labels() const
{
   return ViewOf(fData->fBatch, fData->fBatch->labels, fData->fTargets > 1 ? fData->fTargets : 0);
}

FloatView Batches::Weights() const
{
   return ViewOf(fData->fBatch, fData->fBatch->weights, 0);
}

} // namespace CladTorch
