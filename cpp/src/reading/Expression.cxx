#include "Expression.hxx"

#include "ColumnType.hxx"
#include "Frame.hxx"

#include <TInterpreter.h>
#include <TROOT.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstring>
#include <iomanip>
#include <sstream>
#include <stdexcept>

namespace CladTorch {
namespace Internal {

namespace {

const std::string kHidden = "rdf_cladtorch_expression_";

bool IsNameCharacter(char letter)
{
   return std::isalnum(static_cast<unsigned char>(letter)) || letter == '_';
}

/// Translates from left to right.
class Translator {
public:
   Translator(ROOT::RDF::RNode frame, const std::string &text, std::set<std::string> &reads)
      : fFrame(frame), fText(text), fReads(reads)
   {
   }

   std::string All() { return Until('\0'); }

   /// The names of All() that are not columns but stand in the place of one.
   const std::set<std::string> &Others() const { return fOthers; }

private:
   /// Translates up to, not including, a closing bracket that was not opened here; '\0' stands for the end.
   std::string Until(char end)
   {
      std::string code;
      int depth = 0, others = 0;
      while (fAt < fText.size()) {
         const char letter = fText[fAt];
         if (letter == end && depth == 0)
            return code;
         depth += (letter == '[') - (letter == ']');
         others += (letter == '(' || letter == '{') - (letter == ')' || letter == '}');
         if (others < 0)
            throw std::runtime_error("'" + fText + "' closes a bracket that it does not open");
         if (depth == 0 && others == 0)
            CheckSeparators(letter, code);
         if (letter == '"' || letter == '\'')
            code += Quoted(letter);
         else if (std::isdigit(static_cast<unsigned char>(letter)))
            code += Word(); // 1e5f, 0x1F
         else if (IsNameCharacter(letter))
            code += Named();
         else if (letter == '^')
            throw std::runtime_error("'" + fText + "' contains '^', the exclusive or of C++: write "
                                     "std::pow(x, 2) for a power, or xor if you mean it");
         else if (fText.compare(fAt, 2, "//") == 0 || fText.compare(fAt, 2, "/*") == 0)
            throw std::runtime_error("'" + fText + "' contains '" + fText.substr(fAt, 2) + "', where a comment begins in C++");
         else if (fText.compare(fAt, 2, "**") == 0)
            throw std::runtime_error("'" + fText + "' contains '**', which is no power in C++: write std::pow(x, 2)");
         else
            code += fText[fAt++];
      }
      if (end)
         throw std::runtime_error("'" + fText + "' lacks a ']'");
      return code;
   }

   /// C++ would take one of several texts, without a word.
   void CheckSeparators(char letter, const std::string &before) const
   {
      const bool isArgument = before.find('<') != std::string::npos; // perhaps of a template
      if (letter == ';' || (letter == ',' && !isArgument))
         throw std::runtime_error("'" + fText + "' contains '" + letter + "' outside of brackets: give one expression");
   }

   std::string Quoted(char quote)
   {
      const auto start = fAt++;
      while (fAt < fText.size() && fText[fAt] != quote)
         fAt += fText[fAt] == '\\' ? 2 : 1;
      fAt = std::min(fAt + 1, fText.size());
      return fText.substr(start, fAt - start);
   }

   /// Letters, digits and `_`; with `dots` also the dots between them.
   std::string Word(bool dots = false)
   {
      const auto start = fAt;
      while (fAt < fText.size() && (IsNameCharacter(fText[fAt]) ||
                                    (dots && fText[fAt] == '.' && fAt + 1 < fText.size() &&
                                     IsNameCharacter(fText[fAt + 1]))))
         ++fAt;
      return fText.substr(start, fAt - start);
   }

   /// A name, with the indices that follow the name of a list column.
   std::string Named()
   {
      const auto start = fAt;
      std::string name = Word(true);
      if (fAt < fText.size() && fText[fAt] == '$')
         return ListFunction(name);
      if (!fFrame.HasColumn(name)) { // perhaps a method of a column: jet.size()
         fAt = start;
         const auto word = Word();
         const bool isCall = fText.compare(fAt, 1, "(") == 0 || fText.compare(fAt, 2, "::") == 0;
         if (!isCall && !fFrame.HasColumn(word) && !IsOfAnother(start))
            fOthers.insert(name);
         return word;
      }
      fReads.insert(name);
      const auto lists = ShapeOf(fFrame.GetColumnType(name)).fContainers.size();
      std::string code = name;
      for (std::size_t i = 0; i < lists && fAt < fText.size() && fText[fAt] == '['; ++i) {
         ++fAt;
         code = "CladTorch::Internal::At(" + code + ", " + Until(']') + ", " + StringLiteral(name) + ", rdfentry_)";
         ++fAt;
      }
      return code;
   }

   /// Whether the name at `start` is a member, or in a namespace: jet.pt, TMath::Pi.
   bool IsOfAnother(std::size_t start) const
   {
      const auto ends = [before = fText.substr(0, start)](const char *text) { return EndsWith(before, text); };
      return ends(".") || ends("->") || ends("::");
   }

   std::string ListFunction(const std::string &name)
   {
      for (const char *known : {"Sum", "Min", "Max", "Length"})
         if (name == known) {
            ++fAt; // the $
            return "CladTorch::Internal::" + name;
         }
      throw std::runtime_error("'" + fText + "' uses " + name + "$ of TTree::Draw: only Sum$, Min$, Max$ and Length$ are "
                               "known here, the rest is C++ as for RDataFrame::Define");
   }

   ROOT::RDF::RNode fFrame;
   const std::string &fText;
   std::set<std::string> &fReads;
   std::set<std::string> fOthers;
   std::size_t fAt = 0;
};

/// Whether `text` has a separate '=': not that of ==, <=, += or [=].
bool Assigns(const std::string &text)
{
   const auto isOneOf = [&](std::size_t at, const char *letters) { return at < text.size() && std::strchr(letters, text[at]); };
   for (auto at = text.find('='); at != std::string::npos; at = text.find('=', at + 1))
      if (!isOneOf(at - 1, "=!<>+-*/%&|[") && !isOneOf(at + 1, "="))
         return true;
   return false;
}

/// Types, variables, enumerators and words of the language.
bool IsKnown(const std::string &name)
{
   static const std::set<std::string> kWords{"and", "auto", "bool", "const", "false", "if", "not", "or", "return", "true", "xor"};
   return kWords.count(name) || gROOT->GetGlobal(name.c_str(), kTRUE) || gROOT->GetType(name.c_str(), kTRUE) ||
          gROOT->GetGlobalFunction(name.c_str(), nullptr, kTRUE) || gInterpreter->CheckClassInfo(name.c_str(), kTRUE);
}

} // namespace

bool IsPlainName(const std::string &text)
{
   return std::all_of(text.begin(), text.end(), [](char letter) {
      return IsNameCharacter(letter) || letter == '.' || letter == ':' || letter == '#';
   });
}

std::string LikelyFaults(ROOT::RDF::RNode frame, const std::string &text)
{
   std::set<std::string> reads;
   Translator translator(frame, text, reads);
   translator.All();
   std::string faults = Assigns(text) ? " ('=' assigns: write == to compare)" : "";
   for (const auto &name : translator.Others())
      if (!IsKnown(name))
         faults += " (it" + NoColumn(frame, name) + ")";
   return faults;
}

std::string StringLiteral(const std::string &text)
{
   std::ostringstream literal;
   literal << '"' << std::oct;
   for (const unsigned char letter : text)
      literal << '\\' << std::setw(3) << std::setfill('0') << static_cast<int>(letter);
   literal << '"';
   return literal.str();
}

std::string ToCpp(ROOT::RDF::RNode frame, const std::string &text, std::set<std::string> &reads)
{
   const auto code = Translator(frame, text, reads).All();
   if (code != text)
      DeclareExpressions();
   return code;
}

void DeclareExpressions()
{
   static const bool known = gInterpreter->Declare("#include <CladTorch/Expression.hxx>");
   if (!known)
      throw std::runtime_error("the interpreter cannot include CladTorch/Expression.hxx: see its message above");
}

std::string HiddenName()
{
   static std::atomic<unsigned long> count{0};
   return kHidden + std::to_string(count++) + "_";
}

bool IsHidden(const std::string &column)
{
   return column.compare(0, kHidden.size(), kHidden) == 0;
}

std::string DefineHidden(ROOT::RDF::RNode &frame, const std::string &code)
{
   const auto name = HiddenName();
   frame = frame.Define(name, code);
   return name;
}

} // namespace Internal
} // namespace CladTorch
