//! A worker: the index and the hooks of one thread, and the work of the thread before and after a pass.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::time::Duration;

use jumplabel::{static_branch_likely, static_branch_unlikely};

use crate::hooks::{self, Hooks};
use crate::lookup::Lookups;
use crate::operator::{Asked, KEEP, TRACE, VERIFY};
use crate::word::{Entry, Ready, Word};

/// The index of one thread, and the notes of its hooks.
#[derive(Default)]
pub struct Worker<'a> {
    pub index: HashMap<Word<'a>, Entry, BuildHasherDefault<Ready>>,
    /// The notes of the hooks in all passes. Only `ran` counts the last pass alone.
    pub hooks: Hooks<'a>,
    /// The lookups of the last pass.
    pub lookups: Lookups,
    /// The work that an operator asked for, in the last pass.
    pub asked: Asked,
    /// The processor time of the last pass.
    pub busy: Duration,
}

impl Worker<'_> {
    /// Begins a pass: clears the index and the counts of the last pass. While the key [`KEEP`] is on, memory stays allocated, so that a pass measures
    /// the loop and not the allocator.
    pub fn begin(&mut self) {
        self.asked = Asked::default();
        if static_branch_unlikely!(TRACE) {
            self.asked.say("begins a pass", self.index.len());
        }
        self.clear_index();
        self.clear_hooks();
        self.lookups = Lookups::default();
    }

    #[inline(never)]
    fn clear_index(&mut self) {
        if static_branch_likely!(KEEP) {
            self.index.values_mut().for_each(|entry| {
                entry.count = 0;
                entry.lines.clear();
            });
        } else {
            self.index = HashMap::default();
            self.asked.dropped += 1;
        }
    }

    #[inline(never)]
    fn clear_hooks(&mut self) {
        if static_branch_likely!(KEEP) {
            self.hooks.ran = [0; hooks::COUNT];
        } else {
            self.hooks = Hooks::default();
            self.asked.dropped += 1;
        }
    }

    /// Ends a pass: checks the index and writes a line, if an operator has asked for that.
    pub fn end(&mut self) {
        if static_branch_unlikely!(VERIFY) {
            self.verify();
        }
        if static_branch_unlikely!(TRACE) {
            self.asked.say("ends a pass", self.index.len());
        }
    }

    /// Checks that each word is found in the index, that it occurs on each of its lines at least once, and that its lines ascend.
    #[cold]
    fn verify(&mut self) {
        let is_right = |(word, entry): (_, &Entry)| {
            self.index.get(word).is_some_and(|found| std::ptr::eq(found, entry))
                && entry.count >= entry.lines.len() as u64
                && entry.lines.is_sorted_by(|one, next| one < next)
        };
        let wrong = self.index.iter().filter(|&one| !is_right(one)).count();
        self.asked.verified += self.index.len() as u64;
        self.asked.failures += wrong as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::hash_of;
    use crate::word::Word;

    #[test]
    fn a_wrong_index_is_found() {
        let word = |text: &'static str| Word { text: text.as_bytes(), hash: hash_of(text.as_bytes()) };
        let of = |entry: Entry| {
            let mut worker = Worker::default();
            worker.index.insert(word("right"), Entry { count: 3, lines: vec![1, 4] });
            worker.index.insert(word("one"), entry);
            worker.verify();
            (worker.asked.verified, worker.asked.failures)
        };
        assert_eq!(of(Entry { count: 2, lines: vec![7] }), (2, 0));
        assert_eq!(of(Entry { count: 1, lines: vec![7, 8] }), (2, 1));
        assert_eq!(of(Entry { count: 2, lines: vec![8, 7] }), (2, 1));
    }
}
