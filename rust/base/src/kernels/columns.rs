//! From the numbers of a file to rows of float32.

use std::ffi::c_int;

use super::{check_length, variant};

/// How many types `ct_element` numbers.
const ELEMENT_SIZES: [usize; 11] = [1, 1, 1, 2, 2, 4, 4, 8, 8, 4, 8];

/// `ct_columns` of `cpp/kernels/kernels.h`.
#[repr(C)]
pub(super) struct KernelTable {
    convert: unsafe extern "C" fn(c_int, usize, *const u8, *mut f32) -> c_int,
    scatter: unsafe extern "C" fn(c_int, usize, *const ListsTable, usize, f32, *mut f32) -> c_int,
    interleave: unsafe extern "C" fn(usize, *const ColumnTable, usize, usize, *mut f32) -> c_int,
    gather_rows: unsafe extern "C" fn(usize, *const *const f32, usize, *mut f32),
}

/// `ct_lists` of `cpp/kernels/kernels.h`.
#[repr(C)]
struct ListsTable {
    entries: *const u8,
    length: usize,
    ends: *const usize,
    before: usize,
    after: usize,
}

/// `ct_column` of `cpp/kernels/kernels.h`.
#[repr(C)]
struct ColumnTable {
    numbers: *const u8,
    big_endian: c_int,
}

/// The bytes of float32 numbers, at any address.
#[derive(Clone, Copy, Debug)]
pub struct Column<'a> {
    /// Four for each number.
    pub bytes: &'a [u8],
    /// In a file's byte order rather than the processor's.
    pub big_endian: bool,
}

/// Lists of numbers in the entries of a basket.
#[derive(Clone, Copy, Debug)]
pub struct Lists<'a> {
    /// The entries, one after the other.
    pub entries: &'a [u8],
    /// The beginning of each entry, and the end of the last one.
    pub ends: &'a [usize],
    /// Bytes of an entry before its numbers.
    pub before: usize,
    /// Bytes of an entry after its numbers.
    pub after: usize,
}

/// Converts big-endian numbers of type `element` (see `Element`); returns whether all are finite as float32.
pub fn convert(element: u8, bytes: &[u8], values: &mut [f32]) -> bool {
    let size = ELEMENT_SIZES[usize::from(element)];
    check_length("bytes", bytes.len(), values.len().checked_mul(size).expect("more bytes than addresses"));
    let (from, into) = (bytes.as_ptr(), values.as_mut_ptr());
    // SAFETY: the element is one of the list, and `bytes` has as many numbers of it as `values`.
    unsafe { (variant().table.columns.convert)(element.into(), values.len(), from, into) == 1 }
}

/// Writes the big-endian numbers of each list to a row of `values` [rows, wanted], truncated or padded with `pad`;
/// returns whether all of them are finite as float32.
pub fn scatter(element: u8, lists: Lists, wanted: usize, pad: f32, values: &mut [f32]) -> bool {
    let Lists { entries, ends, before, after } = lists;
    let rows = ends.len().saturating_sub(1);
    check_length("values", values.len(), rows.checked_mul(wanted).expect("more numbers than addresses"));
    let around = before.checked_add(after).expect("more bytes than addresses");
    let holds = |ends: &[usize]| ends[1].checked_sub(ends[0]).is_some_and(|length| length >= around);
    let is_inside = ends.last().is_none_or(|&end| end <= entries.len());
    assert!(
        usize::from(element) < ELEMENT_SIZES.len() && is_inside && ends.windows(2).all(holds),
        "lists outside entries"
    );
    if values.is_empty() {
        return true;
    }
    let table = ListsTable { entries: entries.as_ptr(), length: entries.len(), ends: ends.as_ptr(), before, after };
    let into = values.as_mut_ptr();
    // SAFETY: the element is one of the list; each list lies within the entries, for its end is not before its beginning
    // and the last end is inside; `values` has a row of `wanted` numbers for each.
    unsafe { (variant().table.columns.scatter)(element.into(), rows, &raw const table, wanted, pad, into) == 1 }
}

/// Sets `rows[r * width + offset + c]` to number `r` of column `c`, for the rows of `rows` [R, width]; returns whether
/// all numbers of big-endian columns are finite.
pub fn interleave(columns: &[Column], offset: usize, width: usize, rows: &mut [f32]) -> bool {
    assert!(offset + columns.len() <= width && rows.len().is_multiple_of(width), "columns outside the rows");
    let count = rows.len() / width;
    let bytes = size_of_val(rows) / width;
    let table = |column: &Column| {
        check_length("column", column.bytes.len(), bytes);
        ColumnTable { numbers: column.bytes.as_ptr(), big_endian: column.big_endian.into() }
    };
    let table: Vec<ColumnTable> = columns.iter().map(table).collect();
    if count == 0 {
        return true;
    }
    let (from, into) = (table.as_ptr(), rows[offset..].as_mut_ptr());
    // SAFETY: each column has `count` numbers, and `rows` as many rows of `width`, of which the kernel writes
    // `columns.len()` numbers from `offset` on, which lie within the row.
    unsafe { (variant().table.columns.interleave)(count, from, columns.len(), width, into) == 1 }
}

/// Copies rows of `width` numbers from arbitrary places, one after the other, to `rows` [from.len(), width].
pub fn gather_rows(from: &[&[f32]], width: usize, rows: &mut [f32]) {
    check_length("rows", rows.len(), from.len().checked_mul(width).expect("more numbers than addresses"));
    let addresses: Vec<*const f32> = from
        .iter()
        .map(|row| {
            check_length("row", row.len(), width);
            row.as_ptr()
        })
        .collect();
    // SAFETY: each row has `width` numbers, and `rows` has as many of them.
    unsafe { (variant().table.columns.gather_rows)(from.len(), addresses.as_ptr(), width, rows.as_mut_ptr()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOME_WIDTHS: [usize; 12] = [1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 28, 600];

    /// Which columns are big-endian: none, all, every third.
    const ORDERS: [fn(usize) -> bool; 3] = [|_| false, |_| true, |c| c.is_multiple_of(3)];

    fn bytes_of_float(number: f32, big_endian: bool) -> [u8; 4] {
        if big_endian { number.to_be_bytes() } else { number.to_ne_bytes() }
    }

    /// Columns at odd addresses.
    fn bytes_of_columns(n: usize, rows: usize, order: fn(usize) -> bool) -> Vec<Vec<u8>> {
        let numbers = |c: usize| (0..rows).flat_map(move |r| bytes_of_float((r * 1000 + c) as f32, order(c)));
        (0..n).map(|c| std::iter::once(0).chain(numbers(c)).collect()).collect()
    }

    fn columns(bytes: &[Vec<u8>], order: fn(usize) -> bool) -> Vec<Column<'_>> {
        bytes.iter().enumerate().map(|(c, bytes)| Column { bytes: &bytes[1..], big_endian: order(c) }).collect()
    }

    #[test]
    fn columns_become_rows_of_any_number_and_width() {
        for (count, n) in [0, 1, 7, 8, 9, 100, 3000].into_iter().flat_map(|count| SOME_WIDTHS.map(|n| (count, n))) {
            for order in ORDERS {
                let bytes = bytes_of_columns(n, count, order);
                for (offset, width) in [(2, n + 3), (0, n), (1, n + 1)] {
                    let mut rows = vec![-1.0; count * width];
                    assert!(interleave(&columns(&bytes, order), offset, width, &mut rows));
                    for (r, row) in rows.chunks(width).enumerate() {
                        let inside = offset..offset + n;
                        let expected = |i| if inside.contains(&i) { (r * 1000 + i - offset) as f32 } else { -1.0 };
                        assert!(row.iter().enumerate().all(|(i, &value)| value == expected(i)), "{n} columns, row {r}");
                    }
                }
            }
        }
    }

    #[test]
    fn of_columns_each_big_endian_number_has_to_be_finite() {
        const ROWS: usize = 300;
        for (n, order) in SOME_WIDTHS.into_iter().flat_map(|n| ORDERS.map(|order| (n, order))) {
            let sound = bytes_of_columns(n, ROWS, order);
            for (c, row) in [(0, 0), (n / 2, 150), (n - 1, ROWS - 1), (n - 1, 7)] {
                for bad in [f32::NAN, f32::NEG_INFINITY] {
                    let mut bytes = sound.clone();
                    bytes[c][1 + 4 * row..][..4].copy_from_slice(&bytes_of_float(bad, order(c)));
                    let finite = interleave(&columns(&bytes, order), 0, n, &mut vec![0.0; n * ROWS]);
                    assert_eq!(finite, !order(c), "{n} columns, number {row} of column {c}");
                }
            }
        }
    }

    #[test]
    fn rows_are_gathered_from_anywhere() {
        let numbers: Vec<f32> = (0..5000).map(|i| i as f32).collect();
        for (count, width) in [0, 1, 15, 16, 17, 100].into_iter().flat_map(|n| SOME_WIDTHS.map(|c| (n, c))) {
            let rows: Vec<&[f32]> = (0..count).map(|r| &numbers[r * 37 % 4000..][..width]).collect();
            let mut gathered = vec![-1.0; count * width];
            gather_rows(&rows, width, &mut gathered);
            assert_eq!(gathered, rows.concat(), "{count} rows of {width}");
        }
    }

    #[test]
    fn numbers_of_every_type_are_converted() {
        let numbers = [0i64, 1, 2, 100, 127];
        for element in 0..ELEMENT_SIZES.len() {
            let bytes: Vec<u8> = (0..5000).flat_map(|i| bytes_of(element, numbers[i % numbers.len()])).collect();
            let mut values = [0f32; 5000];
            assert!(convert(element as u8, &bytes, &mut values));
            for (i, &value) in values.iter().enumerate() {
                let number = numbers[i % numbers.len()] as f32;
                assert_eq!(value, if element == 0 { number.min(1.0) } else { number }, "element {element}, number {i}");
            }
        }
    }

    /// Big-endian bytes of `number` as an element.
    fn bytes_of(element: usize, number: i64) -> Vec<u8> {
        match element {
            9 => (number as f32).to_be_bytes().to_vec(),
            10 => (number as f64).to_be_bytes().to_vec(),
            _ => number.to_be_bytes()[8 - ELEMENT_SIZES[element]..].to_vec(),
        }
    }

    /// Entries of lists of these lengths, between meaningless bytes, with their ends.
    fn entries(element: usize, lengths: &[usize], [before, after]: [usize; 2]) -> (Vec<u8>, Vec<usize>) {
        let (mut entries, mut ends) = (Vec::new(), vec![0]);
        for (row, &length) in lengths.iter().enumerate() {
            entries.extend(std::iter::repeat_n(0xff, before));
            entries.extend((0..length).flat_map(|i| bytes_of(element, ((row * 7 + i * 3) % 100) as i64)));
            entries.extend(std::iter::repeat_n(0xff, after));
            ends.push(entries.len());
        }
        (entries, ends)
    }

    #[test]
    fn lists_become_rows_cut_or_padded() {
        let lengths: Vec<usize> = (0..700).map(|i| i * i % 23).collect();
        for (element, around) in
            (0..ELEMENT_SIZES.len()).flat_map(|element| [[0, 0], [10, 0], [3, 5]].map(|around| (element, around)))
        {
            let (entries, ends) = entries(element, &lengths, around);
            let lists = Lists { entries: &entries, ends: &ends, before: around[0], after: around[1] };
            for wanted in [1, 2, 3, 4, 5, 8, 9, 16, 17, 40, 5000] {
                let mut values = vec![-1.0; lengths.len() * wanted];
                assert!(scatter(element as u8, lists, wanted, 0.25, &mut values));
                for (row, (values, &length)) in values.chunks(wanted).zip(&lengths).enumerate() {
                    for (i, &value) in values.iter().enumerate() {
                        let number = ((row * 7 + i * 3) % 100) as f32;
                        let number = if element == 0 { number.min(1.0) } else { number };
                        let expected = if i < length { number } else { 0.25 };
                        assert_eq!(value, expected, "element {element}, {wanted} wanted, row {row}, number {i}");
                    }
                }
            }
        }
    }

    #[test]
    fn of_lists_only_what_is_taken_has_to_be_finite() {
        let mut bytes: Vec<u8> = (0..60).flat_map(|i| (i as f32).to_be_bytes()).collect();
        bytes[4 * 22..][..4].copy_from_slice(&f32::NAN.to_be_bytes());
        let ends: Vec<usize> = (0..=6).map(|row| row * 40).collect();
        for (wanted, finite) in [(10, true), (11, false)] {
            let lists = Lists { entries: &bytes[..80], ends: &ends[..3], before: 0, after: 0 };
            assert_eq!(scatter(9, lists, wanted, f32::NAN, &mut vec![0.0; 2 * wanted]), finite, "{wanted} padded");
        }
        for (first, wanted, finite) in [(0, 2, true), (0, 3, false), (3, 10, true), (2, 10, false)] {
            let lists = Lists { entries: &bytes, ends: &ends[first..], before: 0, after: 0 };
            let mut values = vec![0.0; (6 - first) * wanted];
            assert_eq!(scatter(9, lists, wanted, 0.0, &mut values), finite, "{wanted} from list {first} on");
        }
    }

    #[test]
    #[should_panic(expected = "lists outside entries")]
    fn lists_outside_their_entries_are_refused() {
        let lists = Lists { entries: &[0; 8], ends: &[0, 8, 4], before: 0, after: 0 };
        scatter(9, lists, 1, 0.0, &mut [0.0; 2]);
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
