/// \file CladTorch/Label.hxx
/// \brief The label of the events of a source: a number, a column, or several target columns.

#include <CladTorch/Load.hxx>

#ifndef CLADTORCH_LABEL
#define CLADTORCH_LABEL

#include <initializer_list>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

struct _object;

namespace CladTorch {

/// The label of the events of a source: a number for all events, a scalar column or expression, or a list of columns or
/// expressions, the targets of a regression. Each of these converts to a Label implicitly.
///
/// ~~~{.cpp}
/// data.Add("signal", "run.root", 1);                                  // a class
/// data.Add("events", "run.root", "isSignal");                         // a column
/// data.Add("events", "run.root", {"energy", "atan2(py, px)"}, "n > 3"); // two targets, and a cut
/// ~~~
class Label {
public:
   Label(double number) : fNumber(number) {}
   /// Makes the literal 0 a number instead of a null pointer.
   template <class Integer, std::enable_if_t<std::is_integral<Integer>::value, int> = 0>
   Label(Integer number) : fNumber(static_cast<double>(number))
   {
   }
   Label(const std::string &column) : fColumns{column}, fIsNumber(false) {}
   /// A null pointer becomes an empty name, which Add refuses.
   Label(const char *column) : Label(std::string(column ? column : "")) {}
   /// Overload resolution prefers this constructor for `{"a", "b"}`, so that it never becomes a std::string made from
   /// two iterators.
   Label(std::initializer_list<std::string> columns) : Label(std::vector<std::string>(columns)) {}
   Label(std::vector<std::string> columns) : fColumns(std::move(columns)), fIsNumber(false) {}

   bool IsNumber() const { return fIsNumber; }
   /// 0 if the label comes from columns.
   double Number() const { return fNumber; }
   /// Empty if the label is a number.
   const std::vector<std::string> &Columns() const { return fColumns; }

   /// Called by PyROOT when it meets this class: copies.
   static void __cppyy_pythonize__(_object *pyclass, const std::string &name);

private:
   double fNumber = 0;
   std::vector<std::string> fColumns;
   bool fIsNumber = true;
};

} // namespace CladTorch

#endif
