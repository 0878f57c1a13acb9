/// \file CladTorch/Files.hxx
/// \brief The files of a tree.

#include <CladTorch/Load.hxx>

#ifndef CLADTORCH_FILES
#define CLADTORCH_FILES

#include <initializer_list>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

struct _object;

namespace CladTorch {

/// The files of a tree, each a name, a glob ("run*.root") or a URL: whatever `TFile::Open` opens. A string, or a list of
/// strings, converts to Files implicitly.
///
/// ~~~{.cpp}
/// data.Add("events", "run.root", 1);
/// data.Add("events", {"run_1.root", "run_2*.root"}, 1); // in this order
/// ~~~
class Files {
public:
   template <class Name, std::enable_if_t<std::is_convertible<const Name &, std::string>::value, int> = 0>
   Files(const Name &name) : fNames(1, name)
   {
   }
   /// Overload resolution prefers this constructor for `{"a", "b"}`, so that it never becomes a std::string made from two
   /// iterators.
   Files(std::initializer_list<std::string> names) : fNames(names) {}
   Files(std::vector<std::string> names) : fNames(std::move(names)) {}

   /// As they were given.
   const std::vector<std::string> &Names() const { return fNames; }

   /// Called by PyROOT when it meets this class: checks arguments, copies.
   static void __cppyy_pythonize__(_object *pyclass, const std::string &name);

private:
   std::vector<std::string> fNames;
};

} // namespace CladTorch

#endif
