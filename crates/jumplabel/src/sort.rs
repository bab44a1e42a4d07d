//! The one sort function of this library. It sorts requests, site changes and indexes.
//!
//! The standard library's sort adds about six kilobytes of code to the program for each type that is sorted. The function here adds its code only
//! once, because it does not know the type: through a trait object, it compares and swaps entries by their positions. It sorts in place, without
//! memory of its own, in O(n log n):
//!
//! ```text
//!   sorted input               one pass: the usual case, because linkers put table entries in the order of addresses
//!   other input                quicksort: the pivot is the entry in the middle; recursion into the smaller part only, to save stack
//!   a part is cut too often    heapsort of that part, because its pivots are bad
//! ```
//!
//! In kernels, heapsort sorts all input that is not sorted, so they contain only that one.

use core::ops::Range;

/// A list whose entries can be compared and swapped by their positions. If a position is out of range, `less` returns false and `swap` does nothing.
trait Places {
    fn less(&self, a: usize, b: usize) -> bool;
    fn swap(&mut self, a: usize, b: usize);
}

struct Slice<'a, T, F> {
    places: &'a mut [T],
    less: F,
}

impl<T, F: Fn(&T, &T) -> bool> Places for Slice<'_, T, F> {
    fn less(&self, a: usize, b: usize) -> bool {
        match (self.places.get(a), self.places.get(b)) {
            (Some(a), Some(b)) => (self.less)(a, b),
            _ => false,
        }
    }

    fn swap(&mut self, a: usize, b: usize) {
        if let Ok([a, b]) = self.places.get_disjoint_mut([a, b]) {
            core::mem::swap(a, b);
        }
    }
}

/// Sorts `places`. Equal entries can end up in any order.
pub(crate) fn sort_unstable_by<T>(places: &mut [T], less: impl Fn(&T, &T) -> bool) {
    let range = 0..places.len();
    sort(&mut Slice { places, less }, range);
}

#[inline(never)]
fn sort(places: &mut dyn Places, range: Range<usize>) {
    let disordered = range.clone().skip(1).any(|at| places.less(at, at - 1));
    if disordered && cfg!(target_os = "none") {
        heapsort(places, range.start, range.end);
    } else if disordered {
        // The limit is twice the depth that results if each cut hits the middle.
        quicksort(places, range.start, range.end, 2 * range.len().ilog2());
    }
}

fn quicksort(places: &mut dyn Places, mut start: usize, mut end: usize, mut cuts: u32) {
    while end - start > 1 {
        if cuts == 0 {
            return heapsort(places, start, end);
        }
        cuts -= 1;
        let cut = partition(places, start, end);
        // Recurses into the smaller part, which has at most half of the entries. The loop continues with the larger part.
        if cut - start < end - cut {
            quicksort(places, start, cut, cuts);
            start = cut + 1;
        } else {
            quicksort(places, cut + 1, end, cuts);
            end = cut;
        }
    }
}

/// Moves the entry in the middle (the pivot) to its final position, and returns that position. No entry before the pivot is greater, and no entry
/// after the pivot is less.
fn partition(places: &mut dyn Places, start: usize, end: usize) -> usize {
    places.swap(start, start + (end - start) / 2);
    let (mut left, mut right) = (start, end);
    loop {
        // Both scans stop at an entry that equals the pivot. So the cut is in the middle even if many entries are equal.
        left += 1;
        while left < end && places.less(left, start) {
            left += 1;
        }
        right -= 1;
        while places.less(start, right) {
            right -= 1;
        }
        if left >= right {
            places.swap(start, right);
            return right;
        }
        places.swap(left, right);
    }
}

fn heapsort(places: &mut dyn Places, start: usize, end: usize) {
    let len = end - start;
    // The first `len / 2` turns build a heap, from the last node that has a child to the root. Each later turn moves the greatest entry of the heap
    // to its end, and takes this entry off the heap.
    for turn in (0..len + len / 2).rev() {
        let (mut node, limit) = if turn >= len { (turn - len, len) } else { (0, turn) };
        if turn < len {
            places.swap(start, start + turn);
        }
        loop {
            let mut child = 2 * node + 1;
            if child >= limit {
                break;
            }
            if child + 1 < limit && places.less(start + child, start + child + 1) {
                child += 1;
            }
            if !places.less(start + node, start + child) {
                break;
            }
            places.swap(start + node, start + child);
            node = child;
        }
    }
}

#[cfg(all(test, not(miri)))] // The tests need long inputs, for which Miri would take hours.
mod tests {
    use core::cell::Cell;
    use std::vec::Vec;

    use super::*;

    /// Inputs of `len` entries, of shapes that make known sort functions slow or wrong.
    fn inputs(len: u32) -> Vec<(&'static str, Vec<u32>)> {
        let shape = |of: fn(u32, u32) -> u32| (0..len).map(|at| of(at, len)).collect::<Vec<_>>();
        let mut random = 0x9e37_79b9_u32;
        let mut next = || {
            random ^= random << 13;
            random ^= random >> 17;
            random ^= random << 5;
            random
        };
        std::vec![
            ("ascending", shape(|at, _| at)),
            ("descending", shape(|at, len| len - at)),
            ("equal", shape(|_, _| 7)),
            ("two values", shape(|at, _| at % 2)),
            ("sawtooth", shape(|at, _| at % 17)),
            ("runs of keys", shape(|at, len| at % (len / 10 + 1) * 10 + at / (len / 10 + 1))),
            ("organ pipe", shape(|at, len| at.min(len - at))),
            ("pipe upside down", shape(|at, len| at.max(len - at))),
            ("one out of place", shape(|at, len| if at + 1 == len { 0 } else { at + 1 })),
            ("random", (0..len).map(|_| next()).collect()),
            ("random of few", (0..len).map(|_| next() % 5).collect()),
            ("killer of the middle", killer(len.min(1000))),
        ]
    }

    /// An input that makes every cut bad if the pivot is the entry in the middle. The values are chosen while [`patient`] sorts the input: each pivot
    /// gets the smallest remaining value.
    fn killer(len: u32) -> Vec<u32> {
        let (values, next) = (Cell::new(std::vec![u32::MAX; len as usize]), Cell::new(0));
        let mut places: Vec<u32> = (0..len).collect();
        patient(&mut places, &|&a, &b| {
            let mut known = values.take();
            // If neither entry has a value yet, `b` gets the next one: in `partition`, `b` is then the pivot.
            for at in [b, a] {
                if known[a as usize] == u32::MAX && known[b as usize] == u32::MAX {
                    known[at as usize] = next.replace(next.get() + 1);
                }
            }
            let less = known[a as usize] < known[b as usize];
            values.set(known);
            less
        });
        values.take()
    }

    type Sort = fn(&mut [u32], &dyn Fn(&u32, &u32) -> bool);

    /// A broken twin: a quicksort that never changes to heapsort.
    fn patient(places: &mut [u32], less: &dyn Fn(&u32, &u32) -> bool) {
        let end = places.len();
        quicksort(&mut Slice { places, less }, 0, end, u32::MAX);
    }

    /// The number of comparisons after which `input` is sorted. `None` if `sort` does not sort it.
    fn comparisons(sort: Sort, input: &[u32]) -> Option<usize> {
        let comparisons = Cell::new(0);
        let mut sorted = input.to_vec();
        sort(&mut sorted, &|a, b| {
            comparisons.set(comparisons.get() + 1);
            a < b
        });
        let mut right = input.to_vec();
        right.sort_unstable();
        (sorted == right).then_some(comparisons.get())
    }

    /// The first input that `sort` does not sort, or sorts with more than 4 n log n comparisons.
    fn stumbles(sort: Sort) -> Option<(&'static str, Option<usize>)> {
        (0..33).chain([100, 1000, 20_000]).flat_map(inputs).find_map(|(name, input)| {
            let limit = 4 * input.len() * (input.len().max(1).ilog2() as usize + 1);
            let found = comparisons(sort, &input);
            found.is_none_or(|comparisons| comparisons > limit).then_some((name, found))
        })
    }

    /// The killer needs the change to heapsort: without it, the number of comparisons grows as the square of the length.
    #[test]
    fn killer_kills() {
        let killer = killer(1000);
        assert!(comparisons(patient, &killer).is_some_and(|comparisons| comparisons > 200_000));
        let sorted = comparisons(|places, less| sort_unstable_by(places, less), &killer);
        assert!(sorted.is_some_and(|comparisons| comparisons < 40_000), "{sorted:?}");
    }

    #[test]
    fn sorts_in_time() {
        assert_eq!(stumbles(|places, less| sort_unstable_by(places, less)), None);
    }

    /// Sorted input, as most tables are, takes one pass.
    #[test]
    fn sorted_input_takes_one_pass() {
        let comparisons = Cell::new(0);
        let mut places: Vec<u32> = (0..1000).collect();
        sort_unstable_by(&mut places, |a, b| {
            comparisons.set(comparisons.get() + 1);
            a < b
        });
        assert_eq!(comparisons.get(), 999);
    }

    /// The test notices two broken twins: [`patient`] takes too long, and a sort that forgets one part does not sort.
    #[test]
    fn broken_twins_stumble() {
        let lazy: Sort = |places, less| {
            let end = places.len();
            if end > 1 {
                let mut slice = Slice { places, less };
                let cut = partition(&mut slice, 0, end);
                heapsort(&mut slice, 0, cut);
            }
        };
        assert!(stumbles(patient).is_some());
        assert!(stumbles(lazy).is_some());
    }

    #[test]
    fn heapsort_alone_sorts() {
        let heap: Sort = |places, less| {
            let end = places.len();
            heapsort(&mut Slice { places, less }, 0, end);
        };
        assert_eq!(stumbles(heap), None);
    }
}
