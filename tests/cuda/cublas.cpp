// cuBLASLt on a GPU that is the host (see driver.cpp), as its documentation describes it, with plain sums. WRONG defines its faults:
// 1 never transposes the first factor, 2 rounds all factors to TF32, 3 has no algorithm, 4 does not open, 5 has no room, 6 has no TF32 and no bfloat16,
// 7 is wrong in them.
#include <cstdint>
#include <cstring>

#include <functional>

#ifndef WRONG
#define WRONG 0
#endif

/// Of driver.cpp.
int Queue(void *stream, std::function<int()> work);

namespace {

enum Status { kSuccess = 0, kNotInitialised = 1, kNoMemory = 3, kInvalid = 7, kNotSupported = 15 };

struct Operation {
   int fSums, fNumbers, fTransposed[2] = {};
   uint32_t fEpilogue = 1;
   const void *fBias = nullptr;
};

/// Column by column.
struct Layout {
   int fType;
   uint64_t fRows, fColumns;
   int64_t fLeading;
   int fCount = 1;
   int64_t fStride = 0;

   size_t Place(int batch, uint64_t row, uint64_t column) const { return batch * fStride + column * fLeading + row; }
};

struct Preference {
   uint64_t fWorkspace = 0;
   uint32_t fAlignments[4] = {256, 256, 256, 256};
};

struct Algorithm {
   uint64_t fWords[8];
};

struct Choice {
   Algorithm fAlgorithm;
   size_t fWorkspace;
   int fState;
   float fWaves;
   int fReserved[4];
};

/// What an algorithm here remembers: how its numbers must be aligned.
constexpr uint64_t kMark = 0xC1AD;

template <typename T>
int Set(T &to, const void *from, size_t bytes)
{
   if (!from || bytes != sizeof to)
      return kInvalid;
   std::memcpy(&to, from, bytes);
   return kSuccess;
}

int gHandle;

/// Without the last bits of a float, to the nearest, or cut off.
template <typename T>
T Rounded(T number, unsigned bitsLess)
{
   if (!bitsLess)
      return number;
   float whole = float(number);
   uint32_t bits;
   std::memcpy(&bits, &whole, 4);
   bits = (bits + (WRONG == 2 ? 0 : 1u << (bitsLess - 1))) >> bitsLess << bitsLess;
   std::memcpy(&whole, &bits, 4);
   return T(whole);
}

template <typename T>
void Multiply(const Operation &op, T alpha, const T *a, const Layout &ofA, const T *b, const Layout &ofB, T beta, T *d, const Layout &ofD)
{
   const unsigned bitsLess = op.fSums == 77 || WRONG == 2 ? 13 : op.fSums == 75 ? 16 : 0; // TF32, bfloat16
   const auto element = [bitsLess](const T *x, const Layout &of, bool transposed, int batch, uint64_t i, uint64_t j) {
      return Rounded(x[transposed ? of.Place(batch, j, i) : of.Place(batch, i, j)], bitsLess);
   };
   const bool isWrong = WRONG == 7 && bitsLess;
   const uint64_t terms = op.fTransposed[0] ? ofA.fRows : ofA.fColumns;
   for (int batch = 0; batch < ofD.fCount; ++batch)
      for (uint64_t j = 0; j < ofD.fColumns; ++j)
         for (uint64_t i = 0; i < ofD.fRows; ++i) {
            T sum = 0;
            for (uint64_t l = 0; l < terms; ++l)
               sum += element(a, ofA, op.fTransposed[0] && WRONG != 1 && !isWrong, batch, i, l) * element(b, ofB, op.fTransposed[1], batch, l, j);
            T &to = d[ofD.Place(batch, i, j)];
            to = alpha * sum + (beta == 0 ? 0 : beta * to) + (op.fEpilogue == 4 ? static_cast<const T *>(op.fBias)[i] : 0);
         }
}

bool IsAligned(const void *pointer, uint64_t bytes)
{
   return reinterpret_cast<uintptr_t>(pointer) % bytes == 0;
}

/// Whether sizes and types are those of a product.
bool Fit(const Operation &op, const Layout &a, const Layout &b, const Layout &d)
{
   const uint64_t m = op.fTransposed[0] ? a.fColumns : a.fRows, k = op.fTransposed[0] ? a.fRows : a.fColumns;
   const uint64_t l = op.fTransposed[1] ? b.fColumns : b.fRows, n = op.fTransposed[1] ? b.fRows : b.fColumns;
   bool fits = m == d.fRows && n == d.fColumns && k == l && (op.fNumbers ? op.fSums == 70 : op.fSums == 68 || op.fSums == 75 || op.fSums == 77);
   for (const Layout *of : {&a, &b, &d})
      fits = fits && of->fType == op.fNumbers && of->fCount == d.fCount && of->fLeading >= int64_t(of->fRows);
   return fits && (op.fEpilogue == 1 || (op.fEpilogue == 4 && op.fBias));
}

} // namespace

extern "C" {

int cublasLtCreate(void **handle)
{
   *handle = &gHandle;
   return WRONG == 4 ? kNotInitialised : kSuccess;
}
int cublasLtDestroy(void *)
{
   return kSuccess;
}
int cublasLtMatmulDescCreate(void **to, int sums, int numbers)
{
   *to = new Operation{sums, numbers};
   return kSuccess;
}
int cublasLtMatmulDescSetAttribute(void *of, int attribute, const void *from, size_t bytes)
{
   auto &op = *static_cast<Operation *>(of);
   switch (attribute) {
   case 3: return Set(op.fTransposed[0], from, bytes);
   case 4: return Set(op.fTransposed[1], from, bytes);
   case 7: return Set(op.fEpilogue, from, bytes);
   case 8: return Set(op.fBias, from, bytes);
   }
   return kInvalid;
}
int cublasLtMatmulDescDestroy(void *of)
{
   delete static_cast<Operation *>(of);
   return kSuccess;
}
int cublasLtMatrixLayoutCreate(void **to, int type, uint64_t rows, uint64_t columns, int64_t leading)
{
   *to = new Layout{type, rows, columns, leading};
   return kSuccess;
}
int cublasLtMatrixLayoutSetAttribute(void *of, int attribute, const void *from, size_t bytes)
{
   auto &layout = *static_cast<Layout *>(of);
   return attribute == 5 ? Set(layout.fCount, from, bytes) : attribute == 6 ? Set(layout.fStride, from, bytes) : kInvalid;
}
int cublasLtMatrixLayoutDestroy(void *of)
{
   delete static_cast<Layout *>(of);
   return kSuccess;
}
int cublasLtMatmulPreferenceCreate(void **to)
{
   *to = new Preference;
   return kSuccess;
}
int cublasLtMatmulPreferenceSetAttribute(void *of, int attribute, const void *from, size_t bytes)
{
   auto &preference = *static_cast<Preference *>(of);
   if (attribute >= 5 && attribute <= 8)
      return Set(preference.fAlignments[attribute - 5], from, bytes);
   return attribute == 1 ? Set(preference.fWorkspace, from, bytes) : kInvalid;
}
int cublasLtMatmulPreferenceDestroy(void *of)
{
   delete static_cast<Preference *>(of);
   return kSuccess;
}
/// Biases only for single products of float32, as a library may have it.
int cublasLtMatmulAlgoGetHeuristic(void *handle, void *of, void *a, void *b, void *c, void *d, void *with, int most, Choice *found, int *count)
{
   const auto &op = *static_cast<Operation *>(of);
   const auto &preference = *static_cast<Preference *>(with);
   const auto &result = *static_cast<Layout *>(d);
   *count = 0;
   if (handle != &gHandle || most < 1 || c != d || !Fit(op, *static_cast<Layout *>(a), *static_cast<Layout *>(b), result))
      return kInvalid;
   if (WRONG == 3 || (WRONG == 6 && (op.fSums == 75 || op.fSums == 77)) || (op.fEpilogue == 4 && (op.fNumbers || result.fCount > 1)))
      return kNotSupported;
   *found = {};
   found->fAlgorithm.fWords[0] = kMark;
   for (int i = 0; i < 4; ++i)
      found->fAlgorithm.fWords[1 + i] = preference.fAlignments[i];
   found->fWorkspace = WRONG == 5 ? preference.fWorkspace + 1 : preference.fWorkspace;
   *count = 1;
   return kSuccess;
}
int cublasLtMatmul(void *handle, void *of, const void *alpha, const void *a, void *ofA, const void *b, void *ofB, const void *beta,
                   const void *c, void *ofC, void *d, void *ofD, const Algorithm *algorithm, void *workspace, size_t bytes, void *stream)
{
   const auto op = *static_cast<Operation *>(of);
   const auto &words = algorithm->fWords;
   const auto first = *static_cast<Layout *>(ofA), second = *static_cast<Layout *>(ofB), result = *static_cast<Layout *>(ofD);
   const bool isAligned =
      IsAligned(a, words[1]) && IsAligned(b, words[2]) && IsAligned(c, words[3]) && IsAligned(d, words[4]) && IsAligned(workspace, 256);
   if (handle != &gHandle || words[0] != kMark || !isAligned || c != d || ofC != ofD || !Fit(op, first, second, result))
      return kInvalid;
   double factors[2];
   if (op.fNumbers)
      factors[0] = *static_cast<const double *>(alpha), factors[1] = *static_cast<const double *>(beta);
   else
      factors[0] = *static_cast<const float *>(alpha), factors[1] = *static_cast<const float *>(beta);
   return Queue(stream, [=] {
      std::memset(workspace, 0xff, bytes);
      const auto as = [](auto number, const void *pointer) { return static_cast<const decltype(number) *>(pointer); };
      if (op.fNumbers)
         Multiply(op, factors[0], as(0.0, a), first, as(0.0, b), second, factors[1], static_cast<double *>(d), result);
      else
         Multiply(op, float(factors[0]), as(0.f, a), first, as(0.f, b), second, float(factors[1]), static_cast<float *>(d), result);
      return 0;
   });
}

} // extern "C"
