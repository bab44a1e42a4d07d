//! The keys that an operator may switch: at the start of the program, with `JUMPLABEL=`; and while it runs, if it was started with
//! `JUMPLABEL_AGENT=1`.
//!
//! ```text
//!  pass.trace    off   two lines on standard error for each thread of each pass: at its beginning and at its end
//!  cache.verify  off   each thread looks all its words up again, after each pass; a difference is a wrong result
//!  cache.keep    on    a pass uses the memory of the pass before; while it is off, the loop waits for the allocator
//! ```
//!
//! None of these keys is in the loop, and none changes a result. The hooks and the other keys in the loop are the program's own: the program counts
//! their effects. So the agent lets no operator change them (`no_remote`), and [`own`] takes back what `JUMPLABEL=` has set.

use std::io::{self, Write};

use jumplabel::{Error, static_key};

use crate::hooks;
use crate::lookup::{LOOKUP, Lookup};
use crate::tally::{TALLY, Tally};

jumplabel_agent::startup!(no_remote: "jumplabel_demo::*");

static_key! {
    /// On: each thread writes lines about its passes.
    #[key(name = "pass.trace")]
    pub static TRACE: false;
    /// On: each thread checks its index after each pass.
    #[key(name = "cache.verify")]
    pub static VERIFY: false;
    /// On: a pass uses the memory of the pass before.
    #[key(name = "cache.keep")]
    pub static KEEP: true;
}

/// The work that a thread did in one pass because an operator asked for it.
#[derive(Clone, Copy, Default)]
pub struct Asked {
    /// The number of lines that the thread wrote.
    pub lines: u64,
    /// The number of words that the thread looked up again.
    pub verified: u64,
    /// The number of words that failed the check.
    pub failures: u64,
    /// The number of times that the thread freed its index or its hooks' buffers.
    pub dropped: u64,
}

/// Sets the keys that are the program's own to their states at the start, in case the environment has set them otherwise.
pub fn own() -> Result<(), Error> {
    hooks::set_keys(0)?;
    LOOKUP.set(Lookup::Plain)?;
    TALLY.set(Tally::Counted)?;
    Ok(())
}

impl Asked {
    /// Adds the counts of another thread or pass.
    pub fn add(&mut self, other: Asked) {
        self.lines += other.lines;
        self.verified += other.verified;
        self.failures += other.failures;
        self.dropped += other.dropped;
    }

    /// Writes a line on standard error. Ignores an error, because the program does not depend on a reader.
    #[cold]
    pub fn say(&mut self, what: &str, words: usize) {
        self.lines += 1;
        let _ = writeln!(io::stderr(), "jumplabel-demo: a thread {what}, {words} words in its index");
    }
}
