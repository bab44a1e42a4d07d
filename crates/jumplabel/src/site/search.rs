//! Finds the numbers of a key in the index of an object.

use crate::format::Entry;

/// As [`below`]. Faster if the result is small.
#[inline(never)]
pub(super) fn near_below(numbers: &[u32], table: &[Entry], limit: usize) -> usize {
    let beyond = |&step: &usize| numbers.get(step).is_none_or(|&number| key_of(table, number) >= limit);
    let near = (0..usize::BITS).map(|bit| 1 << bit).find(beyond).unwrap_or(usize::MAX);
    below(numbers.get(..near).unwrap_or(numbers), table, limit)
}

/// The number of `numbers` whose key is below `limit`. `numbers` are in the order of their keys.
#[inline(never)]
pub(super) fn below(numbers: &[u32], table: &[Entry], limit: usize) -> usize {
    numbers.partition_point(|&number| key_of(table, number) < limit)
}

/// The key of the entry with this number. Each number has an entry; if one had none, its key would be the largest address.
fn key_of(table: &[Entry], number: u32) -> usize {
    table.get(number as usize).map_or(usize::MAX, Entry::key)
}
