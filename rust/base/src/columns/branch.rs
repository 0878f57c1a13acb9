//! A branch as ROOT describes it, and how the entries of its baskets become float32, or are returned unchanged.

use std::ops::Range;

use super::basket::{self, Key};
use super::codec::Codecs;
use crate::error::{Error, Result};
use crate::kernels::{self, Lists};

/// The remedy for a file whose lists or baskets contradict one another.
pub const DAMAGED: &str = "the file is damaged: fetch or write it again, or try ROOT's reader (Dataset::SetReader)";

/// Bytes before the numbers of a vector: byte count, version, length.
const VECTOR_HEADER: usize = 10;

/// Types of numbers in a file, big-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs)] // They say what they are.
pub enum Element {
    Bool,
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F32,
    F64,
}

impl Element {
    /// All of them, in the order of `ct_element` in `cpp/kernels/kernels.h` and of `EElement` in `cpp/src/reading/BranchLayout.cxx`.
    pub const ALL: [Element; 11] = [
        Element::Bool,
        Element::I8,
        Element::U8,
        Element::I16,
        Element::U16,
        Element::I32,
        Element::U32,
        Element::I64,
        Element::U64,
        Element::F32,
        Element::F64,
    ];

    /// Bytes of a number.
    pub fn size(self) -> usize {
        match self {
            Element::Bool | Element::I8 | Element::U8 => 1,
            Element::I16 | Element::U16 => 2,
            Element::I32 | Element::U32 | Element::F32 => 4,
            Element::I64 | Element::U64 | Element::F64 => 8,
        }
    }

    /// The number in `bytes`, for a message.
    fn value(self, bytes: &[u8]) -> f64 {
        match self {
            Element::F32 => bytes.first_chunk().map_or(f64::NAN, |bytes| f32::from_be_bytes(*bytes).into()),
            Element::F64 => bytes.first_chunk().map_or(f64::NAN, |bytes| f64::from_be_bytes(*bytes)),
            // The others are all finite.
            _ => f64::NAN,
        }
    }
}

/// Layout of the numbers in an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Every entry has `entry_length` bytes, of which `length` numbers begin at byte `offset`.
    Fixed {
        /// Bytes of an entry.
        entry_length: usize,
        /// Bytes before the numbers: other leaves of the branch.
        offset: usize,
        /// Numbers.
        length: usize,
    },
    /// Entries of any length, as in an array with a count.
    Array,
    /// The same after the header of a `std::vector` or `RVec`: a byte count, a version, and the length.
    Vector,
}

/// Limit of the decoded numbers of a basket that are kept at a time, in bytes: a larger basket, for example one of a
/// list that is padded to a great length, is decoded piece by piece.
pub(super) const PIECE_BYTES: u64 = 32 << 20;

/// More decoded bytes than this mean a mistake in the number of entries.
const MOST_DECODED: u64 = 1 << 44;

/// One basket of a branch, or a piece of one.
#[derive(Clone, Copy, Debug)]
pub struct BasketPiece {
    /// Position of its record in the file.
    pub seek: u64,
    /// Bytes of the record.
    pub bytes: usize,
    /// Its first entry.
    pub first: u64,
    /// The entry after its last.
    pub end: u64,
    /// The basket's first entry and the entry after its last.
    pub basket: (u64, u64),
}

/// The table that receives a column's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnPart {
    /// [rows, width]
    Features,
    /// [rows]
    Label,
    /// [rows]
    Weight,
}

impl BasketPiece {
    /// A whole basket.
    pub fn whole(seek: u64, bytes: usize, first: u64, end: u64) -> BasketPiece {
        BasketPiece { seek, bytes, first, end, basket: (first, end) }
    }

    /// The number of the basket's entries before this piece, and the number in it; an error unless the basket's key has
    /// as many as ROOT's lists.
    fn entries_in(&self, entries: usize) -> Result<(usize, usize), String> {
        let (first, end) = self.basket;
        if entries as u64 != end - first {
            return Err(format!("it has {entries} entries instead of {}", end - first));
        }
        Ok(((self.first - first) as usize, (self.end - self.first) as usize))
    }

    /// End of its record in the file.
    pub fn end_of_record(&self) -> u64 {
        self.seek + self.bytes as u64
    }
}

/// A branch and the requested numbers of it.
#[derive(Clone, Debug)]
pub struct Branch {
    /// Name, for messages.
    pub name: String,
    /// Type of its numbers.
    pub element: Element,
    /// Layout of its entries.
    pub shape: Shape,
    /// The table that receives them.
    pub part: ColumnPart,
    /// Place of the first one in a row of `part`.
    pub place: usize,
    /// Numbers requested from an entry.
    pub wanted: usize,
    /// Padding of shorter entries.
    pub pad: f32,
    /// Its baskets, one after the other from entry 0 on.
    pub baskets: Vec<BasketPiece>,
}

/// The first number of a basket that is not finite as float32.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unfinite {
    /// Counted from the basket's first entry.
    pub entry: usize,
    /// The number as stored in the file.
    pub value: f64,
}

/// Buffers of one thread.
#[derive(Default)]
pub struct Scratch {
    codecs: Codecs,
    object: Vec<u8>,
    offsets: Vec<usize>,
}

impl Branch {
    /// Refuses requested numbers that are not within an entry.
    pub fn checked(self) -> Result<Branch> {
        if let Shape::Fixed { entry_length, offset, length } = self.shape {
            let end = length.checked_mul(self.element.size()).and_then(|bytes| bytes.checked_add(offset));
            if end.is_none_or(|end| end > entry_length) {
                return Err(Error::invalid(
                    format!(
                        "branch '{}' has {length} numbers from byte {offset} on in entries of {entry_length}",
                        self.name
                    ),
                    DAMAGED,
                ));
            }
        }
        Ok(self)
    }

    /// Checks ROOT's lists against the file and the number of entries: `seeks`, `bytes` and `firsts` of each basket.
    pub fn set_baskets(
        &mut self,
        seeks: &[i64],
        bytes: &[i32],
        firsts: &[i64],
        entries: u64,
        file_size: u64,
    ) -> Result<()> {
        let count = seeks.len();
        if bytes.len() != count || firsts.len() != count {
            return Err(Error::Internal(format!("baskets of branch '{}' in lists of different length", self.name)));
        }
        if entries.checked_mul(self.row_bytes()).is_none_or(|bytes| bytes > MOST_DECODED) {
            return Err(Error::invalid(
                format!("{entries} entries of {} numbers of branch '{}' fit no memory", self.wanted, self.name),
                DAMAGED,
            ));
        }
        self.baskets.clear();
        let mut before = 0;
        for i in 0..count {
            let next = firsts.get(i + 1).map_or(entries, |&next| u64::try_from(next).unwrap_or(u64::MAX));
            let place = u64::try_from(seeks[i]).ok().zip(usize::try_from(bytes[i]).ok());
            let place = place.filter(|&(seek, bytes)| {
                bytes <= basket::MOST_BYTES
                    && seek.checked_add(bytes as u64).is_some_and(|end| end <= file_size)
                    && u64::try_from(firsts[i]) == Ok(before)
                    && (before..=entries).contains(&next)
            });
            let Some((seek, bytes)) = place else {
                return Err(Error::invalid(
                    format!(
                        "basket {i} of branch '{}' claims {} bytes at {} for the entries {} to {next} of {entries}, in a \
                         file of {file_size} bytes",
                        self.name, bytes[i], seeks[i], firsts[i]
                    ),
                    DAMAGED,
                ));
            };
            let most = (PIECE_BYTES / self.row_bytes().max(1)).max(1);
            let mut first = before;
            while first < next {
                let end = next.min(first.saturating_add(most));
                self.baskets.push(BasketPiece { seek, bytes, first, end, basket: (before, next) });
                first = end;
            }
            before = next;
        }
        if before != entries {
            return Err(Error::invalid(
                format!("the baskets of branch '{}' have {before} of its {entries} entries", self.name),
                DAMAGED,
            ));
        }
        Ok(())
    }

    /// Decodes the entries at `place` from the basket's `record` into `values` [entries, wanted]. Returns the first
    /// number that is not finite in an entry (counted from the first of `place`) that `is_row`.
    pub fn decode(
        &self,
        place: &BasketPiece,
        record: &[u8],
        scratch: &mut Scratch,
        values: &mut [f32],
        is_row: impl Fn(usize) -> bool,
    ) -> Result<Option<Unfinite>, String> {
        let (key, skipped, count) = self.checked_key(place, record)?;
        if count.checked_mul(self.wanted) != Some(values.len()) {
            return Err(format!("{count} entries do not fill {} numbers", values.len()));
        }
        let object = key.object(record, &mut scratch.codecs, &mut scratch.object)?;
        let entries = &object[..key.entries_length];
        if self.shape.is_jagged() {
            basket::offsets(&key, object, &mut scratch.offsets)?;
            self.check_entries(entries, &scratch.offsets)?;
        }
        if self.fills_entries() {
            let entries = &entries[skipped * key.entry_length..][..count * key.entry_length];
            return Ok(if kernels::convert(self.element as u8, entries, values) {
                None
            } else {
                self.first_unfinite(0, entries, &[], values, is_row)
            });
        }
        let ends = match self.shape {
            Shape::Fixed { entry_length, .. } => {
                scratch.offsets.clear();
                let room = scratch.offsets.try_reserve(count + 1);
                room.map_err(|_| format!("there is no memory for {count} entries"))?;
                scratch.offsets.extend((skipped..=skipped + count).map(|i| i * entry_length));
                &scratch.offsets[..]
            }
            Shape::Array | Shape::Vector => &scratch.offsets[skipped..=skipped + count],
        };
        let (before, after) = self.around();
        let lists = Lists { entries, ends, before, after };
        if kernels::scatter(self.element as u8, lists, self.wanted, self.pad, values) {
            return Ok(None);
        }
        Ok(self.first_unfinite(skipped, entries, &scratch.offsets, values, is_row))
    }

    /// The offset in `record` of the entries at `place`, if it is not compressed; [`Self::is_plain`] must be true.
    pub fn stored_at(&self, place: &BasketPiece, record: &[u8]) -> Result<Option<usize>, String> {
        let (key, skipped, _) = self.checked_key(place, record)?;
        Ok(key.is_stored(record).then(|| key.key_length + skipped * key.entry_length))
    }

    /// Writes the entries at `place` to `bytes` unchanged, big-endian; [`Self::is_plain`] must be true.
    pub fn copy(
        &self,
        place: &BasketPiece,
        record: &[u8],
        scratch: &mut Scratch,
        bytes: &mut [u8],
    ) -> Result<(), String> {
        let (key, skipped, count) = self.checked_key(place, record)?;
        if count.checked_mul(key.entry_length) != Some(bytes.len()) {
            return Err(format!("{count} entries of {} bytes do not fill {}", key.entry_length, bytes.len()));
        }
        if key.object_length == bytes.len() && !key.is_stored(record) {
            return scratch.codecs.decompress_into(&record[key.key_length..], bytes);
        }
        let object = key.object(record, &mut scratch.codecs, &mut scratch.object)?;
        bytes.copy_from_slice(&object[skipped * key.entry_length..][..bytes.len()]);
        Ok(())
    }

    /// Whether its baskets are float32 numbers, one per entry, and nothing else.
    pub fn is_plain(&self) -> bool {
        self.element == Element::F32 && self.wanted == 1 && self.fills_entries()
    }

    /// The key of `record`; the number of the basket's entries before `place`, and the number in it. They are within
    /// the basket if all have the same length.
    fn checked_key(&self, place: &BasketPiece, record: &[u8]) -> Result<(Key, usize, usize), String> {
        let key = Key::parse(record, place.seek)?;
        let (skipped, count) = place.entries_in(key.entries)?;
        if let Shape::Fixed { entry_length, .. } = self.shape
            && (key.entry_length != entry_length || key.entries.checked_mul(entry_length) != Some(key.entries_length))
        {
            return Err(format!(
                "it has {} bytes in entries of {}, instead of {} entries of {entry_length}",
                key.entries_length, key.entry_length, key.entries
            ));
        }
        Ok((key, skipped, count))
    }

    /// Bytes of the numbers requested from an entry.
    pub(super) fn row_bytes(&self) -> u64 {
        (self.wanted as u64).saturating_mul(size_of::<f32>() as u64)
    }

    /// Whether an entry consists only of the requested numbers.
    fn fills_entries(&self) -> bool {
        match self.shape {
            Shape::Fixed { entry_length, offset, length } => {
                offset == 0 && length == self.wanted && length * self.element.size() == entry_length
            }
            Shape::Array | Shape::Vector => false,
        }
    }

    /// Bytes of an entry before its numbers, and after them.
    fn around(&self) -> (usize, usize) {
        match self.shape {
            Shape::Fixed { entry_length, offset, length } => {
                (offset, entry_length - offset - length * self.element.size())
            }
            Shape::Array => (0, 0),
            Shape::Vector => (VECTOR_HEADER, 0),
        }
    }

    /// The bytes of the numbers of entry `i`.
    fn span(&self, i: usize, offsets: &[usize]) -> Range<usize> {
        match self.shape {
            Shape::Fixed { entry_length, offset, length } => {
                let start = i * entry_length + offset;
                start..start + length * self.element.size()
            }
            Shape::Array => offsets[i]..offsets[i + 1],
            Shape::Vector => offsets[i] + VECTOR_HEADER..offsets[i + 1],
        }
    }

    /// Checks that entries of different lengths hold whole numbers of elements, and as many as a vector's header says.
    fn check_entries(&self, entries: &[u8], offsets: &[usize]) -> Result<(), String> {
        let size = self.element.size();
        for (i, ends) in offsets.windows(2).enumerate() {
            let entry = &entries[ends[0]..ends[1]];
            let fits = match self.shape {
                Shape::Vector => {
                    vector_length(entry).is_some_and(|n| n.checked_mul(size) == Some(entry.len() - VECTOR_HEADER))
                }
                _ => entry.len().is_multiple_of(size),
            };
            if !fits {
                return Err(format!("the {} bytes of its entry {i} hold no list of {:?}", entry.len(), self.element));
            }
        }
        Ok(())
    }

    /// `values` are those of `entries`, beginning with number `skipped`.
    #[cold]
    fn first_unfinite(
        &self,
        skipped: usize,
        entries: &[u8],
        offsets: &[usize],
        values: &[f32],
        is_row: impl Fn(usize) -> bool,
    ) -> Option<Unfinite> {
        let is_bad = |&(at, value): &(usize, &f32)| !value.is_finite() && is_row(at / self.wanted);
        let (at, _) = values.iter().enumerate().find(is_bad)?;
        let (entry, number) = (at / self.wanted, at % self.wanted);
        let bytes = &entries[self.span(skipped + entry, offsets)][number * self.element.size()..];
        Some(Unfinite { entry, value: self.element.value(bytes) })
    }
}

impl Shape {
    fn is_jagged(self) -> bool {
        !matches!(self, Shape::Fixed { .. })
    }
}

/// The length in the header of a vector; `None` for a header of another kind.
fn vector_length(entry: &[u8]) -> Option<usize> {
    const BYTE_COUNT: u32 = 1 << 30;
    const MEMBER_WISE: u16 = 1 << 14;
    let (count, rest) = entry.split_first_chunk()?;
    let (version, rest) = rest.split_first_chunk()?;
    let (length, _) = rest.split_first_chunk()?;
    let follows = u32::from_be_bytes(*count).checked_sub(BYTE_COUNT)? as usize;
    let plain = follows == entry.len() - size_of::<u32>() && u16::from_be_bytes(*version) & MEMBER_WISE == 0;
    plain.then_some(u32::from_be_bytes(*length) as usize)
}
