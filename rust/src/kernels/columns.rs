//! From the numbers of a file to rows of float32.

use std::ffi::c_int;

use super::{check_length, variant};

/// How many types `ct_element` numbers.
const ELEMENT_SIZES: [usize; 11] = [1, 1, 1, 2, 2, 4, 4, 8, 8, 4, 8];

/// `ct_columns` of `cpp/kernels/kernels.h`.
#[repr(C)]
pub(super) struct Table {
    convert: unsafe extern "C" fn(c_int, usize, *const u8, *mut f32, c_int) -> c_int,
    interleave: unsafe extern "C" fn(usize, *const *const f32, usize, usize, *mut f32, c_int),
}

/// Where results go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum To {
    /// To the caches first: they are needed soon.
    #[default]
    Caches,
    /// To memory at once: they are too large to be found in a cache later.
    Memory,
}

impl To {
    /// Twice what a core has for itself: of more than this little is left in its caches, bytes.
    const CACHED: usize = 4 << 20;

    /// For a result of `length` numbers.
    pub fn of(length: usize) -> To {
        if length > To::CACHED / size_of::<f32>() { To::Memory } else { To::Caches }
    }
}

/// Converts big-endian numbers of type `element` (see `Element`); whether all are finite as float32.
pub fn convert(element: u8, bytes: &[u8], values: &mut [f32], to: To) -> bool {
    let size = ELEMENT_SIZES[usize::from(element)];
    check_length("bytes", bytes.len(), values.len().checked_mul(size).expect("more bytes than addresses"));
    let (from, into) = (bytes.as_ptr(), values.as_mut_ptr());
    // SAFETY: the element is one of the list, and `bytes` has as many numbers of it as `values`.
    unsafe { (variant().columns.convert)(element.into(), values.len(), from, into, (to == To::Memory).into()) == 1 }
}

/// `rows[r * width + offset + c] = columns[c][r]` for the rows of `rows` [R, width].
pub fn interleave(columns: &[&[f32]], offset: usize, width: usize, rows: &mut [f32], to: To) {
    assert!(offset + columns.len() <= width && rows.len().is_multiple_of(width), "columns outside the rows");
    let count = rows.len() / width;
    for column in columns {
        check_length("column", column.len(), count);
    }
    if count == 0 {
        return;
    }
    let addresses: Vec<*const f32> = columns.iter().map(|column| column.as_ptr()).collect();
    let (from, into) = (addresses.as_ptr(), rows[offset..].as_mut_ptr());
    let past = (to == To::Memory).into();
    // SAFETY: each column has `count` numbers, and `rows` as many rows of `width`, of which the kernel writes
    // `columns.len()` numbers from `offset` on, which lie within the row.
    unsafe { (variant().columns.interleave)(count, from, columns.len(), width, into, past) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOME_COLUMNS: [usize; 10] = [1, 2, 3, 5, 7, 8, 9, 16, 28, 600];

    #[test]
    fn columns_become_rows_of_any_number_and_width() {
        for (count, columns) in [0, 1, 7, 8, 9, 100, 3000].into_iter().flat_map(|n| SOME_COLUMNS.map(|c| (n, c))) {
            for (offset, width, to) in
                [(2, columns + 3, To::Caches), (0, columns, To::Memory), (1, columns + 1, To::Memory)]
            {
                let values: Vec<Vec<f32>> =
                    (0..columns).map(|c| (0..count).map(|r| (r * 1000 + c) as f32).collect()).collect();
                let slices: Vec<&[f32]> = values.iter().map(Vec::as_slice).collect();
                let mut rows = vec![-1.0; count * width];
                interleave(&slices, offset, width, &mut rows, to);
                for (r, row) in rows.chunks(width).enumerate() {
                    let inside = offset..offset + columns;
                    let expected = |i: usize| if inside.contains(&i) { (r * 1000 + i - offset) as f32 } else { -1.0 };
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
        for ((element, size), to) in ELEMENT_SIZES.iter().enumerate().flat_map(|e| [(e, To::Caches), (e, To::Memory)]) {
            let bytes: Vec<u8> = (0..5000)
                .flat_map(|i| {
                    let number = numbers[i % numbers.len()];
                    match element {
                        9 => (number as f32).to_be_bytes().to_vec(),
                        10 => (number as f64).to_be_bytes().to_vec(),
                        _ => number.to_be_bytes()[8 - size..].to_vec(),
                    }
                })
                .collect();
            let mut values = [0f32; 5000];
            assert!(convert(element as u8, &bytes, &mut values, to));
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
            for to in [To::Caches, To::Memory] {
                assert!(!convert(9, &bytes, &mut [0.0; 37], to));
            }
        }
        assert!(!convert(10, &1e300f64.to_be_bytes(), &mut [0.0], To::Memory));
        assert!(convert(10, &(-1e38f64).to_be_bytes(), &mut [0.0], To::Memory));
    }
}
