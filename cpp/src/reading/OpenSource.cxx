#include "OpenSource.hxx"

#include <TROOT.h>
#include <TTree.h>

namespace CladTorch {

using namespace Internal;

namespace {
/// ROOT reads a tree without a file only on one thread, and loses entries of an entry list on several.
bool NeedsOneThread(TTree *tree)
{
   return tree && (tree->GetEntryList() || (!tree->InheritsFrom("TChain") && !tree->GetCurrentFile()));
}
} // namespace

namespace Internal {

SerialScope::SerialScope(bool needed) : fThreads(needed ? ROOT::GetThreadPoolSize() : 0)
{
   if (fThreads)
      ROOT::DisableImplicitMT();
}

SerialScope::~SerialScope()
{
   if (fThreads)
      ROOT::EnableImplicitMT(fThreads);
}

OpenSource::OpenSource(const Source &source)
   : fSerial(NeedsOneThread(source.Data().fTree)), fFrame(source.Data().fOpen())
{
}

} // namespace Internal
} // namespace CladTorch
