/// \file CladTorch/View.hxx
/// \brief A read-only view of data that CladTorch owns.

#include <CladTorch/Load.hxx>

#ifndef CLADTORCH_VIEW
#define CLADTORCH_VIEW

#include <ROOT/RVec.hxx>
#include <RtypesCore.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

struct _object; // Python's PyObject

namespace CladTorch {

namespace Internal {
/// Throws unless `numbers` is a multiple of `columns`.
std::size_t RowsOf(std::size_t numbers, std::size_t columns);

/// Throws for a null pointer with rows, and for sizes that exceed the address space.
void CheckMemory(const void *data, std::size_t rows, std::size_t columns, std::size_t bytesEach);

/// Whether the plugin has views of T. `Long64_t` is `long long`, a type of its own beside `std::int64_t`.
template <class T>
constexpr bool kIsNumber = std::is_same<T, float>::value || std::is_same<T, double>::value ||
                           std::is_same<T, std::int64_t>::value || std::is_same<T, Long64_t>::value;
} // namespace Internal

/// Numbers of type T (`float`, `double`, `std::int64_t` or ROOT's `Long64_t`) in row-major order, [rows] or
/// [rows, columns], without a copy.
///
/// The view shares ownership of the memory: the numbers stay valid and unchanged for as long as it lives, whatever
/// happens to the dataset or model that it came from. In Python it supports NumPy's array interface and DLPack:
/// `np.asarray(view)`, `np.from_dlpack(view)` and `torch.from_dlpack(view)` make no copy, indexing works as for NumPy's
/// arrays, and `FloatView(array)` makes a view of an array of one or two dimensions. Integers that T cannot hold are
/// refused.
template <class T>
class View {
   // Checked here, because after a linker error ROOT's interpreter runs no further statement of the session.
   static_assert(Internal::kIsNumber<T>,
                 "CladTorch::View and CladTorch::Jagged hold float, double, std::int64_t or Long64_t: use one of them");

public:
   /// A view of `columns` elements per row, or of a plain list if `columns` is 0. `owner` keeps `data` alive. Throws
   /// CladTorch::Error for a null pointer with rows.
   View(const T *data, std::size_t rows, std::size_t columns, std::shared_ptr<const void> owner)
      : fData(data), fRows(rows), fColumns(columns), fOwner(std::move(owner))
   {
      Internal::CheckMemory(data, rows, columns, sizeof(T));
   }
   /// An empty view.
   View() : View(std::vector<T>()) {}
   /// [values.size()]: takes ownership of `values`.
   View(std::vector<T> values) : View(std::make_shared<const std::vector<T>>(std::move(values))) {}
   // Not movable: a moved-from object would hold a null pointer.
   View(const View &) = default;
   View &operator=(const View &) = default;

   const T *Data() const { return fData; }
   /// The address of the first number, for array interfaces.
   std::uintptr_t Address() const { return reinterpret_cast<std::uintptr_t>(fData); }
   std::size_t Rows() const { return fRows; }
   /// Elements per row; 1 for a list.
   std::size_t Columns() const { return fColumns ? fColumns : 1; }
   /// 1 for a list, 2 for a matrix.
   int Rank() const { return fColumns ? 2 : 1; }
   std::size_t Size() const { return Rows() * Columns(); }

   const T *begin() const { return fData; }
   const T *end() const { return fData + Size(); }
   /// Not checked: `row < Rows()`, `column < Columns()`.
   T operator()(std::size_t row, std::size_t column = 0) const { return fData[row * Columns() + column]; }

   /// The same numbers as rows of `columns` each. Example: predictions [N, C], which come as one list,
   /// `FloatView(model.Predict(data)).Reshape(model.Outputs())`. Throws CladTorch::Error if the last row is not full.
   View Reshape(std::size_t columns) const { return {fData, Internal::RowsOf(Size(), columns), columns, fOwner}; }
   /// A copy of all numbers, [Size()].
   ROOT::RVec<T> ToRVec() const { return ROOT::RVec<T>(begin(), end()); }

   /// Called by PyROOT when it meets this class: adds the array interfaces.
   static void __cppyy_pythonize__(_object *pyclass, const std::string &name);
   /// For Python's `__dlpack__`.
   _object *DLPackCapsule(bool versioned, bool copied) const;

private:
   explicit View(std::shared_ptr<const std::vector<T>> values) : View(values->data(), values->size(), 0, values) {}

   const T *fData;
   std::size_t fRows;
   std::size_t fColumns;
   std::shared_ptr<const void> fOwner;
};

using FloatView = View<float>;

} // namespace CladTorch

#endif
