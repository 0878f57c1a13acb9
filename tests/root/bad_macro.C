/// \file bad_macro.C
/// \brief An uncaught error: ROOT ends the process, after the whole message.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>

void bad_macro()
{
   CladTorch::Dataset data({"x"});
   data.Add("events", "nowhere.root", 1);
   std::cout << "NOT REACHED" << std::endl;
}
