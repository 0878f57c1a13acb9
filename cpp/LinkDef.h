#ifdef __CLING__

#pragma link off all globals;
#pragma link off all classes;
#pragma link off all functions;

// Functions are found in the C++ module, which is read when the library is loaded.
#pragma link C++ namespace CladTorch;

#pragma link C++ namespace CladTorch::Signal;
#pragma link C++ class CladTorch::Signal::Binary-;
#pragma link C++ class CladTorch::Signal::Bounds-;
#pragma link C++ class CladTorch::Signal::Candidate-;
#pragma link C++ class CladTorch::Signal::CoherentSearch-;
#pragma link C++ class CladTorch::Signal::Injection-;
#pragma link C++ class CladTorch::Signal::MatchedFilter-;
#pragma link C++ class CladTorch::Signal::NetworkFilter-;
#pragma link C++ class CladTorch::Signal::OnlineSearch-;
#pragma link C++ class CladTorch::Signal::Reach-;
#pragma link C++ class CladTorch::Signal::Response-;
#pragma link C++ class CladTorch::Signal::Sensitivity-;
#pragma link C++ class CladTorch::Signal::Strain-;
#pragma link C++ class CladTorch::Signal::Trigger-;
#pragma link C++ class CladTorch::Signal::Whitener-;

// "-": no streamer, a model's file is written by Model::Save.
#pragma link C++ class CladTorch::Batches-;
#pragma link C++ class CladTorch::CrossValidation-;
#pragma link C++ class CladTorch::Dataset-;
#pragma link C++ class CladTorch::Ensemble-;
#pragma link C++ class CladTorch::Epoch-;
#pragma link C++ class CladTorch::Error-;
#pragma link C++ class CladTorch::Evaluation-;
#pragma link C++ class CladTorch::Files-;
#pragma link C++ class CladTorch::FitOptions-;
#pragma link C++ class CladTorch::Functor-;
#pragma link C++ class CladTorch::History-;
#pragma link C++ class CladTorch::Interrupted-;
#pragma link C++ class CladTorch::Label-;
#pragma link C++ class CladTorch::Metric-;
#pragma link C++ class CladTorch::Mlp-;
#pragma link C++ class CladTorch::MlpOptions-;
#pragma link C++ class CladTorch::Model-;
#pragma link C++ class CladTorch::RandomSearch-;
#pragma link C++ class CladTorch::Scaler-;
#pragma link C++ class CladTorch::Source-;
#pragma link C++ class CladTorch::Stream-;
#pragma link C++ class CladTorch::Trial-;

// All that a tensor of other numbers than a Dataset's needs.
#pragma link C++ class CladTorch::View<float>-;
#pragma link C++ class CladTorch::View<double>-;
#pragma link C++ class CladTorch::View<std::int64_t>-;
#pragma link C++ class CladTorch::Jagged<float>-;
#pragma link C++ class CladTorch::Jagged<double>-;
#pragma link C++ class CladTorch::Jagged<std::int64_t>-;

#endif
