//! What an operator may switch while the program runs, if it was started with `JUMPLABEL_AGENT=1`; and with `JUMPLABEL=` at its start.
//!
//! ```text
//!  pass.trace    off   a line on standard error for each thread of each pass
//!  cache.verify  off   each thread looks all its words up again, behind each pass: what differs is a wrong result
//!  cache.keep    on    what a pass has allocated serves the next one; while it is off, the loop waits for the allocator
//! ```
//!
//! None of them is in the loop, and none changes a result. The hooks and the other keys in the loop are the program's own: it counts what
//! they do, and so lets nobody change them from outside ([`own`]).

use std::collections::HashMap;
use std::io::{self, Write};

use jumplabel::{Error, static_branch_likely, static_branch_unlikely, static_key};

use crate::hooks::{self, Hooks};
use crate::index::{Entry, Worker};
use crate::lookup::{LOOKUP, Lookup, Lookups};
use crate::tally::{TALLY, Tally};

jumplabel_agent::startup!(no_remote: "jumplabel_demo::*");

static_key! {
    /// Whether threads say what they do.
    #[key(name = "pass.trace")]
    static TRACE: false;
    /// Whether indexes are looked at behind each pass.
    #[key(name = "cache.verify")]
    static VERIFY: false;
    /// Whether memory is kept.
    #[key(name = "cache.keep")]
    static KEEP: true;
}

/// What a thread did because an operator asked for it, in one pass.
#[derive(Clone, Copy, Default)]
pub struct Asked {
    /// Lines that it wrote.
    pub lines: u64,
    /// Words that it looked up again.
    pub verified: u64,
    /// How many of them were not as they should be.
    pub failures: u64,
    /// Indexes and buffers that it gave back.
    pub dropped: u64,
}

/// Brings the program's own keys to what they are at the start, whatever the environment said.
pub fn own() -> Result<(), Error> {
    hooks::set_keys(0)?;
    LOOKUP.set(Lookup::Plain)?;
    TALLY.set(Tally::Counted)?;
    Ok(())
}

impl Asked {
    /// Adds those of another thread or pass.
    pub fn add(&mut self, other: Asked) {
        self.lines += other.lines;
        self.verified += other.verified;
        self.failures += other.failures;
        self.dropped += other.dropped;
    }

    /// Says something on standard error, which is not there to be waited for.
    #[cold]
    fn say(&mut self, what: &str, words: usize) {
        self.lines += 1;
        let _ = writeln!(io::stderr(), "jumplabel-demo: a thread {what}, {words} words in its index");
    }
}

impl Worker<'_> {
    /// Before a pass. What was allocated is kept: a pass measures the loop, not the allocator.
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

    /// Behind a pass.
    pub fn end(&mut self) {
        if static_branch_unlikely!(VERIFY) {
            self.verify();
        }
        if static_branch_unlikely!(TRACE) {
            self.asked.say("ends a pass", self.index.len());
        }
    }

    /// Each word is found, occurs on each of its lines at least once, and on lines that ascend.
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
    use crate::index::Word;

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
