//! The indexer: for each word, it finds how often the word occurs and on which lines. Several threads run its fast loop with hooks in parallel.
//! `plain` does the same work in the simplest way.
//!
//! ```text
//!  pieces of the input            a pass                                      the check
//!  ┌──┬──┬──┬──┬──┬──┐   thread 0: index::<Gate>(piece) ─► its own index ┐
//!  │  │  │  │  │  │  │──►                                                ├─► all words, counts and lines
//!  └──┴──┴──┴──┴──┴──┘   thread 1: index::<Gate>(piece) ─► its own index ┘   == those of plain()
//! ```
//!
//! A word is a run of ASCII letters, digits, `_` and bytes of other alphabets; the case of ASCII letters does not count.
//! Pieces are whole lines. Threads take them in order, so each thread's lists of lines ascend.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use jumplabel::static_switch;

use crate::hash::{FOLD, HASH};
use crate::hooks::{self, Gate};
use crate::lookup::LOOKUP;
use crate::tally;
use crate::word::Word;
use crate::worker::Worker;

/// Some lines of the input.
#[derive(Clone, Copy)]
pub struct Piece<'a> {
    /// The lines.
    pub text: &'a [u8],
    /// The number of the first of these lines, counted through the whole input.
    pub first_line: u32,
}

/// The hot loop. It is never inlined, so the program has one copy of it for each [`Gate`], which is easy to find in a profile or a disassembly.
#[inline(never)]
fn index<'a, G: Gate>(piece: Piece<'a>, worker: &mut Worker<'a>) {
    let Worker { index, hooks, lookups, .. } = worker;
    let text = piece.text;
    let (mut line, mut line_start, mut at) = (piece.first_line, 0, 0);
    while at < text.len() {
        let start = at;
        while text.get(at).is_some_and(|&byte| FOLD[usize::from(byte)] != 0) {
            at += 1;
        }
        if at > start {
            let word = &text[start..at];
            let hash = HASH(word);
            if G::on::<{ hooks::VERIFY }>() {
                hooks.verify(word, hash);
            }
            if G::on::<{ hooks::CASE }>() {
                hooks.case(word);
            }
            if G::on::<{ hooks::DOUBLED }>() {
                hooks.doubled(hash);
            }
            let key = Word { text: word, hash };
            index.entry(key).or_default().add(line);
            static_switch!(LOOKUP, {
                Plain => {},
                Counted => lookups.counted += 1,
                Checked => lookups.check(index.get(&key), line),
            });
            if G::on::<{ hooks::TRACE }>() {
                hooks.trace(hash, line);
            }
            if G::on::<{ hooks::STATISTICS }>() {
                hooks.statistics(word);
            }
            if G::on::<{ hooks::SAMPLE }>() {
                hooks.sample(word);
            }
            if G::on::<{ hooks::LENGTHS }>() {
                hooks.lengths(word);
            }
        }
        if text.get(at) == Some(&b'\n') {
            if G::on::<{ hooks::LINES }>() {
                hooks.lines(at - line_start);
            }
            line += 1;
            line_start = at + 1;
        }
        at += 1;
    }
    tally::lines(u64::from(line - piece.first_line));
}

/// The processor time of this thread. Other programs on the machine do not add to it.
#[cfg(unix)]
fn processor_time() -> Duration {
    use rustix::time::{ClockId, clock_gettime};
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
/// The time since the first call. On these systems, the processor time of a thread is counted in steps that are longer than a pass.
#[cfg(not(unix))]
fn processor_time() -> Duration {
    static START: std::sync::LazyLock<std::time::Instant> = std::sync::LazyLock::new(std::time::Instant::now);
    START.elapsed()
}

/// Indexes all pieces with one thread for each worker. Clears the workers first. Returns the sum of the threads' processor times.
pub fn pass<'a, G: Gate>(pieces: &[Piece<'a>], workers: &mut [Worker<'a>]) -> Duration {
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for worker in workers.iter_mut() {
            scope.spawn(|| {
                worker.begin();
                let start = processor_time();
                while let Some(&piece) = pieces.get(next.fetch_add(1, Ordering::Relaxed)) {
                    index::<G>(piece, worker);
                }
                worker.busy = processor_time() - start;
                worker.end();
            });
        }
    });
    workers.iter().map(|worker| worker.busy).sum()
}

/// Makes the result of a pass wrong by counting one occurrence too many, to show that the check notices it.
pub fn corrupt(workers: &mut [Worker<'_>]) {
    if let Some(entry) = workers.iter_mut().flat_map(|worker| worker.index.values_mut()).find(|entry| entry.count > 0) {
        entry.count += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::hash_of;
    use crate::lookup::{Lookup, Lookups};
    use crate::plain::{check, plain};
    use crate::word::Entry;

    const TEXT: &str = "One two, two\nthree ONE\n\nfour_4 two";

    /// Indexes `TEXT` with two workers, lets `spoil` change the result, and counts the differences.
    fn differences_after(spoil: impl FnOnce(&mut [Worker<'_>])) -> usize {
        let (first, second) = TEXT.split_at(TEXT.find("three").unwrap());
        let pieces = [(first, 1), (second, 2)].map(|(text, first_line)| Piece { text: text.as_bytes(), first_line });
        let mut workers = [Worker::default(), Worker::default()];
        pass::<hooks::In>(&pieces, &mut workers);
        spoil(&mut workers);
        check(&plain(&pieces), &workers).len()
    }

    /// The entry of `word` in the first worker whose index has it.
    fn entry<'w>(workers: &'w mut [Worker<'_>], word: &'static str) -> &'w mut Entry {
        let has = |entry: &&mut Entry| entry.count > 0;
        let word = Word { text: word.as_bytes(), hash: hash_of(word.as_bytes()) };
        workers.iter_mut().filter_map(|worker| worker.index.get_mut(&word)).find(has).unwrap()
    }

    #[test]
    fn plain_result() {
        let plain = plain(&[Piece { text: TEXT.as_bytes(), first_line: 1 }]);
        let words: Vec<_> =
            plain.words.iter().map(|(word, entry)| (word.as_slice(), entry.count, &entry.lines[..])).collect();
        let expected: [(&[u8], u64, &[u32]); 4] =
            [(b"four_4", 1, &[4]), (b"one", 2, &[1, 2]), (b"three", 1, &[2]), (b"two", 3, &[1, 4])];
        assert_eq!(words, expected);
        assert_eq!((plain.word_count, plain.line_count), (7, 3));
    }

    #[test]
    fn each_kind_of_difference_is_found() {
        assert_eq!(differences_after(|_| ()), 0);
        assert_eq!(differences_after(corrupt), 1);
        assert_eq!(differences_after(|workers| entry(workers, "three").lines[0] += 1), 1);
        assert_eq!(differences_after(|workers| *entry(workers, "four_4") = Entry::default()), 1);
        assert_eq!(differences_after(|workers| entry(workers, "one").lines.clear()), 1);
        let unknown = Word { text: b"five", hash: hash_of(b"five") };
        let found = Entry { count: 1, lines: vec![3] };
        assert_eq!(differences_after(|workers| drop(workers[1].index.insert(unknown, found))), 1);
    }

    /// The counts of lookups agree with the mode, in each of the four ways to switch the hooks. Each way has its own copy of the loop, and so of the
    /// switch.
    #[test]
    fn lookups_are_what_the_mode_says() {
        let pieces = [Piece { text: TEXT.as_bytes(), first_line: 1 }];
        for mode in [Lookup::Counted, Lookup::Checked, Lookup::Plain] {
            LOOKUP.set(mode).unwrap();
            for way in [pass::<hooks::Out>, pass::<hooks::Keys>, pass::<hooks::Atomics>, pass::<hooks::In>] {
                let mut workers = [Worker::default()];
                way(&pieces, &mut workers);
                assert_eq!(workers[0].lookups, Lookups::all(mode, 7));
                assert!(check(&plain(&pieces), &workers).is_empty());
            }
        }
    }

    #[test]
    fn all_ways_agree() {
        let pieces = [Piece { text: TEXT.as_bytes(), first_line: 1 }];
        let ways = [pass::<hooks::Out>, pass::<hooks::Keys>, pass::<hooks::Atomics>, pass::<hooks::In>];
        for (way, hooks_run) in ways.into_iter().zip([0, 0, 0, 7]) {
            let mut workers = [Worker::default()];
            way(&pieces, &mut workers);
            assert!(check(&plain(&pieces), &workers).is_empty());
            assert_eq!(workers[0].hooks.ran[hooks::TRACE], hooks_run);
            assert_eq!(workers[0].hooks.failures, 0);
        }
    }
}
