#include "watch.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <unordered_map>

#include <link.h>
#include <pthread.h>

namespace {

struct Range {
   uintptr_t fBegin, fEnd;

   bool Has(uintptr_t at, size_t bytes) const { return at >= fBegin && at < fEnd && bytes <= fEnd - at; }
};

/// An access of a thread, counted over all blocks, or of several of its block in one epoch.
struct Step {
   uint32_t fThread;
   uint32_t fEpoch : 30, fIsAny : 1, fIsAtomic : 1;

   unsigned Block() const { return fThread / blockDim.x; }
};

/// What was done to four bytes in this launch.
struct Cell {
   uint32_t fLaunch;
   bool fIsWritten, fIsRead;
   Step fWrite, fRead;
   uint32_t fMore; ///< reads of further blocks: the number of the list, or 0
};

constexpr size_t kPage = 4096, kMostPages = 1 << 14;
using Page = std::array<Cell, kPage / 4>;

std::vector<Range> gMemory;
Range gFound, gObject, gStack, gOwnStack, gShared;
size_t gStride, gBytes;
unsigned gGrid, gCluster;
bool gRuns, gIsWhole;
const char *gName;
std::string gFailure;

uint32_t gLaunch;
std::unordered_map<uintptr_t, std::unique_ptr<Page>> gPages;
std::array<std::pair<uintptr_t, Page *>, 256> gRecent;
std::vector<std::vector<Step>> gMore;

/// Where copies on their way are read and written.
std::set<uintptr_t> gTo;
std::multiset<uintptr_t> gFrom;

/// The epoch of each block; of each block how many epochs of every other one are over for it, or will be at its next barrier.
using Clock = std::vector<uint32_t>;
Clock gEpochs;
std::vector<Clock> gKnown, gAcquired;
std::map<std::pair<const unsigned *, unsigned>, Clock> gPublished;

/// In which epoch a block used the dynamic memory of another one last: [owner * blocks + user], from 1 on.
Clock gVisits;

void Join(Clock &to, const Clock &from)
{
   for (size_t b = 0; b < to.size(); ++b)
      to[b] = std::max(to[b], from[b]);
}

std::string Name(const Step &step)
{
   const std::string thread = step.fIsAny ? "several threads" : "thread " + std::to_string(step.fThread % blockDim.x);
   return thread + " of block " + std::to_string(step.Block());
}

/// What holds the bytes.
enum class Area { kNone, kMemory, kStatic, kDynamic };

struct Found {
   Area fArea;
   unsigned fOwner; ///< the block, of dynamic memory
   Range fRange;
};

Found Find(uintptr_t at, size_t bytes)
{
   if (gShared.Has(at, bytes)) {
      const size_t place = at - gShared.fBegin;
      const unsigned owner = place / gStride;
      const Range own = {gShared.fBegin + owner * gStride, gShared.fBegin + owner * gStride + gBytes};
      return {own.Has(at, bytes) ? Area::kDynamic : Area::kNone, owner, own};
   }
   if (gObject.Has(at, bytes))
      return {Area::kStatic, 0, gObject};
   if (gFound.Has(at, bytes))
      return {Area::kMemory, 0, gFound};
   const auto next = std::upper_bound(gMemory.begin(), gMemory.end(), at, [](uintptr_t x, const Range &of) { return x < of.fBegin; });
   if (next != gMemory.begin() && (next - 1)->Has(at, bytes))
      return {Area::kMemory, 0, gFound = *(next - 1)};
   return {Area::kNone, 0, {}};
}

std::string Where(uintptr_t at, const Found &found)
{
   std::ostringstream text;
   text << "byte " << at - found.fRange.fBegin << " of ";
   if (found.fArea == Area::kMemory)
      text << "memory of " << found.fRange.fEnd - found.fRange.fBegin;
   else if (found.fArea == Area::kStatic)
      text << "static memory";
   else
      text << "the " << gBytes << " that block " << found.fOwner << " shares";
   return text.str();
}

Page &PageOf(uintptr_t number)
{
   auto &recent = gRecent[number % gRecent.size()];
   if (recent.second && recent.first == number)
      return *recent.second;
   auto &page = gPages[number];
   if (!page)
      page.reset(new Page());
   recent = {number, page.get()};
   return *page;
}

/// Whether nothing orders the step before what this thread does now.
bool Conflicts(const Step &before, const Step &now)
{
   if (before.fIsAtomic && now.fIsAtomic)
      return false;
   const unsigned block = before.Block();
   if (block == blockIdx.x)
      return before.fEpoch == now.fEpoch && (before.fIsAny || before.fThread != now.fThread);
   return !gIsWhole || before.fEpoch >= gKnown[blockIdx.x][block];
}

void Merge(Step &read, const Step &now)
{
   if (read.fEpoch != now.fEpoch) {
      read = now;
      return;
   }
   read.fIsAny |= read.fThread != now.fThread;
   read.fIsAtomic &= now.fIsAtomic;
}

void Read(Cell &cell, const Step &now)
{
   if (!cell.fIsRead || cell.fRead.Block() == blockIdx.x) {
      cell.fIsRead ? Merge(cell.fRead, now) : void(cell.fRead = now);
      cell.fIsRead = true;
      return;
   }
   if (cell.fMore == 0) {
      cell.fMore = gMore.size();
      gMore.emplace_back();
   }
   auto &more = gMore[cell.fMore];
   // Blocks that wait for nobody but their own threads run one after the other.
   for (size_t i = more.size(); i-- > (gIsWhole || more.empty() ? 0 : more.size() - 1);)
      if (more[i].Block() == blockIdx.x)
         return Merge(more[i], now);
   more.push_back(now);
}

/// The access that nothing orders before this one.
const Step *Other(const Cell &cell, const Step &now, bool writes)
{
   if (cell.fIsWritten && Conflicts(cell.fWrite, now))
      return &cell.fWrite;
   if (!writes)
      return nullptr;
   if (cell.fIsRead && Conflicts(cell.fRead, now))
      return &cell.fRead;
   for (const auto &read : gMore[cell.fMore])
      if (Conflicts(read, now))
         return &read;
   return nullptr;
}

void Visit(const Found &found, uintptr_t at)
{
   const unsigned own = blockIdx.x, owner = found.fOwner;
   if (owner == own)
      return;
   if (!gIsWhole || owner / gCluster != own / gCluster)
      Watch::Fail("uses " + Where(at, found) + ", of another cluster");
   if (gKnown[own][owner] == 0)
      Watch::Fail("uses " + Where(at, found) + " before that block is known to run");
   gVisits[owner * gGrid + own] = gEpochs[own] + 1;
}

int FindObject(dl_phdr_info *info, size_t, void *)
{
   Range all = {~uintptr_t(0), 0};
   for (unsigned i = 0; i < info->dlpi_phnum; ++i)
      if (info->dlpi_phdr[i].p_type == PT_LOAD) {
         const uintptr_t begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
         all = {std::min(all.fBegin, begin), std::max(all.fEnd, begin + info->dlpi_phdr[i].p_memsz)};
      }
   if (!all.Has(reinterpret_cast<uintptr_t>(&gObject), 1))
      return 0;
   gObject = all;
   return 1;
}

/// Of the host's thread, where parameters lie.
Range StackOfThread()
{
   thread_local Range stack = [] {
      pthread_attr_t attributes;
      void *begin;
      size_t bytes;
      pthread_getattr_np(pthread_self(), &attributes);
      pthread_attr_getstack(&attributes, &begin, &bytes);
      pthread_attr_destroy(&attributes);
      return Range{reinterpret_cast<uintptr_t>(begin), reinterpret_cast<uintptr_t>(begin) + bytes};
   }();
   return stack;
}

} // namespace

namespace Watch {

void memory(const uintptr_t *begins, const size_t *sizes, unsigned count)
{
   gMemory.clear();
   gFound = {};
   for (unsigned i = 0; i < count; ++i) {
      const Range range = {begins[i], begins[i] + sizes[i]};
      if (!gMemory.empty() && range.fBegin < gMemory.back().fEnd)
         gMemory.back().fEnd = std::max(gMemory.back().fEnd, range.fEnd);
      else
         gMemory.push_back(range);
   }
}

void Begin(const Shape &shape, For waits, const float *shared, size_t stride)
{
   if (gObject.fEnd == 0)
      dl_iterate_phdr(FindObject, nullptr);
   gOwnStack = StackOfThread();
   gStack = {};
   gRuns = true;
   gGrid = shape.fGrid;
   gCluster = shape.fCluster;
   gName = shape.fName;
   gIsWhole = waits == For::kGrid;
   gBytes = shape.fShared;
   gStride = stride * sizeof(float);
   gShared = {reinterpret_cast<uintptr_t>(shared), reinterpret_cast<uintptr_t>(shared) + gGrid * gStride};
   gFailure.clear();
   ++gLaunch;
   gMore.assign(1, {});
   if (gPages.size() > kMostPages) {
      gPages.clear();
      gRecent.fill({});
   }
   gTo.clear();
   gFrom.clear();
   gEpochs.assign(gGrid, 0);
   gPublished.clear();
   const unsigned waiting = gIsWhole ? gGrid : 0;
   gKnown.assign(waiting, Clock(waiting, 0));
   gAcquired = gKnown;
   gVisits.assign(waiting * waiting, 0);
}

const char *End()
{
   for (size_t i = 0; i < gVisits.size() && gFailure.empty(); ++i) {
      const unsigned owner = i / gGrid, user = i % gGrid;
      if (gVisits[i] > gKnown[owner][user])
         gFailure = std::string(gName) + ": block " + std::to_string(user) + " uses what block " + std::to_string(owner) +
                    " shares, which does not wait for that before its end";
   }
   gRuns = false;
   return gFailure.empty() ? nullptr : gFailure.c_str();
}

void Stack(const void *begin, const void *end)
{
   gStack = {reinterpret_cast<uintptr_t>(begin), reinterpret_cast<uintptr_t>(end)};
}

bool HasFailed()
{
   return !gFailure.empty();
}

void Fail(const std::string &what)
{
   gFailure = std::string(gName) + ": thread " + std::to_string(threadIdx.x) + " of block " + std::to_string(blockIdx.x) + " " + what;
   Leave();
}

void Leaves(const float *to, const float *from)
{
   Access(from, sizeof *from, false);
   Access(to, sizeof *to, true);
   gTo.insert(reinterpret_cast<uintptr_t>(to));
   gFrom.insert(reinterpret_cast<uintptr_t>(from));
}

void Arrives(const float *to, const float *from)
{
   gTo.erase(reinterpret_cast<uintptr_t>(to));
   gFrom.erase(gFrom.find(reinterpret_cast<uintptr_t>(from)));
   Access(from, sizeof *from, false);
   Access(to, sizeof *to, true);
}

void Access(const void *pointer, size_t bytes, bool writes, bool isAtomic)
{
   const uintptr_t at = reinterpret_cast<uintptr_t>(pointer);
   if (!gRuns || bytes == 0 || gStack.Has(at, bytes) || gOwnStack.Has(at, bytes))
      return;
   if (pointer == &threadIdx || pointer == &blockIdx || pointer == &blockDim || pointer == &gridDim)
      return;
   const char *const does = writes ? "writes " : "reads ";
   const Found found = Find(at, bytes);
   if (found.fArea == Area::kNone)
      Fail(does + std::to_string(bytes) + " bytes outside of all memory");
   const bool isOneAccess = bytes <= 16 && (bytes & (bytes - 1)) == 0;
   if (isOneAccess && at % bytes != 0)
      Fail(does + std::to_string(bytes) + " bytes at " + Where(at, found) + ", no multiple of that");
   if (found.fArea == Area::kDynamic)
      Visit(found, at);
   const auto isOnItsWay = [&](const auto &places) {
      const auto next = places.lower_bound(at - at % 4);
      return next != places.end() && *next < at + bytes;
   };
   if (isOnItsWay(gTo) || (writes && isOnItsWay(gFrom)))
      Fail(does + Where(at, found) + " while a copy is on its way there");
   const Step now = {blockIdx.x * blockDim.x + threadIdx.x, gEpochs[blockIdx.x], 0, isAtomic};
   for (uintptr_t place = at / 4; place <= (at + bytes - 1) / 4; ++place) {
      Cell &cell = PageOf(place / (kPage / 4))[place % (kPage / 4)];
      // Each block has static memory of its own, which is the same here.
      const bool isOfOther = found.fArea == Area::kStatic && cell.fLaunch == gLaunch &&
                             (cell.fIsWritten ? cell.fWrite : cell.fRead).Block() != blockIdx.x;
      if (isOfOther && cell.fIsWritten && !writes)
         Fail(does + Where(at, found) + ", which another block has changed since");
      if (cell.fLaunch != gLaunch || isOfOther)
         cell = {gLaunch, false, false, {}, {}, 0};
      if (const Step *const other = Other(cell, now, writes))
         Fail(does + Where(at, found) + " while " + Name(*other) + " may " + (other == &cell.fWrite ? "write it" : "read it"));
      if (!writes) {
         Read(cell, now);
         continue;
      }
      // Of several atomic writes none is ordered before what follows.
      const auto &last = cell.fWrite;
      const bool isAnother = cell.fIsWritten && isAtomic && last.fIsAtomic && last.Block() == blockIdx.x && last.fEpoch == now.fEpoch &&
                             last.fThread != now.fThread;
      cell = {gLaunch, true, false, now, {}, 0};
      cell.fWrite.fIsAny = isAnother;
   }
}

void Met(unsigned block)
{
   ++gEpochs[block];
   if (gIsWhole)
      Join(gKnown[block], gAcquired[block]);
}

void Publish(const unsigned *arrived)
{
   const unsigned own = blockIdx.x;
   Clock clock = gKnown.at(own);
   clock[own] = gEpochs[own];
   if (const auto before = gPublished.find({arrived, *arrived}); before != gPublished.end())
      Join(clock, before->second);
   gPublished[{arrived, *arrived + 1}] = std::move(clock);
}

void Acquire(const unsigned *arrived, unsigned expected)
{
   Join(gAcquired[blockIdx.x], gPublished.at({arrived, expected}));
}

} // namespace Watch

// What -fsanitize=thread calls at each access.
#define CT_ACCESS(Bytes)                                                                                               \
   extern "C" void __tsan_read##Bytes(void *at) { Watch::Access(at, Bytes, false); }                                   \
   extern "C" void __tsan_write##Bytes(void *at) { Watch::Access(at, Bytes, true); }                                   \
   extern "C" void __tsan_unaligned_read##Bytes(void *at) { Watch::Access(at, Bytes, false); }                         \
   extern "C" void __tsan_unaligned_write##Bytes(void *at) { Watch::Access(at, Bytes, true); }
CT_ACCESS(1)
CT_ACCESS(2)
CT_ACCESS(4)
CT_ACCESS(8)
CT_ACCESS(16)
extern "C" void __tsan_read_range(void *at, size_t bytes)
{
   Watch::Access(at, bytes, false);
}
extern "C" void __tsan_write_range(void *at, size_t bytes)
{
   Watch::Access(at, bytes, true);
}
extern "C" void __tsan_init() {}
extern "C" void __tsan_func_entry(void *) {}
extern "C" void __tsan_func_exit() {}
extern "C" void __tsan_vptr_update(void **, void *) {}
extern "C" void __tsan_vptr_read(void **) {}
