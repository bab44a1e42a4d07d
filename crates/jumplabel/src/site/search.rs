//! Finds a key in the index of an object. In this file, `numbers` is a part of the index: the numbers of entries of `table`, in the order of the
//! entries' keys.

use crate::format::Entry;

/// The number of entries whose key lies below the address `limit`, like [`below`]. This function is faster if the result is small.
#[inline(never)]
pub(super) fn near_below(numbers: &[u32], table: &[Entry], limit: usize) -> usize {
    // The keys of all entries before `from` are below the limit.
    let (mut from, mut near) = (0, 0);
    while numbers.get(near).is_some_and(|&number| key_of(table, number) < limit) {
        (from, near) = (near + 1, 2 * near + 1);
    }
    if from == near {
        return near;
    }
    from + below(numbers.get(from..near.min(numbers.len())).unwrap_or_default(), table, limit)
}

/// The number of entries whose key lies below the address `limit`.
#[inline(never)]
pub(super) fn below(numbers: &[u32], table: &[Entry], limit: usize) -> usize {
    numbers.partition_point(|&number| key_of(table, number) < limit)
}

/// The address of the key of the entry with this number. (Each number in an index has an entry. If a number had none, the result would be the
/// largest address.)
#[inline(never)]
pub(super) fn key_of(table: &[Entry], number: u32) -> usize {
    table.get(number as usize).map_or(usize::MAX, Entry::key)
}
