#include "Resolve.hxx"

#include "Expression.hxx"
#include "Frame.hxx"
#include "RootChecks.hxx"
#include "TreeColumn.hxx"

#include <TInterpreter.h>

#include <regex>
#include <sstream>
#include <stdexcept>

namespace CladTorch {
namespace Internal {

namespace {

/// Throws for code that a data frame would take for the body of a function.
void CheckExpression(const std::string &code)
{
   if (std::regex_search(code, std::regex("\\breturn\\b")))
      throw std::runtime_error("it contains 'return': give an expression, and functions to gInterpreter->Declare");
}

std::string DefineExpression(ROOT::RDF::RNode &frame, ColumnTarget &target, const std::string &source)
{
   const auto refused = [&](const std::exception &e, const std::string &faults) {
      return std::runtime_error(source + " has no column '" + target.fColumn + "', and as an expression it does not work:" + faults +
                                " " + e.what());
   };
   std::string code;
   try {
      code = ToCpp(frame, target.fColumn, target.fReads);
      CheckExpression(code);
   } catch (const std::exception &e) {
      throw refused(e, "");
   }
   CheckColumns(frame, target.fReads, source); // first, or the compiler may reject a type that is not read anyway
   try {
      // As the type of a column, void would make each later event loop of the session fail.
      DeclareExpressions();
      return DefineHidden(frame, "CladTorch::Internal::Value(" + code + ')');
   } catch (const std::exception &e) {
      throw refused(e, LikelyFaults(frame, target.fColumn));
   }
}

/// A float literal that C++ reads back exactly.
std::string Literal(float value)
{
   std::ostringstream text;
   text << std::hexfloat << value << "f";
   return text.str();
}

/// C++ code that makes a flat list of `lists`; "" if that is not possible.
std::string Conversion(const TypeShape &shape, const ColumnTarget &target)
{
   const std::string call = "CladTorch::Internal::";
   const auto inner = std::to_string(target.fInner);
   if (shape.fContainers.size() == 1)
      return call + "Flat(lists)";
   if (shape.fContainers.size() != 2 || target.fInner == 0)
      return "";
   if (target.fMask)
      return call + "Filled(lists, " + inner + ")";
   return call + "Padded(lists, " + inner + ", " + Literal(target.fPad) + ")";
}

/// Adds a column that `conversion` makes of the `lists` in `column`, and returns its name. The interpreter gets a
/// function, not an expression: the column's name may not be a C++ name (`tracks.fMass[2]`).
std::string DefineConverted(ROOT::RDF::RNode &frame, const std::string &column, const std::string &type,
                            const std::string &conversion)
{
   DeclareExpressions();
   const auto name = HiddenName();
   std::ostringstream code;
   code << "{ auto &frame = *reinterpret_cast<ROOT::RDF::RNode *>(" << static_cast<const void *>(&frame)
        << "); frame = frame.Define(\"" << name << "\", [](const " << type << " &lists) { return " << conversion
        << "; }, {" << StringLiteral(column) << "}); }";
   auto error = TInterpreter::kNoError;
   gInterpreter->ProcessLine(code.str().c_str(), &error);
   if (error != TInterpreter::kNoError || !frame.HasColumn(name))
      throw std::runtime_error("column '" + column + "' of type " + type +
                               " cannot be converted: see the interpreter's message above");
   return name;
}

[[noreturn]] void RefuseType(const TypeShape &shape, const std::string &type, const std::string &column)
{
   if (shape.fContainers.size() == 2)
      throw std::runtime_error(column + " holds lists of lists (" + type +
                               "): give their number and length with Dataset::Column(name, {lists, numbers})");
   throw std::runtime_error(column + " has type " + type +
                            ", which holds no list of numbers: define a column of an arithmetic type or a ROOT::RVec of "
                            "one from it");
}

/// Scalars take one value; a longer row needs a column of several.
void CheckShape(bool scalar, const ColumnTarget &target, const std::string &type, const std::string &column)
{
   if (scalar && (target.fLength > 1 || target.fMask))
      throw std::runtime_error(column + " is a scalar (" + type + "), but " +
                               (target.fMask ? "a mask" : std::to_string(target.fLength) + " numbers an event") +
                               " were asked for");
   if (!scalar && target.fScalar && !target.fOfObjects)
      throw std::runtime_error(column + " has several numbers an event (" + type + "): " +
                               (target.fPart == ColumnTarget::kFeatures
                                   ? "give one by an expression, such as \"Sum$(" + target.fName +
                                       ")\", or several with Dataset::Column(\"" + target.fName + "\", length)"
                                   : "labels and weights need one, define a scalar column from it"));
}

} // namespace

const ColumnType &Resolve(ROOT::RDF::RNode &frame, ColumnTarget &target, const std::string &source)
{
   const auto column = "column '" + (IsHidden(target.fColumn) ? target.fName : target.fColumn) + "' of " + source;
   target.fReads.clear();
   target.fColumn = NameInFrame(frame, target.fColumn);
   if (frame.HasColumn(target.fColumn))
      target.fReads.insert(target.fColumn);
   else if (!IsPlainName(target.fColumn))
      target.fColumn = DefineExpression(frame, target, source);
   const auto type = TypeOfColumn(frame, target.fColumn, source);
   const auto shape = ShapeOf(type);
   const auto *found = FindColumnType(type);
   if (!found && FindScalarType(shape.fElement)) {
      CheckColumns(frame, target.fReads, source); // first, so that advice to give a shape does not lead to a refusal
      CheckShape(false, target, type, column);
      const auto conversion = Conversion(shape, target);
      if (conversion.empty())
         RefuseType(shape, type, column);
      target.fColumn = DefineConverted(frame, target.fColumn, type, conversion);
      target.fMask = target.fMask && shape.fContainers.size() == 1;
      found = FindColumnType(frame.GetColumnType(target.fColumn));
   }
   if (!found) {
      CheckColumns(frame, target.fReads, source);
      RefuseType(shape, type, column);
   }
   CheckShape(found->fScalar, target, type, column);
   return *found;
}

} // namespace Internal
} // namespace CladTorch
