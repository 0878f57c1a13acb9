/// \file bad_aclic.C
/// \brief Compiled by ACLiC: errors are caught by their own type, and the session continues.

#include <CladTorch/CladTorch.hxx>
#include <CladTorch/Testing.hxx>
#include "check.h"

void bad_aclic()
{
   Refuses("missing file", [] { CladTorch::Dataset({"x"}).Add("events", "nowhere.root", 1); }, {"nowhere.root"});
   Refuses("layer of 0", [] { CladTorch::Mlp({1, 0}); }, {"layer width 0"});
   Refuses("panic in the core", [] { CladTorch::Testing::ProvokePanic(); }, {"internal error"});
   try {
      CladTorch::Mlp::Load("nowhere.ct");
   } catch (const std::runtime_error &e) {
      CHECK(std::string(e.what()).find("nowhere.ct") != std::string::npos);
   }
   const float score = CladTorch::Mlp({2, 1}).Functor<2>()(0, 0);
   CHECK(score > 0 && score < 1);
   Passed();
}
