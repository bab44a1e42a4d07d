//! Probes' lists, as they are taken away and freed, over the words that count readers.

#[path = "../../../crates/jumplabel/src/trace/counting.rs"]
#[allow(dead_code, missing_docs)]
pub mod counting;

use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

use atomic::AtomicU64;
use counting::{BOTH, Readers, Word};

#[allow(dead_code)] // One has what the other uses.
/// Loom's atomics. Loom takes the strictest order for acquire and release; but a change reads what is newest, and all changes of a word
/// have one order. So what is read in the strictest order here is read by a change.
mod atomic {
    pub(super) use loom::sync::atomic::Ordering;
    use loom::sync::atomic::{self, Ordering::SeqCst};

    macro_rules! words {
        ($($Name:ident $Number:ty,)*) => { $(
            pub(super) struct $Name(atomic::$Name);

            impl $Name {
                pub(super) fn new(value: $Number) -> Self {
                    $Name(atomic::$Name::new(value))
                }
                pub(super) fn load(&self, order: Ordering) -> $Number {
                    if order == SeqCst { self.0.fetch_add(0, SeqCst) } else { self.0.load(order) }
                }
                pub(super) fn store(&self, value: $Number, order: Ordering) {
                    self.0.store(value, order);
                }
                pub(super) fn compare_exchange_weak(
                    &self, now: $Number, new: $Number, success: Ordering, failure: Ordering,
                ) -> Result<$Number, $Number> {
                    self.0.compare_exchange_weak(now, new, success, failure)
                }
            }
        )* };
    }
    words! { AtomicU64 u64, AtomicUsize usize, }
}

/// What a change looks at before it frees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frees {
    /// Both words, each of which it has seen at 0 since the list was taken away.
    SeenBoth,
    /// A broken twin: one of them.
    SeenOne,
    /// A broken twin: nothing.
    AtOnce,
}

struct Process {
    readers: Readers,
    list: AtomicUsize,
    freed: [AtomicBool; 3],
}

/// A reader comes so often, while another thread takes one list away and then another one, and frees what it may. Panics if a reader is in a
/// list that is freed.
pub fn check(frees: Frees, reads: usize, preemptions: Option<usize>) -> u64 {
    crate::explore(preemptions, move || {
        let process = Arc::new(Process {
            readers: Readers { words: [(); 2].map(|()| Word(AtomicU64::new(0))), turn: atomic::AtomicUsize::new(0) },
            list: AtomicUsize::new(0),
            freed: [(); 3].map(|()| AtomicBool::new(false)),
        });
        let reader = {
            let process = process.clone();
            loom::thread::spawn(move || {
                for _ in 0..reads {
                    let word = process.readers.word();
                    let generation = word.count_in(|| 1);
                    let list = process.list.fetch_add(0, SeqCst);
                    assert!(!process.freed[list].fetch_or(false, SeqCst), "a reader is in a list that is freed");
                    word.count_off(generation);
                }
            })
        };
        let mut seen = [0; 2];
        for change in 0..2 {
            process.list.swap(change + 1, SeqCst);
            let empty = process.readers.empty();
            for (list, seen) in seen.iter_mut().enumerate().take(change + 1) {
                *seen |= empty;
                let free = match frees {
                    Frees::SeenBoth => *seen == BOTH,
                    Frees::SeenOne => *seen != 0,
                    Frees::AtOnce => true,
                };
                if free {
                    process.freed[list].swap(true, SeqCst);
                }
            }
        }
        reader.join().unwrap();
    })
}
