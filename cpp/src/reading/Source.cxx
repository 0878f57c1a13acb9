#include <CladTorch/Source.hxx>

#include "EventLoop.hxx"
#include "Frame.hxx"
#include "OpenSource.hxx"

namespace CladTorch {

using namespace Internal;

Source::Source(ROOT::RDF::RNode frame)
   : fData(std::make_shared<SourceData>(SourceData{[frame] { return frame; }, nullptr}))
{
}

Source::Source(TTree *tree) : fData(std::make_shared<SourceData>(SourceData{[tree] { return OpenTree(tree); }, tree})) {}

Source::Source(const std::string &tree, const Files &files)
   : fData(std::make_shared<SourceData>(SourceData{[tree, files] { return OpenFiles(tree, files.Names()); }, nullptr, tree,
                                                   files.Names().size() == 1 ? files.Names()[0] : ""}))
{
}

Source Source::Then(const std::function<ROOT::RDF::RNode(ROOT::RDF::RNode)> &step) const
{
   Source source(*this);
   const auto open = [before = fData, step] { return step(before->fOpen()); };
   source.fData = std::make_shared<SourceData>(SourceData{open, fData->fTree});
   return source;
}

Source Source::Filter(const std::string &cut) const
{
   return cut.empty() ? *this : Then([cut](ROOT::RDF::RNode frame) { return Selected(frame, cut); });
}

} // namespace CladTorch
