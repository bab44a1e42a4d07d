//! A word of the input, and its entry in an index.

use std::hash::{Hash, Hasher};

/// The entry of a word in an index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// The number of times that the word occurs.
    pub count: u64,
    /// The lines on which the word occurs, each once.
    pub lines: Vec<u32>,
}

impl Entry {
    /// Adds an occurrence on `line`. Lines must come in ascending order.
    #[inline]
    pub fn add(&mut self, line: u32) {
        self.count += 1;
        if self.lines.last() != Some(&line) {
            self.lines.push(line);
        }
    }
}

/// A word as it is written in the input, with the hash of its lower case.
#[derive(Clone, Copy)]
pub struct Word<'a> {
    /// The word itself.
    pub text: &'a [u8],
    /// The hash of the word: [`hash_of`](crate::hash::hash_of).
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

/// A hasher that passes on the hash that the loop has computed.
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
