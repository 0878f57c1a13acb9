/// \file Streamers.cxx
/// \brief ROOT's files, trees and JSON refuse the public classes in words.
///
/// Without custom streamers ROOT would write what the members point to, whose types it does not know.

#include <CladTorch/CladTorch.hxx>
#include <CladTorch/Guard.hxx>

#include <TClassStreamer.h>
#include <TGenericClassInfo.h>

#include <string>

// Defined by the dictionary, one for each class that the LinkDef file names.
#define CLADTORCH_DICTIONARY(CLASS)                             \
   namespace ROOT {                                            \
   TGenericClassInfo *GenerateInitInstance(const CLASS *);     \
   }                                                           \
   static const Short_t _R__UNIQUE_(gRefused) =                \
      ROOT::GenerateInitInstance(static_cast<const CLASS *>(nullptr))->AdoptStreamer(new Refusal(#CLASS));

namespace {

class Refusal : public TClassStreamer {
public:
   explicit Refusal(const char *name) : fName(name) {}

   TClassStreamer *Generate() const override { return new Refusal(*this); }
   void operator()(TBuffer &, void *) override
   {
      const std::string model = "write a model with CladTorch::Model::Save";
      CladTorch::Internal::Report(fName, std::string(fName) + " has no streamer, so ROOT cannot write or read it: " + model +
                                            ", numbers as plain types");
   }

private:
   const char *fName;
};

} // namespace

CLADTORCH_DICTIONARY(CladTorch::Batches)
CLADTORCH_DICTIONARY(CladTorch::CrossValidation)
CLADTORCH_DICTIONARY(CladTorch::Dataset)
CLADTORCH_DICTIONARY(CladTorch::Ensemble)
CLADTORCH_DICTIONARY(CladTorch::Epoch)
CLADTORCH_DICTIONARY(CladTorch::Error)
CLADTORCH_DICTIONARY(CladTorch::Evaluation)
CLADTORCH_DICTIONARY(CladTorch::Files)
CLADTORCH_DICTIONARY(CladTorch::FitOptions)
CLADTORCH_DICTIONARY(CladTorch::Functor)
CLADTORCH_DICTIONARY(CladTorch::History)
CLADTORCH_DICTIONARY(CladTorch::Interrupted)
CLADTORCH_DICTIONARY(CladTorch::Jagged<double>)
CLADTORCH_DICTIONARY(CladTorch::Jagged<float>)
CLADTORCH_DICTIONARY(CladTorch::Jagged<std::int64_t>)
CLADTORCH_DICTIONARY(CladTorch::Label)
CLADTORCH_DICTIONARY(CladTorch::Metric)
CLADTORCH_DICTIONARY(CladTorch::Mlp)
CLADTORCH_DICTIONARY(CladTorch::MlpOptions)
CLADTORCH_DICTIONARY(CladTorch::Model)
CLADTORCH_DICTIONARY(CladTorch::RandomSearch)
CLADTORCH_DICTIONARY(CladTorch::Scaler)
CLADTORCH_DICTIONARY(CladTorch::Signal::Binary)
CLADTORCH_DICTIONARY(CladTorch::Signal::Bounds)
CLADTORCH_DICTIONARY(CladTorch::Signal::Candidate)
CLADTORCH_DICTIONARY(CladTorch::Signal::CoherentSearch)
CLADTORCH_DICTIONARY(CladTorch::Signal::Injection)
CLADTORCH_DICTIONARY(CladTorch::Signal::MatchedFilter)
CLADTORCH_DICTIONARY(CladTorch::Signal::NetworkFilter)
CLADTORCH_DICTIONARY(CladTorch::Signal::OnlineSearch)
CLADTORCH_DICTIONARY(CladTorch::Signal::Reach)
CLADTORCH_DICTIONARY(CladTorch::Signal::Response)
CLADTORCH_DICTIONARY(CladTorch::Signal::Sensitivity)
CLADTORCH_DICTIONARY(CladTorch::Signal::Strain)
CLADTORCH_DICTIONARY(CladTorch::Signal::Trigger)
CLADTORCH_DICTIONARY(CladTorch::Signal::Whitener)
CLADTORCH_DICTIONARY(CladTorch::Source)
CLADTORCH_DICTIONARY(CladTorch::Stream)
CLADTORCH_DICTIONARY(CladTorch::Trial)
CLADTORCH_DICTIONARY(CladTorch::View<double>)
CLADTORCH_DICTIONARY(CladTorch::View<float>)
CLADTORCH_DICTIONARY(CladTorch::View<std::int64_t>)
