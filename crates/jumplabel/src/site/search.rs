//! Where the numbers of a key are in the index of an object.

use crate::format::Entry;

/// [`below`], if that is close to the beginning.
#[inline(never)]
pub(super) fn near_below(numbers: &[u32], table: &[Entry], limit: usize) -> usize {
    let beyond = |&step: &usize| numbers.get(step).is_none_or(|&number| key_of(table, number) >= limit);
    let near = (0..usize::BITS).map(|bit| 1 << bit).find(beyond).unwrap_or(usize::MAX);
    below(numbers.get(..near).unwrap_or(numbers), table, limit)
}

/// How many of `numbers`, which are ordered by their keys, are of a key below `limit`.
#[inline(never)]
pub(super) fn below(numbers: &[u32], table: &[Entry], limit: usize) -> usize {
    numbers.partition_point(|&number| key_of(table, number) < limit)
}

/// The key of an entry by its number. All numbers are of entries; for a number without an entry, the largest address.
fn key_of(table: &[Entry], number: u32) -> usize {
    table.get(number as usize).map_or(usize::MAX, Entry::key)
}
