//! Something that is built on static keys, and configured by texts: fail points, say. It implements [`Layer`], and a program hands its [`Handle`]
//! to the agent: `jumplabel_agent::serve(jumplabel_fail::layer())`. Then an operator lists and configures its names as keys are listed and set.
//! Neither knows the other: they know this crate.
//!
//! ```text
//!   jumplabel set 4711 'fail:net.*=return(x)' --for 30s
//!      the agent      names that match  ◄── Layer::entries        name, value, revision
//!                     is that a value?  ──► Layer::check
//!                     one batch         ──► Layer::configure      all or nothing; a new revision
//!      30 s later     the value before  ──► Layer::configure      where the revision is still that one
//! ```
//!
//! A key whose name begins with the prefix of a layer is the layer's: to flip it does nothing, or what nobody wants. The agent refuses that, and
//! says what to do.
//!
//! *Several instances.* A [`Handle`] is made of functions and texts of C, so that the agent of another build can use it: that of
//! `libjumplabel-agent.so`.

mod handle;

pub use handle::Handle;

/// Beginnings of names that belong to layers, and what their names are. Keys called so are never flipped from outside, whether the program has
/// handed the layer to an agent or not: a tool that has only the names knows them by this.
pub const RESERVED: [(&str, &str); 1] = [("fail:", "a fail point")];

/// The value that takes away what is configured, of any layer.
pub const REMOVE: &str = "remove";

/// What is said of a name, if the process has an agent that was not given the layer.
#[must_use]
pub fn reserved(name: &str) -> Option<&'static str> {
    RESERVED.iter().find(|(prefix, _)| name.starts_with(prefix)).map(|(_, what)| *what)
}

/// What is built on static keys, and configured by texts. Its functions run in the agent's thread, and under no lock of the library.
pub trait Layer {
    /// What its names begin with, on the command line and in lists: `fail:`.
    const PREFIX: &'static str;
    /// What one of its names is: `a fail point`.
    const KIND: &'static str;
    /// What a value looks like, as the end of a sentence: `write =return(text), ...`.
    const VALUES: &'static str;

    /// Visits each name once: those that have keys, and those that are configured.
    fn entries(visit: &mut dyn FnMut(Entry<'_>));

    /// Whether a name that `entries` does not visit can be configured all the same, and how many sites it stands for (0: nobody knows). Not for
    /// patterns.
    fn takes(name: &str) -> Option<usize> {
        let _ = name;
        None
    }

    /// Whether `value` is one for this name.
    ///
    /// # Errors
    /// What is wrong with it.
    fn check(name: &str, value: &str) -> Result<(), String>;

    /// Configures all of them in one batch, or nothing. `dry_run`: only says whether it would.
    ///
    /// # Errors
    /// Why nothing has changed.
    fn configure(settings: &[Setting<'_>], dry_run: bool) -> Result<Done, String>;

    /// Follows what happens at these names from now on, and at no others: a record of each event, at most so many in a second. No name: nothing
    /// any more. In one batch, or not at all.
    ///
    /// # Errors
    /// Why nothing has changed. A layer that has no records says so.
    fn follow(names: &[&str], per_second: u32) -> Result<(), String> {
        let _ = per_second;
        if names.is_empty() { Ok(()) } else { Err(format!("{} has no events that anybody could follow", Self::KIND)) }
    }

    /// Visits the records since the last call, oldest first: the name where each was made, and a JSON object. Returns how many were lost, because
    /// there were too many of them.
    fn records(visit: &mut dyn FnMut(&str, &str)) -> u64 {
        let _ = visit;
        0
    }

    /// Whether who follows `chosen` follows `name`, which `entries` visits.
    fn covers(chosen: &str, name: &str) -> bool {
        chosen == name
    }
}

/// A name, and what is configured for it.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// Without the prefix.
    pub name: &'a str,
    /// `None`: nothing is configured.
    pub value: Option<&'a str>,
    /// Another one each time that something is configured for the name; 0 if nothing is.
    pub revision: u64,
    /// What else there is to know; may be empty.
    pub note: &'a str,
    /// How many sites the name has, if no key is called so, whose sites would count; 0 if nobody knows.
    pub sites: usize,
}

/// What a name is to have.
#[derive(Clone, Copy, Debug)]
pub struct Setting<'a> {
    /// Without the prefix.
    pub name: &'a str,
    /// `None`: nothing.
    pub value: Option<&'a str>,
    /// Only if this is the revision of what is configured now; else the batch is refused.
    pub only_at: Option<u64>,
}

/// What a batch came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Of everything that it has configured.
    pub revision: u64,
    /// How many pages of code it has written to, if the layer knows.
    pub pages: usize,
}
