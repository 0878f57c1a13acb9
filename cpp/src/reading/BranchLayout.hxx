/// \file BranchLayout.hxx
/// \brief Where the numbers of a column lie in a tree's file, for the fast reader.

#ifndef CLADTORCH_BRANCHLAYOUT
#define CLADTORCH_BRANCHLAYOUT

#include "Collector.hxx"
#include "CoreBox.hxx"

#include "cladtorch/src/bridge/columns.rs.h"

#include <string>

class TFile;
class TTree;

namespace CladTorch {
namespace Internal {

/// Why the fast reader leaves the whole of `tree` in `file` to ROOT; "" if it does not.
std::string WhyNotFast(const TFile *file, TTree &tree);

/// `target` for the core.
Core::TargetSpec ToSpec(const ColumnTarget &target);

/// Adds the column `target` of `tree` to `layout`, or returns why the fast reader leaves it to ROOT; "" if it does not.
std::string AddToLayout(Core::TreeFile &layout, TTree &tree, const ColumnTarget &target);

} // namespace Internal
} // namespace CladTorch

#endif
