/// \file compile_programs.C
/// \brief Kept programs, then random ones, against LibTorch: as many as CLADTORCH_PROGRAMS says, 500 otherwise, from
///        CLADTORCH_FIRST_PROGRAM on. ACLiC adds custom autograd functions.

R__LOAD_LIBRARY(libcladtorch)
#include "compile_kept.h"

void compile_programs()
{
   torch::set_num_threads(1);
   gErrorIgnoreLevel = kFatal; // programs throw on purpose
   const auto number = [](const char *name, unsigned otherwise) {
      const char *value = gSystem->Getenv(name);
      return value ? static_cast<unsigned>(std::atoi(value)) : otherwise;
   };
   TryPrograms(KeptPrograms());
   const auto wanted = number("CLADTORCH_PROGRAMS", 500);
   const auto backEnds = TryPrograms(RandomPrograms(number("CLADTORCH_FIRST_PROGRAM", 0), wanted));
   CHECK(backEnds.at("aot") > wanted / 6 && backEnds.at("autograd") > wanted / 6);
   Passed();
}
