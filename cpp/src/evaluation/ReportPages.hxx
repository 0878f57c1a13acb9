/// \file ReportPages.hxx
/// \brief The PDF file of a report.

#ifndef CLADTORCH_REPORTPAGES
#define CLADTORCH_REPORTPAGES

#include <CladTorch/Dataset.hxx>
#include <CladTorch/Evaluation.hxx>

#include "Interrupt.hxx"

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

class TH1;

namespace CladTorch {
namespace Internal {

/// Bars of the importance of the columns; none for an empty function.
struct ImportanceBars {
   std::function<TH1 *()> fByPermutation = {};
   std::function<TH1 *(std::size_t output)> fByGradients = {};
};

/// A report that appears only when it is complete.
class ReportPages {
public:
   /// Throws for a path that does not name a PDF file, or at which none can be written.
   explicit ReportPages(const std::string &path);
   ~ReportPages();

   /// Draws and writes all pages.
   /// \param about Description of the model.
   /// \param test The events of `evaluation`.
   /// \param training Evaluation of the training events; none: there is no test for overtraining.
   /// \param importance Importance of the columns.
   void Write(const InterruptScope &interrupt, const std::string &about, const Dataset &test,
              const Evaluation &evaluation, const std::optional<Evaluation> &training, const ImportanceBars &importance);

private:
   class File;
   std::unique_ptr<File> fFile;
};

} // namespace Internal
} // namespace CladTorch

#endif
