/// \file CladTorch/Jagged.hxx
/// \brief One column of a source with its own number type and lists of any length.

#include <CladTorch/Load.hxx>

#ifndef CLADTORCH_JAGGED
#define CLADTORCH_JAGGED

#include <CladTorch/Source.hxx>
#include <CladTorch/View.hxx>

#include <ROOT/RVec.hxx>

#include <cstddef>
#include <cstdint>
#include <string>

namespace CladTorch {

/// The concatenated values of N events, with the offset of each event. T is `float`, `double`,
/// `std::int64_t` or ROOT's `Long64_t`.
///
/// ~~~{.cpp}
/// auto jets = CladTorch::Jagged<double>::Read({"events", "run.root"}, "jet_pt", "n_jet > 0");
/// auto first = jets.Values()(jets.Offsets()(0));
/// auto run = CladTorch::Jagged<std::int64_t>::Read(frame, "run").Values(); // a scalar column: [N]
/// ~~~
///
/// In Python, where the type is chosen by `Jagged["double"]`, `jets[i]` is a NumPy array without a copy, read only; a
/// slice, a list of indices or a mask makes a Jagged of these events, with a copy of their values.
template <class T>
class Jagged {
public:
   /// \param offsets [N + 1], starting at 0, non-decreasing, none beyond the end of `values`; throws CladTorch::Error
   ///        otherwise.
   Jagged(const View<T> &values, const View<std::int64_t> &offsets);
   // Not movable: a moved-from object would hold a null pointer.
   Jagged(const Jagged &) = default;
   Jagged &operator=(const Jagged &) = default;

   /// Reads one column (or expression, see Dataset) of the events of `source` that pass `cut`, in the order of the
   /// entries. ROOT's data frame reads it; columns that it does not read reliably are refused, see Dataset::SetReader.
   /// Cut and expression are code: never take them from text that you do not trust.
   ///
   /// `double` and `std::int64_t` take the numbers exactly or throw a CladTorch::Error that names the entry: integers
   /// from 2^53 on do not fit `double`; fractions, NaN and unsigned integers from 2^63 on do not fit `std::int64_t`.
   /// `float` rounds.
   static Jagged Read(const Source &source, const std::string &column, const std::string &cut = "");

   /// Events, N.
   std::size_t Rows() const { return fOffsets.Size() - 1; }
   /// [Offsets()(N)], or longer if it was constructed so.
   const View<T> &Values() const { return fValues; }
   /// [N + 1], starting at 0: event i has the values in [offset i, offset i + 1).
   const View<std::int64_t> &Offsets() const { return fOffsets; }
   /// A copy of the values of one event. Not checked: `row < Rows()`.
   ROOT::RVec<T> operator[](std::size_t row) const
   {
      return ROOT::RVec<T>(fValues.Data() + fOffsets(row), fValues.Data() + fOffsets(row + 1));
   }
   /// [N, length], each event cut or padded. Throws for a length of 0 and for a result that exceeds the memory of the
   /// machine.
   View<T> Padded(std::size_t length, T pad = 0) const;

   /// Called by PyROOT when it meets this class: checks and names arguments, copies.
   static void __cppyy_pythonize__(_object *pyclass, const std::string &name);

private:
   View<T> fValues;
   View<std::int64_t> fOffsets;
};

} // namespace CladTorch

#endif
