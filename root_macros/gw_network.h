/// \file gw_network.h
/// \brief The convolutional networks of gw_search.C and gw_search.py.

#ifndef CLADTORCH_GW_NETWORK
#define CLADTORCH_GW_NETWORK

#include <CladTorch/CladTorch.hxx>
#include <CladTorch/Torch.hxx>

/// The network of MLGWSC-1's example, for windows of two detectors [2, 2048]. It has one logit instead of two
/// probabilities, no dropout, as no window is seen twice, and the module `norm(channels)` after each convolution.
template <class Norm>
CladTorch::Model ChallengeNetworkWith(Norm norm)
{
   namespace nn = torch::nn;
   torch::manual_seed(1);
   nn::Sequential net(norm(2), nn::Conv1d(2, 4, 64), norm(4), nn::ELU(), nn::Conv1d(4, 4, 32),
                      nn::MaxPool1d(4), norm(4), nn::ELU(), nn::Conv1d(4, 8, 32), norm(8), nn::ELU(),
                      nn::Conv1d(8, 8, 16), nn::MaxPool1d(3), norm(8), nn::ELU(), nn::Conv1d(8, 16, 16),
                      norm(16), nn::ELU(), nn::Conv1d(16, 16, 16), nn::MaxPool1d(4), norm(16), nn::ELU(),
                      nn::Flatten(), nn::Linear(464, 32), nn::ELU(), nn::Linear(32, 16), nn::ELU(), nn::Linear(16, 1));
   return CladTorch::Model(net, {2, 2048});
}

/// With batch normalisation it learns from a fraction of the windows. Processes that share a batch do not have the
/// statistics of the whole: there (`isShared`) the channels of each window are normalised separately.
inline CladTorch::Model ChallengeNetwork(bool isShared = false)
{
   if (isShared)
      return ChallengeNetworkWith([](int channels) { return torch::nn::GroupNorm(1, channels); });
   return ChallengeNetworkWith([](int channels) { return torch::nn::BatchNorm1d(channels); });
}

/// Options with which both networks of this file learn.
inline CladTorch::FitOptions NetworkOptions(int epochs)
{
   CladTorch::FitOptions options;
   options.fEpochs = epochs;
   options.fBatchSize = 64;
   options.fLearningRate = 5e-3;
   options.fSchedule = CladTorch::kOneCycle;
   options.fStandardise = false; // whitened noise has a standard deviation of 1
   return options;
}

/// A smaller one for windows of one detector at 512 Hz [1, 256].
inline CladTorch::Model SmallNetwork()
{
   namespace nn = torch::nn;
   torch::manual_seed(1);
   nn::Sequential net(nn::Conv1d(1, 8, 32), nn::ELU(), nn::MaxPool1d(2), nn::Conv1d(8, 16, 32), nn::ELU(), nn::MaxPool1d(2),
                      nn::Conv1d(16, 16, 16), nn::ELU(), nn::AdaptiveMaxPool1d(1), nn::Flatten(), nn::Linear(16, 16), nn::ELU(),
                      nn::Linear(16, 1));
   return CladTorch::Model(net, {1, 256});
}

#endif
