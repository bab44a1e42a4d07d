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

use std::io::{self, Write};

use jumplabel::{Error, static_key};

use crate::hooks;
use crate::lookup::{LOOKUP, Lookup};
use crate::tally::{TALLY, Tally};

jumplabel_agent::startup!(no_remote: "jumplabel_demo::*");

static_key! {
    /// Whether threads say what they do.
    #[key(name = "pass.trace")]
    pub static TRACE: false;
    /// Whether indexes are looked at behind each pass.
    #[key(name = "cache.verify")]
    pub static VERIFY: false;
    /// Whether memory is kept.
    #[key(name = "cache.keep")]
    pub static KEEP: true;
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
    pub fn say(&mut self, what: &str, words: usize) {
        self.lines += 1;
        let _ = writeln!(io::stderr(), "jumplabel-demo: a thread {what}, {words} words in its index");
    }
}
