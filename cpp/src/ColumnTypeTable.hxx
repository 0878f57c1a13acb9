/// \file ColumnTypeTable.hxx
/// \brief The functions of ColumnType as templates, and the list of element types.

#ifndef CLADTORCH_COLUMNTYPETABLE
#define CLADTORCH_COLUMNTYPETABLE

#include "ColumnType.hxx"

#include <ROOT/RDF/RActionImpl.hxx>
#include <TDataType.h>
#include <TROOT.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace CladTorch {
namespace Internal {

/// Converts `value`, a number or a range of numbers, to `target.fLength` floats: cut or padded.
/// \param out [target.fLength]
/// \return Whether all are finite; otherwise `bad` is the first that is not.
template <class T>
bool Flatten(const T &value, const ColumnTarget &target, float *out, double &bad)
{
   if constexpr (std::is_arithmetic<T>::value) {
      *out = static_cast<float>(value);
      bad = static_cast<double>(value);
      return std::isfinite(*out);
   } else {
      const std::size_t n = std::min<std::size_t>(value.size(), target.fLength);
      bool finite = true;
      for (std::size_t i = 0; i < n; ++i) {
         out[i] = static_cast<float>(value[i]);
         if (finite && !std::isfinite(out[i])) {
            finite = false;
            bad = static_cast<double>(value[i]);
         }
      }
      std::fill(out + n, out + target.fLength, target.fPad);
      return finite;
   }
}

/// Writes a column's numbers to a RowCollector.
template <class T>
class ColumnAction : public ROOT::Detail::RDF::RActionImpl<ColumnAction<T>> {
public:
   using Result_t = RowCollector;

   ColumnAction(std::shared_ptr<RowCollector> collector, ColumnTarget target)
      : fCollector(std::move(collector)), fTarget(std::move(target))
   {
   }
   ColumnAction(ColumnAction &&) = default;

   std::shared_ptr<RowCollector> GetResultPtr() const { return fCollector; }
   std::string GetActionName() const { return "CladTorch::Column"; }
   void Initialize() {}
   void InitTask(TTreeReader *, unsigned int) {}
   void Finalize() {}
   void Exec(unsigned int slot, const T &value)
   {
      double bad = 0;
      if (!Flatten(value, fTarget, fCollector->Row(slot, fTarget), bad))
         fCollector->NoteBadValue(slot, fTarget, bad);
   }

private:
   std::shared_ptr<RowCollector> fCollector;
   ColumnTarget fTarget;
};

template <class T>
ROOT::RDF::RResultPtr<RowCollector>
BookColumn(ROOT::RDF::RNode &frame, std::shared_ptr<RowCollector> collector, const ColumnTarget &target)
{
   return frame.Book<T>(ColumnAction<T>(std::move(collector), target), {target.fName});
}

template <class T>
ROOT::RDF::RNode
DefineLink(ROOT::RDF::RNode &frame, const std::string &link, const std::string &previous, const ColumnTarget &target)
{
   auto follow = [target](const RowLink &before, const T &value) {
      RowLink now{&before, ROOT::RVecF(target.fLength)};
      double bad = 0;
      Flatten(value, target, now.fValues.data(), bad); // the network answers NaN with NaN
      return now;
   };
   return frame.Define(link, follow, {previous, target.fName});
}

template <class T>
const ColumnType *TypeOf()
{
   static const ColumnType type{std::is_arithmetic<T>::value, BookColumn<T>, DefineLink<T>};
   return &type;
}

/// The list of element types; `Shape` makes a column type of one.
template <template <class> class Shape>
const ColumnType *FindByElement(const std::string &element)
{
   // RNTuple's 8-bit integers are the only ones that are not plain char.
   if (element == "signed char" || element == "std::int8_t" || element == "int8_t")
      return TypeOf<Shape<signed char>>();
   const TDataType *type = gROOT->GetType(element.c_str());
   switch (type ? type->GetType() : 0) {
   case kBool_t: return TypeOf<Shape<bool>>();
   case kChar_t: return TypeOf<Shape<char>>();
   case kUChar_t: return TypeOf<Shape<unsigned char>>();
   case kShort_t: return TypeOf<Shape<short>>();
   case kUShort_t: return TypeOf<Shape<unsigned short>>();
   case kInt_t: return TypeOf<Shape<int>>();
   case kUInt_t: return TypeOf<Shape<unsigned int>>();
   case kLong_t: return TypeOf<Shape<long>>();
   case kULong_t: return TypeOf<Shape<unsigned long>>();
   case kLong64_t: return TypeOf<Shape<long long>>();
   case kULong64_t: return TypeOf<Shape<unsigned long long>>();
   case kFloat_t:
   case kFloat16_t: return TypeOf<Shape<float>>();
   case kDouble_t:
   case kDouble32_t: return TypeOf<Shape<double>>();
   default: return nullptr;
   }
}

} // namespace Internal
} // namespace CladTorch

#endif
