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
   const auto kept = KeptPrograms();
   const auto first = number("CLADTORCH_FIRST_PROGRAM", 0), wanted = number("CLADTORCH_PROGRAMS", 500);
   std::size_t tried = 0;
   const auto next = [&]() -> std::optional<Program> {
      const auto i = tried++;
      if (i < kept.size())
         return kept[i];
      const auto random = static_cast<unsigned>(i - kept.size());
      return random < wanted ? std::make_optional(RandomProgram(first + random)) : std::nullopt;
   };
   int failures = 0;
   const auto backEnds = TryPrograms(next, failures, 20);
   for (const auto &[backEnd, count] : backEnds)
      std::cout << count << " programs on " << (backEnd.empty() ? "none" : backEnd) << std::endl;
   CHECK(failures == 0);
   CHECK(backEnds.at("aot") > static_cast<int>(wanted) / 6 && backEnds.at("autograd") > static_cast<int>(wanted) / 6);
   Passed();
}
