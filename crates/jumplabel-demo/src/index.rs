//! The indexer: for each word, how often it occurs and on which lines. Once as a fast loop with hooks that threads run
//! side by side, once plainly.
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

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::hooks::{self, Gate, Hooks};

/// Some lines of the input.
#[derive(Clone, Copy)]
pub struct Piece<'a> {
    /// The lines.
    pub text: &'a [u8],
    /// The number of the first one, counted through the whole input.
    pub first_line: u32,
}

/// What is known of a word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// How often it occurs.
    pub count: u64,
    /// The lines that it occurs on, each once.
    pub lines: Vec<u32>,
}

impl Entry {
    #[inline]
    fn add(&mut self, line: u32) {
        self.count += 1;
        if self.lines.last() != Some(&line) {
            self.lines.push(line);
        }
    }
}

/// The lower case of each byte that is part of words, 0 for all others.
pub static FOLD: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        if (byte as u8).is_ascii_alphanumeric() || byte == b'_' as usize || byte >= 128 {
            table[byte] = (byte as u8).to_ascii_lowercase();
        }
        byte += 1;
    }
    table
};

/// A word of the input as it is written there, with the hash of its lower case.
#[derive(Clone, Copy)]
pub struct Word<'a> {
    /// The word.
    pub text: &'a [u8],
    /// [`hash_of`] it.
    pub hash: u64,
}

impl PartialEq for Word<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.text.eq_ignore_ascii_case(other.text)
    }
}

impl Eq for Word<'_> {}

impl Hash for Word<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

/// Passes on the hash that the loop has computed.
#[derive(Default)]
pub struct Ready(u64);

impl Hasher for Ready {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, _: &[u8]) {
        unreachable!("a word hashes to one number");
    }
    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

const SEED: u64 = 0xcbf2_9ce4_8422_2325;

/// One step of the hash (64-bit FNV-1a).
#[inline(always)]
const fn step(hash: u64, folded: u8) -> u64 {
    (hash ^ folded as u64).wrapping_mul(0x0100_0000_01b3)
}

jumplabel::static_call! {
    /// The hash function of the loop: one of [`HASHES`].
    pub static HASH: fn(&[u8]) -> u64 = hash_of;
}

/// The hash of a word's lower case.
pub fn hash_of(word: &[u8]) -> u64 {
    word.iter().fold(SEED, |hash, byte| step(hash, byte.to_ascii_lowercase()))
}

/// The same by the table.
fn hash_by_table(word: &[u8]) -> u64 {
    word.iter().fold(SEED, |hash, &byte| step(hash, FOLD[usize::from(byte)]))
}

/// The same with eight bytes brought to lower case at once.
fn hash_by_eight(word: &[u8]) -> u64 {
    let (eights, rest) = word.as_chunks::<8>();
    let hash = eights.iter().fold(SEED, |hash, &eight| {
        let bytes = u64::from_le_bytes(eight);
        let low = bytes & 0x7f7f_7f7f_7f7f_7f7f;
        // The highest bit of each byte: whether it is at least `A`, and whether it is behind `Z`.
        let from_a = low + 0x3f3f_3f3f_3f3f_3f3f;
        let behind_z = low + 0x2525_2525_2525_2525;
        let upper = (from_a ^ behind_z) & !bytes & 0x8080_8080_8080_8080;
        (bytes | upper >> 2).to_le_bytes().into_iter().fold(hash, step)
    });
    rest.iter().fold(hash, |hash, byte| step(hash, byte.to_ascii_lowercase()))
}

/// The implementations that [`HASH`] is led to, the default first.
pub const HASHES: [fn(&[u8]) -> u64; 3] = [hash_of, hash_by_table, hash_by_eight];

/// One thread's index, and what its hooks gathered.
#[derive(Default)]
pub struct Worker<'a> {
    index: HashMap<Word<'a>, Entry, BuildHasherDefault<Ready>>,
    /// Of all passes but for `ran`, which is of the last.
    pub hooks: Hooks<'a>,
    busy: Duration,
}

/// The hot loop. Never inlined, so that each way of switching the hooks is one function to look at.
#[inline(never)]
fn index<'a, G: Gate>(piece: Piece<'a>, worker: &mut Worker<'a>) {
    let Worker { index, hooks, .. } = worker;
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
            index.entry(Word { text: word, hash }).or_default().add(line);
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
}

/// How long this thread has run: what other programs on the machine do does not count.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Indexes all pieces with one thread for each worker. The workers are cleared first. Returns the processor time of all.
pub fn pass<'a, G: Gate>(pieces: &[Piece<'a>], workers: &mut [Worker<'a>]) -> Duration {
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for worker in workers.iter_mut() {
            scope.spawn(|| {
                // What was allocated is kept: a pass measures the loop, not the allocator.
                worker.index.values_mut().for_each(|entry| {
                    entry.count = 0;
                    entry.lines.clear();
                });
                worker.hooks.ran = [0; hooks::COUNT];
                let start = processor_time();
                while let Some(&piece) = pieces.get(next.fetch_add(1, Ordering::Relaxed)) {
                    index::<G>(piece, worker);
                }
                worker.busy = processor_time() - start;
            });
        }
    });
    workers.iter().map(|worker| worker.busy).sum()
}

/// The right result, and how many words and lines lead to it.
pub struct Plain {
    /// All words in lower case, sorted.
    pub words: Vec<(Vec<u8>, Entry)>,
    /// How many words were read.
    pub word_count: u64,
    /// How many ends of lines.
    pub line_count: u64,
}

/// The plain implementation: one thread, no hooks, nothing shared with the loop above.
pub fn plain(pieces: &[Piece<'_>]) -> Plain {
    let mut words = BTreeMap::<Vec<u8>, Entry>::new();
    let is_separator = |byte: &u8| !(byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 128);
    for piece in pieces {
        for (line, number) in piece.text.split(|&byte| byte == b'\n').zip(piece.first_line..) {
            for word in line.split(is_separator).filter(|word| !word.is_empty()) {
                words.entry(word.to_ascii_lowercase()).or_default().add(number);
            }
        }
    }
    let word_count = words.values().map(|entry| entry.count).sum();
    let line_count = pieces.iter().flat_map(|piece| piece.text).filter(|&&byte| byte == b'\n').count() as u64;
    Plain { words: words.into_iter().collect(), word_count, line_count }
}

/// Compares the result of a pass, word by word and line by line, and describes each difference. Done by as many threads
/// as the pass had.
pub fn check(plain: &Plain, workers: &[Worker<'_>]) -> Vec<String> {
    let share = plain.words.len().div_ceil(workers.len());
    thread::scope(|scope| {
        let compare = |(words, worker)| scope.spawn(move || differences(words, workers, plain, worker));
        let shares = plain.words.chunks(share).map(Some).chain(std::iter::repeat(None));
        let threads: Vec<_> = shares.map(Option::unwrap_or_default).zip(workers).map(compare).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("a comparison panicked")).collect()
    })
}

/// Compares `words` with what all workers found, and looks for words in the index of `own` that do not exist.
fn differences(words: &[(Vec<u8>, Entry)], all: &[Worker<'_>], plain: &Plain, own: &Worker<'_>) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut found = Entry::default();
    for (text, expected) in words {
        let word = Word { text, hash: hash_of(text) };
        found.count = 0;
        found.lines.clear();
        for entry in all.iter().filter_map(|worker| worker.index.get(&word)) {
            found.count += entry.count;
            found.lines.extend_from_slice(&entry.lines);
        }
        found.lines.sort(); // Ascending runs, one for each worker: the stable sort merges them.
        if found != *expected {
            wrong.push(difference(text, expected, &found));
        }
    }
    for (word, entry) in own.index.iter().filter(|(_, entry)| **entry != Entry::default()) {
        let text = word.text.to_ascii_lowercase();
        if plain.words.binary_search_by(|(known, _)| known.cmp(&text)).is_err() {
            wrong.push(difference(&text, &Entry::default(), entry));
        }
    }
    wrong
}

fn difference(word: &[u8], expected: &Entry, found: &Entry) -> String {
    let side = |entry: &Entry| format!("{} times on {} lines", entry.count, entry.lines.len());
    let first = expected.lines.iter().zip(&found.lines).find(|(expected, found)| expected != found);
    let first = first.map(|(expected, found)| format!("; line {found} instead of {expected}")).unwrap_or_default();
    format!("word \"{}\": {} instead of {}{first}", word.escape_ascii(), side(found), side(expected))
}

/// Makes the result of a pass wrong, to see that it is noticed: one occurrence too many.
pub fn corrupt(workers: &mut [Worker<'_>]) {
    if let Some(entry) = workers.iter_mut().flat_map(|worker| worker.index.values_mut()).find(|entry| entry.count > 0) {
        entry.count += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    /// The entry of a word in the index of a worker that has it.
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
    fn all_hashes_agree() {
        let bytes: Vec<u8> = (0..=255).filter(|&byte| FOLD[usize::from(byte)] != 0).collect();
        for word in bytes.windows(19).flat_map(|window| (0..19).map(|from| &window[from..])) {
            assert_eq!(HASHES.map(|hash| hash(word)), [hash_of(word); 3], "{}", word.escape_ascii());
        }
        assert_eq!(hash_of(b"ABCXYZ_19"), hash_of(b"abcxyz_19"));
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
