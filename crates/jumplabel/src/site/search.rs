//! Finds a key in the index of an object. Below, `numbers` is a part of the index: numbers of entries in `table`, in the order of their
//! keys.

use crate::format::Entry;

/// Returns the same as [`below`]. It is faster if the result is small.
#[inline(never)]
pub(super) fn near_below(numbers: &[u32], table: &[Entry], limit: usize) -> usize {
    let beyond = |&step: &usize| numbers.get(step).is_none_or(|&number| key_of(table, number) >= limit);
    let near = (0..usize::BITS).map(|bit| 1 << bit).find(beyond).unwrap_or(usize::MAX);
    below(numbers.get(..near).unwrap_or(numbers), table, limit)
}

/// How many of the entries have a key at an address below `limit`.
#[inline(never)]
pub(super) fn below(numbers: &[u32], table: &[Entry], limit: usize) -> usize {
    numbers.partition_point(|&number| key_of(table, number) < limit)
}

/// The address of the key of the entry with this number. (Each number in an index has an entry. If one had none, the result would be the
/// largest address.)
#[inline]
pub(super) fn key_of(table: &[Entry], number: u32) -> usize {
    table.get(number as usize).map_or(usize::MAX, Entry::key)
}
