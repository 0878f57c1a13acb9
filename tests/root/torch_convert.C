/// \file torch_convert.C
/// \brief Tensors from ROOT's containers and back: values, strides, ownership of the memory, and refusals.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>
#include <CladTorch/Torch.hxx>

#include "check.h"

#include <TH2.h>
#include <TH3.h>
#include <TProfile.h>
#include <TProfile2D.h>

using CladTorch::AsTensor;

void FromDataset()
{
   torch::Tensor features, labels;
   {
      const auto frame = ROOT::RDataFrame(10).Define("x", "double(rdfentry_)").Define("y", "2 * x");
      CladTorch::Dataset events({"x", "y"});
      events.Add(frame, 1);
      features = AsTensor(events.Features());
      labels = AsTensor(events.Labels());
      CHECK(features.data_ptr<float>() == events.Features().Data());
   } // the dataset is gone, its numbers are not
   CHECK(features.size(0) == 10 && features.size(1) == 2 && labels.dim() == 1);
   CHECK(torch::equal(features.select(1, 1), 2 * torch::arange(10, torch::kFloat32)));
   CHECK(torch::equal(labels, torch::ones({10})));
}

void RVecs()
{
   ROOT::RVecD values{1, 2, 3};
   auto shared = AsTensor(values);
   CHECK(shared.scalar_type() == torch::kFloat64 && shared.data_ptr<double>() == values.data());
   shared[1] = 7;
   CHECK(values[1] == 7);

   ROOT::RVecF many(1000, 2);
   const float *memory = many.data();
   const auto owned = AsTensor(std::move(many));
   many = ROOT::RVecF(1000, 5);
   CHECK(owned.data_ptr<float>() == memory && owned.sum().item<double>() == 2000);
   const auto few = AsTensor(ROOT::RVecI{1, 2}); // stored inside the RVec itself
   CHECK(few.scalar_type() == torch::kInt32 && few[1].item<int>() == 2);

   const auto matrix = torch::arange(6, torch::kFloat32).reshape({2, 3});
   const auto copied = CladTorch::ToRVec<float>(matrix.t());
   CHECK(copied.size() == 6 && copied[1] == 3);
   const auto row = matrix[1];
   auto look = CladTorch::AsRVec<float>(row);
   CHECK(look.data() == row.data_ptr<float>() && look[2] == 5);
   Refuses("a strided tensor", [&] { CladTorch::AsRVec<float>(matrix.t()[0]); }, {"not contiguous"});
   Refuses("another type", [&] { CladTorch::ToRVec<double>(matrix); }, {"Float", "Double", ".to("});
   Refuses("no tensor", [&] { CladTorch::ToRVec<double>(torch::Tensor()); }, {"undefined"});
}

void Matrices()
{
   TMatrixD matrix(2, 3);
   for (int i = 0; i < 6; ++i)
      matrix(i / 3, i % 3) = i;
   const auto shared = AsTensor(matrix);
   CHECK(torch::equal(shared, torch::arange(6, torch::kFloat64).reshape({2, 3})));
   shared[1][0] = 9;
   CHECK(matrix(1, 0) == 9);
   const auto back = CladTorch::ToMatrix<double>(shared.t());
   CHECK(back.GetNrows() == 3 && back(0, 1) == 9);
   Refuses("rows beyond counting", [&] { CladTorch::ToMatrix<float>(torch::empty({3000000000, 0})); }, {"3000000000", "TMatrixT"});
   Refuses("a list", [&] { CladTorch::ToMatrix<double>(shared[0]); }, {"1 dimensions instead of 2"});
   TMatrixF single(1, 2);
   CHECK(AsTensor(single).scalar_type() == torch::kFloat32);
}

void Histograms()
{
   TH2F histogram("histogram", "", 3, 0, 3, 2, 0, 2);
   histogram.Fill(2.5, 0.5, 4);
   histogram.Fill(-1, 1.5, 5);
   const auto bins = AsTensor(histogram);
   CHECK(bins.size(0) == 3 && bins.size(1) == 2 && bins.stride(0) == 1 && bins.stride(1) == 5);
   CHECK(bins[2][0].item<float>() == 4 && bins.sum().item<float>() == 4);
   const auto all = AsTensor(histogram, true);
   CHECK(all.size(0) == 5 && all.size(1) == 4 && all[0][2].item<float>() == 5);
   bins[0][1] = 3;
   CHECK(histogram.GetBinContent(1, 2) == 3);

   CladTorch::SetContents(histogram, torch::arange(6, torch::kFloat64).reshape({3, 2}));
   CHECK(histogram.GetBinContent(3, 1) == 4 && histogram.GetBinError(3, 1) == 2);
   CHECK(Near(histogram.GetMean(), (0.5 * 1 + 1.5 * 5 + 2.5 * 9) / 15, 1e-9));
   Refuses("bins of another shape", [&] { CladTorch::SetContents(histogram, torch::ones({2, 3})); }, {"histogram"});
   TH3D cube("cube", "", 2, 0, 1, 3, 0, 1, 4, 0, 1);
   cube.SetBinContent(2, 3, 1, 8);
   CHECK(AsTensor(cube)[1][2][0].item<double>() == 8);
   TH1S shorts("shorts", "", 2, 0, 1);
   TH1D waiting("waiting", "", 4, 0, 0); // chooses its bins from the first values
   for (const double x : {1., 2., 2., 5.})
      waiting.Fill(x);
   const auto chosen = AsTensor(waiting);
   CHECK(chosen.sum().item<double>() == 4 && waiting.GetXaxis()->GetXmax() > 4);
   waiting.Fill(2);
   CHECK(chosen.sum().item<double>() == 5 && waiting.GetEntries() == 5);
   TH1F given("given", "", 2, 0, 0);
   given.Fill(0.5);
   CladTorch::SetContents(given, torch::tensor({3.f, 4.f}));
   CHECK(given.GetBinContent(1) == 3 && given.GetBinContent(2) == 4 && given.Integral() == 7);
   TProfile profile("profile", "", 2, 0, 1);
   Refuses("means", [&] { AsTensor(profile); }, {"profile", "TProfile,", "ProjectionX()"});
   Refuses("means to be set", [&] { CladTorch::SetContents(profile, torch::ones({2})); }, {"ProjectionX()"});
   TProfile2D plane("plane", "", 2, 0, 1, 2, 0, 1);
   Refuses("means in a plane", [&] { AsTensor(plane); }, {"TProfile2D", "ProjectionXY()"});
   Refuses("bins of short", [&] { AsTensor(shorts); }, {"shorts", "TH1S"});
}

void DataFrames()
{
   const auto numbers = torch::arange(8, torch::kFloat64).reshape({4, 2});
   auto make = [](torch::Tensor tensor) { return CladTorch::ToDataFrame(tensor, {"a", "b"}); };
   auto frame = make(numbers.clone()); // keeps it
   CHECK(frame.Sum("b").GetValue() == 1 + 3 + 5 + 7);
   CHECK(frame.GetColumnType("a") == "double");
   const auto back = CladTorch::ToTensor(frame, {"b", "a"});
   CHECK(torch::equal(back, numbers.to(torch::kFloat32).flip(1)));
   CHECK(CladTorch::ToDataFrame(torch::ones({3}), {"x"}).Count().GetValue() == 3);
   Refuses("names that are missing", [&] { CladTorch::ToDataFrame(numbers, {"a"}); }, {"2 columns, but 1 names"});
   Refuses("whole numbers", [&] { make(torch::ones({2, 2}, torch::kInt64)); }, {"Long"});
   Refuses("no such column", [&] { CladTorch::ToTensor(frame, {"c"}); }, {"c"});
}

/// LibTorch defers the change of sign: the memory holds the opposite.
void NegativeViews()
{
   const auto z = torch::randn({4, 2}, torch::kComplexFloat);
   const auto negative = torch::imag(z.conj()), right = negative.clone();
   CHECK(negative.is_neg() && !right.is_neg());
   auto frame = CladTorch::ToDataFrame(negative, {"a", "b"});
   CHECK(torch::equal(CladTorch::ToTensor(frame, {"a", "b"}), right));
   const auto list = torch::_neg_view(torch::ones({3}));
   CHECK(list.is_contiguous() && CladTorch::ToRVec<float>(list)[1] == -1);
   CHECK(CladTorch::ToMatrix<float>(torch::_neg_view(torch::ones({2, 2})))(1, 1) == -1);
   Refuses("memory of the opposite sign", [&] { CladTorch::AsRVec<float>(list); }, {"opposite sign", "ToRVec"});
}

void torch_convert(bool threads = false)
{
   torch::manual_seed(1);
   if (threads)
      ROOT::EnableImplicitMT(2);
   FromDataset();
   RVecs();
   Matrices();
   Histograms();
   DataFrames();
   NegativeViews();
   Passed();
}
