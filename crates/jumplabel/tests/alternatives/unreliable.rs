//! Entries of alternatives on which the library cannot rely: damaged ones, and those whose arms cannot be read. All of them are of one key,
//! so nothing else names that key. `apply` says what a flip would say, and applies nothing.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use jumplabel::{Error, alternatives};
use jumplabel_testing::scenario::{fork, passes, reap};
use jumplabel_testing::twin::{Twin, install};

use super::each_is;

#[path = "../refusals/misuse/table.rs"]
mod table;

/// Whether the meta word is an alternative's: the kind of an operation, and the number of bytes that change.
fn is_alternative(meta: u32) -> bool {
    meta >> 2 & 0xf == 5 && meta >> 8 & 7 != 0
}

/// The site, the list of arms, or the key's address leads out of the object.
#[test]
fn damaged() {
    passes(|| {
        for word in [0, 1, 2] {
            reap(fork(|| {
                table::damage(word, is_alternative);
                for _ in 0..2 {
                    let error = alternatives::apply().unwrap_err();
                    assert!(matches!(error, Error::DamagedTable { .. }), "{word} {error:?}");
                    each_is(false);
                }
                true
            }));
        }
        reap(fork(|| {
            alternatives::apply().unwrap();
            each_is(true);
            true
        }));
    });
}

/// A platform that says that no code can be read.
struct ExecuteOnly;

static IS_HIDDEN: AtomicBool = AtomicBool::new(false);

impl Twin for ExecuteOnly {
    fn readable(&self, _: Range<usize>) -> Range<usize> {
        if IS_HIDDEN.load(Ordering::Relaxed) { 0..0 } else { 0..usize::MAX }
    }
}

/// The table may be unreadable before the library has looked at it, and after that.
#[test]
fn execute_only() {
    passes(|| {
        reap(fork(|| {
            install(ExecuteOnly);
            for _ in 0..2 {
                IS_HIDDEN.store(true, Ordering::Relaxed);
                assert!(matches!(alternatives::apply(), Err(Error::Unreadable { .. })));
                each_is(false);
                IS_HIDDEN.store(false, Ordering::Relaxed);
                jumplabel::prepare().unwrap();
            }
            alternatives::apply().unwrap();
            each_is(true);
            // It is not enough that the alternatives were applied: nobody can see whether they still are.
            IS_HIDDEN.store(true, Ordering::Relaxed);
            assert!(matches!(alternatives::apply(), Err(Error::Unreadable { .. })));
            true
        }));
    });
}
