/// \file columns.hpp
/// The kernels of `ct_columns`; kernels.h says what each computes.
#pragma once
#include "kernels.h"

namespace CladTorch::Kernels {

int ConvertColumn(int element, size_t n, const uint8_t *bytes, float *values, int past);
int ScatterLists(int element, size_t n, const ct_lists *lists, size_t wanted, float pad, float *values, int past);
void GatherRows(size_t R, const float *const *from, size_t width, float *rows);
void Interleave(size_t R, const float *const *columns, size_t C, size_t width, float *rows, int past);

} // namespace CladTorch::Kernels
