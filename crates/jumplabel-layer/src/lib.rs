//! The interface between an agent and a *layer*: a library that is built on static keys and configured by texts, such as fail points. The layer
//! implements [`Layer`], and the program hands the layer's [`Handle`] to the agent: `jumplabel_agent::serve(jumplabel_fail::layer())`. Then an
//! operator lists and configures the layer's names with the same commands as keys. Agent and layer depend on this crate, and not on each other.
//!
//! ```text
//!   jumplabel set 4711 'fail:net.*=return(x)' --for 30s
//!      the agent      finds the names            ◄── Layer::entries        name, value, revision
//!                     checks the value           ──► Layer::check
//!                     sets all names, or none    ──► Layer::configure      one batch, with a new revision
//!      30 s later     sets the earlier values    ──► Layer::configure      only at names that still have that revision
//! ```
//!
//! If the name of a key begins with the prefix of a layer, the key belongs to the layer. If an operator flipped such a key, that would have no
//! effect, or an unwanted one. So the agent refuses the flip, and says what to do instead.
//!
//! *Several instances.* A [`Handle`] consists of functions and texts in C's format, so that an agent of another build can use it, such as
//! `libjumplabel-agent.so`.

mod handle;

pub use handle::Handle;

/// The prefixes that are reserved for layers, each with the kind of thing that a name with this prefix stands for. An operator cannot flip keys with
/// such names, even if the program has not passed the layer to an agent. A tool that knows only names recognises such keys by this list.
pub const RESERVED: [(&str, &str); 1] = [("fail:", "a fail point")];

/// The value by which an operator removes the configuration of a name, in any layer.
pub const REMOVE: &str = "remove";

/// The kind of thing that `name` stands for, such as `a fail point`. `None` if the name does not begin with a reserved prefix. An agent calls this
/// for layers that the program has not passed to it.
#[must_use]
pub fn reserved(name: &str) -> Option<&'static str> {
    RESERVED.iter().find(|(prefix, _)| name.starts_with(prefix)).map(|(_, what)| *what)
}

/// A library that is built on static keys and configured by texts. The agent's thread calls these functions, and holds no lock of jumplabel
/// meanwhile.
pub trait Layer {
    /// The prefix of the layer's names, on the command line and in lists: `fail:`.
    const PREFIX: &'static str;
    /// The kind of thing that the layer's names stand for: `a fail point`.
    const KIND: &'static str;
    /// The form of a value, as the end of a sentence: `write =return(text), ...`.
    const VALUES: &'static str;

    /// Visits each name of the layer once: names that have keys, and names that are configured.
    fn entries(visit: &mut dyn FnMut(Entry<'_>));

    /// Decides whether a name that `entries` does not visit can be configured. If so, returns the number of sites that the name stands for, or 0 if
    /// that number is not known. If not, returns `None`. The agent does not pass patterns to this function.
    fn takes(name: &str) -> Option<usize> {
        let _ = name;
        None
    }

    /// Checks whether the name can have this value.
    ///
    /// # Errors
    /// A message that says what is wrong with the value.
    fn check(name: &str, value: &str) -> Result<(), String>;

    /// Carries out all settings in one batch, or none of them. With `dry_run`, only checks the settings, and changes nothing.
    ///
    /// # Errors
    /// A message that says why nothing has changed.
    fn configure(settings: &[Setting<'_>], dry_run: bool) -> Result<Done, String>;

    /// Follows the events at these names from now on, and at no others; without names, follows nothing. Each event makes a record, but at most
    /// `per_second` events in a second do. Changes all names in one batch, or none.
    ///
    /// # Errors
    /// A message that says why nothing has changed. A layer that has no events returns a message unless `names` is empty.
    fn follow(names: &[&str], per_second: u32) -> Result<(), String> {
        let _ = per_second;
        if names.is_empty() { Ok(()) } else { Err(format!("{} has no events that anybody could follow", Self::KIND)) }
    }

    /// Visits the records that were made since the last call, oldest first. `visit` gets the name at which the record was made, and the record, a
    /// JSON object. Returns the number of records that were lost since the last call because there were too many.
    fn records(visit: &mut dyn FnMut(&str, &str)) -> u64 {
        let _ = visit;
        0
    }

    /// Whether a client that follows the name `chosen` also follows `name`, which is a name that `entries` visits.
    fn covers(chosen: &str, name: &str) -> bool {
        chosen == name
    }
}

/// A name of a layer, and its configuration.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// The name without the prefix.
    pub name: &'a str,
    /// The value that is configured for the name; `None` if nothing is configured.
    pub value: Option<&'a str>,
    /// A number that changes each time that something is configured for the name; 0 if nothing is configured.
    pub revision: u64,
    /// A remark for lists; may be empty.
    pub note: &'a str,
    /// The number of sites of the name; 0 if the number is not known. The agent uses it only if no key has this name; otherwise it counts the key's
    /// sites.
    pub sites: usize,
}

/// A change of one name's configuration.
#[derive(Clone, Copy, Debug)]
pub struct Setting<'a> {
    /// The name without the prefix.
    pub name: &'a str,
    /// The new value; `None` removes the configuration.
    pub value: Option<&'a str>,
    /// If this is `Some`, the layer refuses the batch unless the name's configuration has this revision now.
    pub only_at: Option<u64>,
}

/// The result of a batch that was carried out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// The revision of each name that the batch has configured.
    pub revision: u64,
    /// The number of pages of code to which the batch has written; 0 if the layer does not know it.
    pub pages: usize,
}
