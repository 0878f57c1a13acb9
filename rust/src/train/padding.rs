//! Elements that were padded: they are no values, and do not count for the standardisation.

use super::learned::Learned;
use crate::columns;

/// For each number of a row, the place of the number that says whether it was padded. A mask is that of its list, and of lists of the
/// same length that have the pad wherever it is 0, as of particles of which only one property has a mask.
pub(super) fn masks(&Learned { data, rows, job, .. }: &Learned) -> Vec<Option<usize>> {
    let mut masks = columns::masks(data.columns());
    let lists = columns::starts(data.columns()).filter(|(column, _)| !column.scalar);
    let (of_lists, others): (Vec<_>, Vec<_>) = lists.partition(|(column, _)| !column.mask_of.is_empty());
    let unmasked: Vec<_> = others.into_iter().filter(|(_, start)| masks[*start].is_none()).collect();
    for (column, start) in unmasked {
        let is_of = |mask: usize| {
            let has_value = |&&row: &&u32| {
                let row = &data.features()[row as usize * data.width()..];
                (0..column.length).any(|i| row[mask + i] == 0.0 && row[start + i] != column.pad)
            };
            job.total_of(rows.iter().find(has_value).map_or(0.0, |_| 1.0)) == 0.0
        };
        let mut of_length = of_lists.iter().filter(|(mask, _)| mask.length == column.length);
        if let Some((_, mask)) = of_length.find(|(_, mask)| is_of(*mask)) {
            (0..column.length).for_each(|i| masks[start + i] = Some(mask + i));
        }
    }
    masks
}
