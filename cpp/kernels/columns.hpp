/// \file columns.hpp
/// The kernels of `ct_columns`; kernels.h says what each computes.
#pragma once
#include "kernels.h"

namespace CladTorch::Kernels {

int ConvertColumn(int element, size_t n, const uint8_t *bytes, float *values);
int ScatterLists(int element, size_t n, const ct_lists *lists, size_t wanted, float pad, float *values);
void GatherRows(size_t R, const float *const *from, size_t width, float *rows);
int Interleave(size_t R, const ct_column *columns, size_t C, size_t width, float *rows);

} // namespace CladTorch::Kernels
