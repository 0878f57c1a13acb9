// ROOT's readers in `cargo xtask bench read`, compiled: `read WHO THREADS`, WHO one of root-bulk, root-bulk-columns,
// root-getentry, rdf-take and rdf-imt.
//
//     case file=F tree=T columns=x/F,y/D,n/I length=0
//
// The letter is the leaf's type. With a length all columns are RVec<float> (letter V), of which so many are taken, with
// zeros for what is missing.

#include "checksum.h"
#include "lines.h"

#include <ROOT/RDataFrame.hxx>
#include <ROOT/RVec.hxx>
#include <TBranch.h>
#include <TBufferFile.h>
#include <TFile.h>
#include <TROOT.h>
#include <TTree.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

struct Column {
   std::string fName;
   char fType;
};

struct Request {
   std::string fFile, fTree;
   std::vector<Column> fColumns;
   std::size_t fLength; // 0: scalars

   explicit Request(const Values &options)
      : fFile(options.at("file")), fTree(options.at("tree")), fLength(std::stoul(options.at("length")))
   {
      for (const auto &column : Cut(options.at("columns"), ','))
         fColumns.push_back({column.substr(0, column.find('/')), column.back()});
   }
   std::size_t Width() const { return fColumns.size() * std::max<std::size_t>(fLength, 1); }
};

/// Leaves numbers uninitialised: the reader writes each of them anyway.
struct Unwritten : std::allocator<float> {
   template <class>
   struct rebind {
      using other = Unwritten;
   };
   void construct(float *) const {}
   void construct(float *place, float value) const { *place = value; }
};

using Numbers = std::vector<float, Unwritten>;

/// [N, F], row-major; [F, N] where `fColumnar`.
struct Table {
   Numbers fNumbers;
   bool fColumnar = false;
};

/// [F, N] as [N, F], in blocks of rows that stay in the cache.
Numbers Transposed(const Numbers &columns, std::size_t width)
{
   const auto rows = columns.size() / width;
   Numbers matrix(columns.size());
   constexpr std::size_t kBlock = 64;
   for (std::size_t first = 0; first < rows; first += kBlock) {
      for (std::size_t f = 0; f < width; ++f) {
         for (auto row = first; row < std::min(rows, first + kBlock); ++row)
            matrix[row * width + f] = columns[f * rows + row];
      }
   }
   return matrix;
}

/// Calls `work` with a value of the column's type.
template <class Work>
auto WithType(const Column &column, Work &&work)
{
   switch (column.fType) {
   case 'F': return work(float());
   case 'D': return work(double());
   case 'I': return work(int());
   default: throw std::invalid_argument("this reader does not take column '" + column.fName + "'");
   }
}

// ---- bulk reading ----

struct Tree {
   std::unique_ptr<TFile> fFile;
   TTree *fTree;

   explicit Tree(const Request &request)
      : fFile(TFile::Open(request.fFile.c_str())), fTree(fFile ? fFile->Get<TTree>(request.fTree.c_str()) : nullptr)
   {
      if (!fTree)
         throw std::runtime_error("no tree " + request.fTree + " in " + request.fFile);
   }
};

template <class T>
void ReadBulk(TBranch &branch, float *numbers, Long64_t rows)
{
   TBufferFile buffer(TBuffer::kWrite, 32 * 1024);
   for (Long64_t entry = 0; entry < rows;) {
      const auto count = branch.GetBulkRead().GetBulkEntries(entry, buffer);
      if (count <= 0)
         throw std::runtime_error(std::string("GetBulkEntries does not read column ") + branch.GetName());
      const auto values = reinterpret_cast<const T *>(buffer.GetCurrent());
      std::copy(values, values + count, numbers + entry);
      entry += count;
   }
}

Table Bulk(const Request &request, bool columnar)
{
   const Tree tree(request);
   const auto rows = tree.fTree->GetEntries();
   Numbers columns(rows * request.fColumns.size());
   auto numbers = columns.data();
   for (const auto &column : request.fColumns) {
      WithType(column, [&](auto value) {
         ReadBulk<decltype(value)>(*tree.fTree->GetBranch(column.fName.c_str()), numbers, rows);
      });
      numbers += rows;
   }
   return {columnar ? std::move(columns) : Transposed(columns, request.fColumns.size()), columnar};
}

// ---- entry by entry ----

/// An entry's value of one column, and its conversion to numbers of the row.
class Cell {
public:
   virtual ~Cell() = default;
   virtual void Store(float *row) const = 0;
};

template <class T>
class ScalarCell : public Cell {
public:
   ScalarCell(TTree &tree, const std::string &name) { tree.SetBranchAddress(name.c_str(), &fValue); }
   void Store(float *row) const override { *row = fValue; }

private:
   T fValue = 0;
};

/// What stands in front is taken, the rest is 0.
void StoreVector(const ROOT::RVec<float> &values, std::size_t length, float *row)
{
   const auto taken = std::min(values.size(), length);
   std::fill(std::copy_n(values.begin(), taken, row), row + length, 0.f);
}

class VectorCell : public Cell {
public:
   VectorCell(TTree &tree, const std::string &name, std::size_t length) : fLength(length)
   {
      tree.SetBranchAddress(name.c_str(), &fPointer);
   }
   void Store(float *row) const override { StoreVector(fValues, fLength, row); }

private:
   ROOT::RVec<float> fValues, *fPointer = &fValues;
   std::size_t fLength;
};

Table GetEntry(const Request &request)
{
   const Tree tree(request);
   const auto step = std::max<std::size_t>(request.fLength, 1);
   std::vector<std::unique_ptr<Cell>> cells;
   for (const auto &column : request.fColumns) {
      if (request.fLength)
         cells.push_back(std::make_unique<VectorCell>(*tree.fTree, column.fName, request.fLength));
      else
         WithType(column, [&](auto value) {
            cells.push_back(std::make_unique<ScalarCell<decltype(value)>>(*tree.fTree, column.fName));
         });
   }
   const auto rows = tree.fTree->GetEntries();
   Table table{Numbers(rows * request.Width())};
   auto row = table.fNumbers.data();
   for (Long64_t entry = 0; entry < rows; ++entry) {
      tree.fTree->GetEntry(entry);
      for (const auto &cell : cells) {
         cell->Store(row);
         row += step;
      }
   }
   tree.fTree->ResetBranchAddresses();
   return table;
}

// ---- data frames ----

/// For each row of what was taken its entry: with threads, `Take` gives ranges of entries in any order.
using Order = std::vector<ULong64_t>;
/// Books a column; what it returns stores it in a matrix after the event loop.
using Store = std::function<void(Numbers &, const Order &)>;

/// Books the first entry of the range that each row came with.
ROOT::RDF::RResultPtr<std::vector<ULong64_t>> TakeRanges(ROOT::RDataFrame &frame)
{
   const auto first = [](unsigned, const ROOT::RDF::RSampleInfo &sample) { return sample.EntryRange().first; };
   return frame.DefinePerSample("bench_first", first).Take<ULong64_t>("bench_first");
}

/// In the event loop that was booked so far.
Order Entries(ROOT::RDataFrame &frame)
{
   if (!ROOT::IsImplicitMTEnabled()) {
      Order entries(*frame.Count());
      std::iota(entries.begin(), entries.end(), 0);
      return entries;
   }
   // The rows of a range follow one another.
   auto first = *TakeRanges(frame);
   ULong64_t range = -1, next = 0;
   for (auto &entry : first) {
      if (entry != range)
         next = range = entry;
      entry = next++;
   }
   return first;
}

template <class T>
Store Take(ROOT::RDataFrame &frame, const std::string &name, std::size_t offset, std::size_t width)
{
   return [taken = frame.Take<T>(name), offset, width](Numbers &matrix, const Order &order) mutable {
      const auto &values = *taken;
      for (std::size_t i = 0; i < values.size(); ++i)
         matrix[order[i] * width + offset] = values[i];
   };
}

Store TakeVector(ROOT::RDataFrame &frame, const std::string &name, std::size_t offset, const Request &request)
{
   return [taken = frame.Take<ROOT::RVec<float>>(name), offset, width = request.Width(), length = request.fLength](
             Numbers &matrix, const Order &order) mutable {
      const auto &values = *taken;
      for (std::size_t i = 0; i < values.size(); ++i)
         StoreVector(values[i], length, &matrix[order[i] * width + offset]);
   };
}

Table DataFrame(const Request &request)
{
   ROOT::RDataFrame frame(request.fTree, request.fFile);
   std::vector<Store> columns;
   for (const auto &column : request.fColumns) {
      if (request.fLength)
         columns.push_back(TakeVector(frame, column.fName, columns.size() * request.fLength, request));
      else
         columns.push_back(WithType(column, [&](auto value) {
            return Take<decltype(value)>(frame, column.fName, columns.size(), request.Width());
         }));
   }
   const auto order = Entries(frame);
   Table table{Numbers(order.size() * request.Width())};
   for (auto &column : columns)
      column(table.fNumbers, order);
   return table;
}

// ---- parties ----

Table Read(const std::string &who, const Values &options)
{
   const Request request(options);
   if (who == "root-bulk" || who == "root-bulk-columns")
      return Bulk(request, who == "root-bulk-columns");
   return who == "root-getentry" ? GetEntry(request) : DataFrame(request);
}

double Check(const Values &options, const Table &table)
{
   const auto &numbers = table.fNumbers;
   const auto matrix = table.fColumnar ? Transposed(numbers, Request(options).Width()) : numbers;
   return Checksum(matrix.data(), matrix.size());
}

int main(int, char **arguments)
{
   const std::string who = arguments[1];
   if (who == "rdf-imt")
      ROOT::EnableImplicitMT(std::stoi(arguments[2]));
   ServeRounds([&](const Values &options, unsigned long) { return Read(who, options); }, Check);
}
