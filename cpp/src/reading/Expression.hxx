/// \file Expression.hxx
/// \brief Expressions over a data frame's columns.

#ifndef CLADTORCH_SRC_EXPRESSION
#define CLADTORCH_SRC_EXPRESSION

#include <ROOT/RDataFrame.hxx>

#include <set>
#include <string>

namespace CladTorch {
namespace Internal {

/// Whether `text` could only be the name of a column: letters, digits, `_`, `.`, `:`, `#`.
bool IsPlainName(const std::string &text);

/// Translates `text` to C++ for `Filter` and `Define`: `list[i]` of a list column is checked against its length, and
/// `Sum$`, `Min$`, `Max$` and `Length$` are those of TTree::Draw. Throws for the other uses of `$` in TTree::Draw, and
/// for `^`, which is a power there and an exclusive or in C++.
/// \param reads Receives the columns that it reads.
std::string ToCpp(ROOT::RDF::RNode frame, const std::string &text, std::set<std::string> &reads);

/// Likely faults of `text`, which does not compile: " (it has no column 'm_bbb'; the nearest of its 28: 'm_bb', ...)"
/// for each name that is neither a column nor known to the interpreter, and '=' instead of '=='.
std::string LikelyFaults(ROOT::RDF::RNode frame, const std::string &text);

/// `text` as a string literal without letters: data frames replace the names of columns even in literals.
std::string StringLiteral(const std::string &text);

/// Lets the interpreter see CladTorch/Expression.hxx.
void DeclareExpressions();

/// A name for a column that data frames do not list, a new one each time.
std::string HiddenName();

/// Whether `column` is such a name, which messages should not show.
bool IsHidden(const std::string &column);

/// Adds a column of C++ code under such a name, and returns the name.
std::string DefineHidden(ROOT::RDF::RNode &frame, const std::string &code);

} // namespace Internal
} // namespace CladTorch

#endif
