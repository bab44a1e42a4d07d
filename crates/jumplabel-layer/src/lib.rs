//! The interface between an agent and a *layer*: a library that is built on static keys and configured by texts, such as fail points. The layer
//! implements [`Layer`], and the program hands its [`Handle`] to the agent: `jumplabel_agent::serve(jumplabel_fail::layer())`. Then an operator
//! lists and configures the layer's names as keys are listed and set. Agent and layer need not know each other, only this crate.
//!
//! ```text
//!   jumplabel set 4711 'fail:net.*=return(x)' --for 30s
//!      the agent      names that match  ◄── Layer::entries        name, value, revision
//!                     is that a value?  ──► Layer::check
//!                     one batch         ──► Layer::configure      all or nothing; a new revision
//!      30 s later     the value before  ──► Layer::configure      if the revision is still that one
//! ```
//!
//! If the name of a key begins with the prefix of a layer, the key belongs to the layer. A flip of such a key from outside would have no effect, or
//! an unwanted one. So the agent refuses it, and says what to do instead.
//!
//! *Several instances.* A [`Handle`] consists of functions and texts in C's format, so that an agent of another build can use it, such as
//! `libjumplabel-agent.so`.

mod handle;

pub use handle::Handle;

/// The prefixes that belong to layers, and the kind of thing that a name with the prefix stands for. Keys with such names cannot be flipped from
/// outside, even if the program has not passed the layer to an agent. A tool that has only the names recognizes them by this list.
pub const RESERVED: [(&str, &str); 1] = [("fail:", "a fail point")];

/// The value that removes a configuration, in any layer.
pub const REMOVE: &str = "remove";

/// The kind of thing that a name with a reserved prefix stands for: `a fail point`. `None` if no layer has the prefix. An agent uses this if the
/// program has not given it the layer.
#[must_use]
pub fn reserved(name: &str) -> Option<&'static str> {
    RESERVED.iter().find(|(prefix, _)| name.starts_with(prefix)).map(|(_, what)| *what)
}

/// A library that is built on static keys and configured by texts. The agent's thread calls its functions, under no lock of the library.
pub trait Layer {
    /// The prefix of its names, on the command line and in lists: `fail:`.
    const PREFIX: &'static str;
    /// The kind of thing that its names stand for: `a fail point`.
    const KIND: &'static str;
    /// The form of a value, as the end of a sentence: `write =return(text), ...`.
    const VALUES: &'static str;

    /// Visits each name once: names that have keys, and names that are configured.
    fn entries(visit: &mut dyn FnMut(Entry<'_>));

    /// Decides whether a name that `entries` does not visit can be configured. Returns the number of sites that the name stands for; 0 if it is not
    /// known. The agent does not pass patterns to this function.
    fn takes(name: &str) -> Option<usize> {
        let _ = name;
        None
    }

    /// Checks whether the name can have this value.
    ///
    /// # Errors
    /// A message that says what is wrong with the value.
    fn check(name: &str, value: &str) -> Result<(), String>;

    /// Configures all names in one batch, or none. With `dry_run`, only checks the settings, and changes nothing.
    ///
    /// # Errors
    /// A message that says why nothing has changed.
    fn configure(settings: &[Setting<'_>], dry_run: bool) -> Result<Done, String>;

    /// Follows events at these names from now on, and at no others. Each event makes a record, at most `per_second` in a second. Without names,
    /// follows nothing. Changes all names in one batch, or none.
    ///
    /// # Errors
    /// A message that says why nothing has changed. A layer that has no records returns one, too.
    fn follow(names: &[&str], per_second: u32) -> Result<(), String> {
        let _ = per_second;
        if names.is_empty() { Ok(()) } else { Err(format!("{} has no events that anybody could follow", Self::KIND)) }
    }

    /// Visits the records since the last call, oldest first: the name at which each was made, and a JSON object. Returns the number of records that
    /// were lost because there were too many.
    fn records(visit: &mut dyn FnMut(&str, &str)) -> u64 {
        let _ = visit;
        0
    }

    /// True if a client that follows `chosen` also follows `name`, which is a name that `entries` visits.
    fn covers(chosen: &str, name: &str) -> bool {
        chosen == name
    }
}

/// A name, and its configuration.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// The name without the prefix.
    pub name: &'a str,
    /// Its value; `None` if nothing is configured.
    pub value: Option<&'a str>,
    /// A number that changes each time that something is configured for the name; 0 if nothing is configured.
    pub revision: u64,
    /// A remark; may be empty.
    pub note: &'a str,
    /// The number of sites of the name; 0 if it is not known. Used only if no key has this name: otherwise the key's sites are counted.
    pub sites: usize,
}

/// A name, and the value that it shall have.
#[derive(Clone, Copy, Debug)]
pub struct Setting<'a> {
    /// The name without the prefix.
    pub name: &'a str,
    /// The new value; `None` removes the configuration.
    pub value: Option<&'a str>,
    /// If this is given, the batch is refused unless the name's configuration has this revision now.
    pub only_at: Option<u64>,
}

/// The result of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// The revision of each name that the batch has configured.
    pub revision: u64,
    /// The number of pages of code to which the batch has written, if the layer knows.
    pub pages: usize,
}
