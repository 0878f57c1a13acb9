// The data of a MatchedFilter.

#ifndef CLADTORCH_FILTERDATA
#define CLADTORCH_FILTERDATA

#include <CladTorch/Search.hxx>

#include "cladtorch/src/bridge/search.rs.h"

#include <vector>

namespace CladTorch {
namespace Internal {

struct FilterData {
   rust::Box<Core::MatchedFilter> fFilter;

   /// The filters of a search, for the core.
   static rust::Box<Core::FilterBank> Bank(const std::vector<Signal::MatchedFilter> &filters)
   {
      auto bank = Core::filter_bank();
      for (const auto &filter : filters)
         bank->push(*filter.fData->fFilter);
      return bank;
   }
};

} // namespace Internal
} // namespace CladTorch

#endif
