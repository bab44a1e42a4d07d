//! All patterns of refused `mprotect`, counted and not sampled, over flips of pages that neighbour and overlap: a span that could not be closed
//! gets back the protection that it had before it was opened, whatever is opened and refused meanwhile.
//!
//! ```text
//!   a flip      of the keys of some pages, which the writer opens together
//!   a pattern   what the first calls meet; all later ones are allowed
//!   after Ok    the map differs from what it was only if the flip says `left_writable`. (It may say so without need: what is open can lie
//!               in a span that the system closed for a later flip, and refused to close for the earlier one.)
//!   at the end  one more flip, or `verify`, and the map is what it was
//! ```

use std::ops::Range;

use jumplabel::platform::{Body, Extent, Failure, Held, WriteReport, builtin};
use jumplabel::{Batch, Error, Outcome, Warnings, WriterKind, set_writer, verify};

use crate::pages::PAGE;
use crate::scenario::{Scenario, emulator, fork, passes, slowness, wait_for};
use crate::seccomp::Faults;
use crate::state::{Watch, is_open};
use crate::twin::{Twin, install};

crate::pages::pages! { sites: 4 keys, 4 sites, every 1 pages, at 0 }

const TEXT: i32 = libc::PROT_READ | libc::PROT_EXEC;

type Flips = &'static [Range<usize>];

/// Pages that are flipped one after the other.
const SEQUENCES: [Flips; 6] = [
    &[1..2, 0..3, 1..2],
    &[0..3, 1..2, 0..3],
    &[0..2, 1..3, 0..3],
    &[1..3, 0..2, 1..2],
    &[0..1, 1..2, 0..3],
    &[1..4, 0..3, 2..3],
];

/// The number of calls to which a pattern applies; fewer if each pattern is a process.
fn depth(first: bool) -> u32 {
    if emulator().is_some() || slowness() > 1 {
        4
    } else if first {
        6
    } else {
        9
    }
}

/// Changes the keys of these pages in one flip.
fn flip(pages: Range<usize>) -> Result<Outcome, Error> {
    sites().keys[pages]
        .iter()
        .fold(Batch::<4>::with_capacity(), |batch, key| batch.set(key, !key.is_enabled()))
        .commit()
}

/// The pattern that follows `refused`, which met this many calls: the last allowed call is refused. So patterns that differ only in calls that
/// nobody makes count as one.
fn next(refused: u64, calls: u32) -> Option<u64> {
    let last = (0..calls).rev().find(|call| refused >> call & 1 == 0)?;
    Some(refused & ((1 << last) - 1) | 1 << last)
}

/// A sentence about the property that does not hold if the flips meet this pattern, and the number of calls that they made.
fn under(refused: u64, flips: Flips, watch: &Watch, faults: Faults) -> (Option<String>, u32) {
    let before = watch.map();
    faults.pattern(libc::SYS_mprotect, refused, libc::EPERM);
    let untold = flips.iter().map(|pages| flip(pages.clone())).find(|result| match result {
        Ok(outcome) => !outcome.warnings.left_writable && watch.map() != before,
        Err(error) => !matches!(error, Error::Denied { .. }),
    });
    let calls = faults.seen();
    faults.disarm();
    let complaint = untold.map(|result| format!("{result:?}, and the map is {:x?}", watch.map()));
    // Either change closes the open span, though `verify` has nothing to write.
    let last = if refused.count_ones().is_multiple_of(2) { flip(0..1) } else { verify() };
    let restored =
        last.is_ok_and(|outcome| !outcome.warnings.left_writable) && watch.map() == before && sites().agree();
    (complaint.or_else(|| (!restored).then(|| format!("{last:?}, and the map stays {:x?}", watch.map()))), calls)
}

/// Runs all patterns over all sequences, in this process or, if `first`, each in a process of its own, which has not flipped yet. If `own`, the
/// program has made a page of code writable for itself, and the page stays so.
fn under_each_pattern(first: bool, own: bool) {
    set_writer(Some(WriterKind::Mprotect));
    if own {
        // SAFETY: a page of code of this test.
        assert_eq!(unsafe { libc::mprotect(sites().site(2) as *mut _, PAGE, TEXT | libc::PROT_WRITE) }, 0);
    }
    if !first {
        flip(0..4).unwrap();
    }
    let (faults, watch) = (Faults::new(&[libc::SYS_mprotect]), Watch::new(sites().raw()));
    assert_eq!(is_open(&watch.map()), own);
    let mut patterns = 0;
    for flips in SEQUENCES {
        let mut pattern = Some(0);
        while let Some(refused) = pattern {
            let run = || {
                let (complaint, calls) = under(refused, flips, &watch, faults);
                assert_eq!(complaint, None, "{flips:?}, refused {refused:#b}");
                calls
            };
            let calls = if first {
                assert!(wait_for(fork(|| run() > 0)).success());
                faults.seen()
            } else {
                run()
            };
            pattern = next(refused, calls.min(depth(first)));
            patterns += 1;
        }
    }
    println!("{patterns} patterns");
    assert!(patterns > 1 << depth(first), "only {patterns} patterns");
}

#[test]
fn each_pattern() {
    passes(|| under_each_pattern(false, false));
}

#[test]
fn each_pattern_beside_a_page_that_is_writable() {
    passes(|| under_each_pattern(false, true));
}

#[test]
fn each_pattern_from_the_first_flip() {
    passes(|| under_each_pattern(true, true));
}

/// A platform that does not report spans that stay open.
struct Silent;

impl Twin for Silent {
    fn open(
        &self,
        kind: WriterKind,
        extents: &[Extent],
        held: &mut Held,
        body: &mut Body<'_>,
    ) -> Result<WriteReport, Failure> {
        // SAFETY: called as `Platform::open` is.
        let report = unsafe { builtin().open(kind, extents, held, body) }?;
        Ok(WriteReport { warnings: Warnings::default(), ..report })
    }
}

#[test]
fn broken_twin_says_nothing() {
    Scenario::new().fails("and the map is", || {
        install(Silent);
        under_each_pattern(false, false);
    });
}
