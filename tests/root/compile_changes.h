/// \file compile_changes.h
/// \brief Random functions that change columns, rows and blocks of a tensor in place and read it in between.
#pragma once

#include <CladTorch/Torch.hxx>

#include <random>

/// A tensor made of some inputs, and what happens to ranges of it, one after the other. The same for the same seed.
struct Changes {
   struct Range {
      std::int64_t fDim, fStart, fLength;
      bool fIsSelected; ///< one element, whose dimension goes
      torch::Tensor Of(const torch::Tensor &x) const
      {
         return fIsSelected ? x.select(fDim, fStart) : x.narrow(fDim, fStart, fLength);
      }
   };
   struct Change {
      int fKind;
      Range fTo, fFrom; ///< of the same size
   };
   std::int64_t fRows, fColumns;
   int fMade, fReturned;
   std::vector<Change> fChanges;
   Range fRead;

   explicit Changes(unsigned seed)
   {
      std::mt19937 random(seed);
      const auto below = [&](std::int64_t n) { return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n)); };
      const std::int64_t rows[] = {1, 2, 7, 33, 500, 1000, 2049, 6000}, columns[] = {2, 3, 8, 17, 30, 64, 65, 90};
      fRows = rows[below(8)];
      fColumns = columns[below(8)];
      fMade = static_cast<int>(below(6));
      fReturned = static_cast<int>(below(4));
      const auto range = [&](std::int64_t dim, std::int64_t length) {
         const auto size = dim == 0 ? fRows : fColumns;
         return Range{dim, below(size - length + 1), length, false};
      };
      const auto count = 1 + below(6);
      for (std::int64_t i = 0; i < count; ++i) {
         const std::int64_t dim = below(4) == 0 ? 0 : 1, size = dim == 0 ? fRows : fColumns;
         const auto length = below(2) ? 1 : 1 + below(size);
         Change change{static_cast<int>(below(6)), range(dim, length), range(dim, length)};
         change.fTo.fIsSelected = change.fFrom.fIsSelected = length == 1 && below(2);
         fChanges.push_back(change);
      }
      fRead = range(1, 1 + below(fColumns));
   }

   std::vector<torch::Tensor> Inputs() const
   {
      return {torch::randn({fRows, fColumns}), torch::randn({fRows, 1}), torch::randn({fRows, fColumns - 1})};
   }

   std::vector<torch::Tensor> operator()(const std::vector<torch::Tensor> &t) const
   {
      torch::Tensor u;
      switch (fMade) {
      case 0: u = t[0].clone(); break;
      case 1: u = torch::cat({t[1], t[2]}, 1); break;
      case 2: u = torch::cat({t[2] * 2, t[1].sin()}, 1); break;
      case 3: (u = torch::zeros_like(t[0])).copy_(t[0].tanh()); break;
      case 4: u = torch::cat({t[0].narrow(1, 0, fColumns - 1), (t[0] * 2).sin().narrow(1, fColumns - 1, 1)}, 1); break;
      default: u = torch::zeros_like(t[0]) + t[1]; break;
      }
      for (const auto &[kind, to, from] : fChanges) {
         auto part = to.Of(u);
         switch (kind) {
         case 0: part.mul_(2); break;
         case 1: part.add_(from.Of(t[0])); break;
         case 2: part.copy_(from.Of(u).clone()); break;
         case 3: part.copy_(from.Of(u).clone().sin() + from.Of(t[0])); break;
         case 4: part.fill_(0.5); break;
         default: part.div_(from.Of(u).clone().abs() + 1); break;
         }
      }
      if (fReturned == 0)
         return {u};
      if (fReturned == 1)
         return {u * 3, fRead.Of(u).exp()};
      if (fReturned == 2) // across rows, so that they are not run in parts
         return {u - u.mean(0), fRead.Of(u).softmax(0)};
      return {fRead.Of(u).sum(1), u.select(1, fColumns - 1) * t[1].squeeze(1)};
   }
};
