/// \file ScoreBlocks.hxx
/// \brief Predictions of a tree's entries in batches, served one by one to an event loop.

#ifndef CLADTORCH_SCOREBLOCKS
#define CLADTORCH_SCOREBLOCKS

#include "CoreBox.hxx"
#include "ReaderPlan.hxx"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

class TTree;

namespace CladTorch {
namespace Internal {

/// Reads blocks of the columns with the fast reader, predicts them in batches on request, and returns the predictions
/// by entry number. For one thread.
///
/// The tree tells which entry the event loop is at: a prediction is returned only if the tree has loaded the entry that
/// the loop counts, and a block only if its file is the planned one. The reader refuses a file that changes.
class ScoreBlocks {
public:
   /// \param tree Read by the event loop; outlives this object.
   /// \param columns Columns of the model, all of which `plan` reads.
   ScoreBlocks(std::shared_ptr<const ModelData> model, std::string where, TTree *tree, rust::Vec<Core::ColumnSpec> columns,
               ReaderPlan plan);

   /// The prediction [outputs] of `entry`, the event loop's present one. Throws if the tree is at another one.
   const float *At(std::uint64_t entry);

private:
   void CheckTree(std::uint64_t entry) const;
   void Load(std::uint64_t entry);
   std::vector<float> Features(std::uint64_t first, std::uint64_t last) const;
   void Predict(std::size_t tile);

   std::shared_ptr<const ModelData> fModel;
   std::string fWhere; ///< for messages
   TTree *fTree;
   rust::Vec<Core::ColumnSpec> fColumns;
   ReaderPlan fPlan;
   std::vector<std::uint64_t> fEnds; ///< entry after each block
   std::size_t fInputs, fOutputs;

   std::optional<rust::Box<Core::Dataset>> fEvents; ///< of the present block, which has these entries:
   std::uint64_t fFirst = 0, fLast = 0;
   std::vector<float> fScores; ///< [entries, outputs]
   std::vector<char> fDone;    ///< whether a tile is predicted
   std::uint64_t fPrevious = 0; ///< entry requested last
   std::size_t fNext = 0;      ///< tile after those predicted last
   std::size_t fRun = 1;       ///< tiles to predict at once
};

/// The predictions of `frame`, or nothing and the reason why this class cannot make them.
std::shared_ptr<ScoreBlocks> MakeScoreBlocks(const ROOT::RDF::RNode &frame, std::shared_ptr<const ModelData> model,
                                             const std::string &where, std::string &reason);

} // namespace Internal
} // namespace CladTorch

#endif
