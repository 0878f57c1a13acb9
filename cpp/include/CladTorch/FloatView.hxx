/// \file CladTorch/FloatView.hxx
/// \brief A read-only look at numbers that CladTorch holds.

#ifndef CLADTORCH_FLOATVIEW
#define CLADTORCH_FLOATVIEW

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

struct _object; // Python's PyObject

namespace CladTorch {

/// Float32 numbers in row-major order, [rows] or [rows, columns], without a copy.
///
/// The view shares the memory it shows: it stays valid and unchanged for as long as it lives, whatever happens to the
/// dataset or model that it came from. In Python it carries NumPy's array interface: `np.asarray(view)` is zero copy.
class FloatView {
public:
   /// A view of `columns` numbers a row, or of a plain list where `columns` is 0. `owner` keeps `data` alive.
   FloatView(const float *data, std::size_t rows, std::size_t columns, std::shared_ptr<const void> owner)
      : fData(data), fRows(rows), fColumns(columns), fOwner(std::move(owner))
   {
   }
   // Copies only: what was moved from would be left without anything to point to.
   FloatView(const FloatView &) = default;
   FloatView &operator=(const FloatView &) = default;

   const float *Data() const { return fData; }
   /// The address of the first number, for array interfaces.
   std::uintptr_t Address() const { return reinterpret_cast<std::uintptr_t>(fData); }
   std::size_t Rows() const { return fRows; }
   /// Numbers in a row; 1 for a list.
   std::size_t Columns() const { return fColumns ? fColumns : 1; }
   /// 1 for a list, 2 for a matrix.
   int Rank() const { return fColumns ? 2 : 1; }
   std::size_t Size() const { return Rows() * Columns(); }

   const float *begin() const { return fData; }
   const float *end() const { return fData + Size(); }
   /// Not checked: `row < Rows()`, `column < Columns()`.
   float operator()(std::size_t row, std::size_t column = 0) const { return fData[row * Columns() + column]; }

   /// Called by PyROOT when it meets this class: adds the array interface.
   static void __cppyy_pythonize__(_object *pyclass, const std::string &name);

private:
   const float *fData;
   std::size_t fRows;
   std::size_t fColumns;
   std::shared_ptr<const void> fOwner;
};

} // namespace CladTorch

#endif
