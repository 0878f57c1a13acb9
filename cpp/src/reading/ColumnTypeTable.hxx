/// \file ColumnTypeTable.hxx
/// \brief The functions of ColumnType as templates, and the list of element types.

#ifndef CLADTORCH_COLUMNTYPETABLE
#define CLADTORCH_COLUMNTYPETABLE

#include "ColumnType.hxx"
#include "Flatten.hxx"

#include <ROOT/RDF/RActionImpl.hxx>
#include <TDataType.h>
#include <TROOT.h>

#include <type_traits>

namespace CladTorch {
namespace Internal {

/// Hands a column's values to a collector.
template <class T>
class ColumnAction : public ROOT::Detail::RDF::RActionImpl<ColumnAction<T>> {
public:
   using Result_t = Collector;

   ColumnAction(std::shared_ptr<Collector> collector, ColumnTarget target)
      : fCollector(std::move(collector)), fTarget(std::move(target))
   {
   }
   ColumnAction(ColumnAction &&) = default;

   std::shared_ptr<Collector> GetResultPtr() const { return fCollector; }
   std::string GetActionName() const { return "CladTorch::Column"; }
   void Initialize() {}
   void InitTask(TTreeReader *, unsigned int) {}
   void Finalize() {}
   void Exec(unsigned int slot, const T &value)
   {
      WithNumbers(value, [&](const Numbers &numbers) { fCollector->Take(slot, fTarget, numbers); });
   }

private:
   std::shared_ptr<Collector> fCollector;
   ColumnTarget fTarget;
};

template <class T>
ROOT::RDF::RResultPtr<Collector>
BookColumn(ROOT::RDF::RNode &frame, std::shared_ptr<Collector> collector, const ColumnTarget &target)
{
   return frame.Book<T>(ColumnAction<T>(std::move(collector), target), {target.fColumn});
}

template <class T>
ROOT::RDF::RNode
DefineLink(ROOT::RDF::RNode &frame, const std::string &link, const std::string &previous, const ColumnTarget &target)
{
   auto follow = [target](const RowLink &before, const T &value) {
      RowLink now{&before, {}};
      std::string bad; // the network answers NaN with NaN
      WithNumbers(value, [&](const Numbers &numbers) {
         now.fValues.resize(target.fOfObjects ? numbers.fCount : target.fLength);
         Flatten(numbers, target, now.fValues.data(), bad);
      });
      return now;
   };
   return frame.Define(link, follow, {previous, target.fColumn});
}

template <class T>
const ColumnType *TypeOf()
{
   static const ColumnType type{std::is_arithmetic<T>::value, BookColumn<T>, DefineLink<T>};
   return &type;
}

/// The list of element types; `Shape` makes a column type of each.
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
