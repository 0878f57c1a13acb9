//! From the numbers of a file to rows of float32.

use std::ffi::c_int;

use super::{check_length, variant};

/// How many types `ct_element` numbers.
const ELEMENT_SIZES: [usize; 11] = [1, 1, 1, 2, 2, 4, 4, 8, 8, 4, 8];

/// Columns that `interleave` takes at a time.
const LANES: usize = 8;

/// `ct_columns` of `cpp/kernels/kernels.h`.
#[repr(C)]
pub(super) struct Table {
    convert: unsafe extern "C" fn(c_int, usize, *const u8, *mut f32) -> c_int,
    interleave: unsafe extern "C" fn(usize, *const *const f32, usize, *mut f32),
}

/// Converts big-endian numbers of type `element` (see `Element`); whether all are finite as float32.
pub fn convert(element: u8, bytes: &[u8], values: &mut [f32]) -> bool {
    let size = ELEMENT_SIZES[usize::from(element)];
    check_length("bytes", bytes.len(), values.len().checked_mul(size).expect("more bytes than addresses"));
    // SAFETY: the element is one of the list, and `bytes` has as many numbers of it as `values`.
    unsafe { (variant().columns.convert)(element.into(), values.len(), bytes.as_ptr(), values.as_mut_ptr()) == 1 }
}

/// `rows[r * width + offset + c] = columns[c][r]` for the rows of `rows` [R, width].
pub fn interleave(columns: &[&[f32]], offset: usize, width: usize, rows: &mut [f32]) {
    assert!(offset + columns.len() <= width && rows.len().is_multiple_of(width), "columns outside the rows");
    let count = rows.len() / width;
    for column in columns {
        check_length("column", column.len(), count);
    }
    if columns.len() < LANES {
        for (c, column) in columns.iter().enumerate() {
            for (row, value) in rows.chunks_exact_mut(width).zip(*column) {
                row[offset + c] = *value;
            }
        }
        return;
    }
    for first in (0..columns.len()).step_by(LANES) {
        // The last columns are taken with some that have been written already.
        let first = first.min(columns.len() - LANES);
        let lanes: [*const f32; LANES] = std::array::from_fn(|lane| columns[first + lane].as_ptr());
        if count > 0 {
            // SAFETY: each column has `count` numbers, and `rows` has as many rows of `width` numbers, of which the
            // kernel writes the eight from `offset + first` on, which lie within the row.
            unsafe { (variant().columns.interleave)(count, lanes.as_ptr(), width, rows[offset + first..].as_mut_ptr()) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_become_rows_of_any_number_and_width() {
        for count in [0, 1, 7, 8, 9, 100] {
            for columns in [1, 3, 8, 9, 16, 28] {
                let values: Vec<Vec<f32>> =
                    (0..columns).map(|c| (0..count).map(|r| (r * 100 + c) as f32).collect()).collect();
                let slices: Vec<&[f32]> = values.iter().map(Vec::as_slice).collect();
                let width = columns + 3;
                let mut rows = vec![-1.0; count * width];
                interleave(&slices, 2, width, &mut rows);
                for (r, row) in rows.chunks(width).enumerate() {
                    let expected =
                        |i: usize| if (2..2 + columns).contains(&i) { (r * 100 + i - 2) as f32 } else { -1.0 };
                    assert!(
                        row.iter().enumerate().all(|(i, &value)| value == expected(i)),
                        "{columns} columns, row {r}"
                    );
                }
            }
        }
    }

    #[test]
    fn numbers_of_every_type_are_converted() {
        let numbers = [0i64, 1, 2, 100, 127];
        for (element, size) in ELEMENT_SIZES.iter().enumerate() {
            let bytes: Vec<u8> = (0..37)
                .flat_map(|i| {
                    let number = numbers[i % numbers.len()];
                    match element {
                        9 => (number as f32).to_be_bytes().to_vec(),
                        10 => (number as f64).to_be_bytes().to_vec(),
                        _ => number.to_be_bytes()[8 - size..].to_vec(),
                    }
                })
                .collect();
            let mut values = [0f32; 37];
            assert!(convert(element as u8, &bytes, &mut values));
            for (i, &value) in values.iter().enumerate() {
                let number = numbers[i % numbers.len()] as f32;
                assert_eq!(value, if element == 0 { number.min(1.0) } else { number }, "element {element}, number {i}");
            }
        }
    }

    #[test]
    fn what_is_not_finite_as_float32_is_seen() {
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let mut bytes: Vec<u8> = (0..37).flat_map(|i| (i as f32).to_be_bytes()).collect();
            bytes[4 * 33..][..4].copy_from_slice(&bad.to_be_bytes());
            assert!(!convert(9, &bytes, &mut [0.0; 37]));
        }
        assert!(!convert(10, &1e300f64.to_be_bytes(), &mut [0.0]));
        assert!(convert(10, &(-1e38f64).to_be_bytes(), &mut [0.0]));
    }
}
