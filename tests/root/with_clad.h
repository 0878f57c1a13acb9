/// \file with_clad.h
/// \brief Tests that need Clad, if there is none.

#ifndef CLADTORCH_TEST_WITH_CLAD
#define CLADTORCH_TEST_WITH_CLAD

#include <CladTorch/Mlp.hxx>

#include <cstdio>
#include <string>

/// Whether Clad can be used here; if not, reports that `what` was not tested.
inline bool HasClad(const char *what)
{
   try {
      CladTorch::Mlp({1, 1, 1}, "double activation(double x) { return x; }");
      return true;
   } catch (const CladTorch::Error &e) {
      const std::string why = e.what();
      if (why.find("no clang++") == std::string::npos)
         throw;
      std::printf("NOT TESTED: %s: %s\n", what, why.c_str());
      return false;
   }
}

#endif
