//! A word of the input, and what is known of it.

use std::hash::{Hash, Hasher};

/// What is known of a word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// How often it occurs.
    pub count: u64,
    /// The lines that it occurs on, each once.
    pub lines: Vec<u32>,
}

impl Entry {
    /// One more occurrence; lines ascend.
    #[inline]
    pub fn add(&mut self, line: u32) {
        self.count += 1;
        if self.lines.last() != Some(&line) {
            self.lines.push(line);
        }
    }
}

/// A word of the input as it is written there, with the hash of its lower case.
#[derive(Clone, Copy)]
pub struct Word<'a> {
    /// The word.
    pub text: &'a [u8],
    /// [`hash_of`](crate::hash::hash_of) it.
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
