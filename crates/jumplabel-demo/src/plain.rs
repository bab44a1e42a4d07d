//! The right result, computed plainly, and the comparison of a pass with it.

use std::collections::BTreeMap;
use std::thread;

use crate::hash::hash_of;
use crate::index::Piece;
use crate::word::{Entry, Word};
use crate::worker::Worker;

/// The right result of a pass, and the numbers of words and line ends in the pieces that a pass reads.
pub struct Plain {
    /// All words in lower case, sorted.
    pub words: Vec<(Vec<u8>, Entry)>,
    /// The number of words in these pieces.
    pub word_count: u64,
    /// The number of line ends in these pieces.
    pub line_count: u64,
}

/// The plain implementation: one thread, no hooks, and no code of the loop in `index` except [`Entry::add`].
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

/// Compares the result of a pass with the right one, word by word and line by line. Returns a description of each difference. Uses as many threads as
/// the pass.
pub fn check(plain: &Plain, workers: &[Worker<'_>]) -> Vec<String> {
    let share = plain.words.len().div_ceil(workers.len());
    thread::scope(|scope| {
        let compare = |(words, worker)| scope.spawn(move || differences(words, workers, plain, worker));
        let shares = plain.words.chunks(share).map(Some).chain(std::iter::repeat(None));
        let threads: Vec<_> = shares.map(Option::unwrap_or_default).zip(workers).map(compare).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("a comparison panicked")).collect()
    })
}

/// Compares `words` with the results of all workers together. Also finds words in the index of `own` that the input does not have.
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
        found.lines.sort(); // The lines are ascending runs, one for each worker: the stable sort merges them.
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
