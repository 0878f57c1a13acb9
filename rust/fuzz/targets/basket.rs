//! The decoder of baskets. Beyond what the sanitizer sees: it writes every number that it says it has.

#![no_main]

#[allow(dead_code)] // The corpus needs the rest.
#[path = "../basket.rs"]
mod basket;

use cladtorch::columns::basket::Key;
use cladtorch::columns::branch::{BasketPiece, Scratch};
use libfuzzer_sys::fuzz_target;

/// Entries that are decoded at most: a reader makes room for them before, and knows from elsewhere how many there are.
const MOST_ENTRIES: usize = 1 << 16;

/// The record as a reader would have it, so that inputs get past the checks of position and size: the key says how
/// long it is and where it lies.
fn place_of(record: &mut [u8]) -> Option<BasketPiece> {
    let length = i32::try_from(record.len()).ok()?;
    record.get_mut(..4)?.copy_from_slice(&length.to_be_bytes());
    let wide = u16::from_be_bytes(*record.get(4..)?.first_chunk()?) > 1000;
    let seek = match wide {
        true => u64::from_be_bytes(*record.get(18..)?.first_chunk()?),
        false => u32::from_be_bytes(*record.get(18..)?.first_chunk()?).into(),
    };
    let key = Key::parse(record, seek).ok().filter(|key| key.entries <= MOST_ENTRIES)?;
    Some(BasketPiece::whole(seek, record.len(), 0, key.entries as u64))
}

fuzz_target!(|input: &[u8]| {
    let Some((header, record)) = input.split_first_chunk() else { return };
    let Some(branch) = basket::branch(*header) else { return };
    let mut record = record.to_vec();
    let Some(place) = place_of(&mut record) else { return };
    // On the heap and no larger than it has to be, so that the sanitizer sees the first number beyond it.
    let mut values = vec![f32::NAN; place.end as usize * branch.wanted];
    let decoded = branch.decode(&place, &record, &mut Scratch::default(), &mut values, |_| true);
    if let Ok(None) = decoded {
        assert!(values.iter().all(|value| value.is_finite()), "a number was not written");
    }
    if branch.is_plain() {
        let mut bytes = vec![0xff; 4 * place.end as usize];
        let copied = branch.copy(&place, &record, &mut Scratch::default(), &mut bytes);
        assert_eq!(copied.is_ok(), decoded.is_ok(), "{copied:?}, {decoded:?}");
        let turned = bytes.chunks_exact(4).map(|bytes| f32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
        let same = turned.map(f32::to_bits).eq(values.iter().map(|value| value.to_bits()));
        assert!(copied.is_err() || same, "copied and decoded numbers differ");
        if let Ok(Some(begin)) = branch.stored_at(&place, &record) {
            assert_eq!(record[begin..][..bytes.len()], bytes, "what is stored lies elsewhere");
        }
    }
});
