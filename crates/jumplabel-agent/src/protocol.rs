//! What a tool and an agent say to each other: docs/operating.md has it with examples.
//!
//! ```text
//!   request  hello                                          answer  one line of JSON each: Answer
//!            list [ITEMS]
//!            check [ITEMS]
//!            verify [ITEMS]
//!            set ITEMS [for SECONDS] [dry-run]
//!            watch                                                  and a line for each change from then on
//!            trace ITEMS [at NUMBER]                                and lines of what happens at these names of layers, at most so many
//!                                                                   records in a second
//!   items    SELECTOR[,SELECTOR]...                         the grammar of `jumplabel-selector`; `?` stands for a blank or a comma
//!            "SELECTOR=VALUE"                               a string of JSON: a value with blanks and commas in it
//! ```

mod request;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

pub use request::{Request, duration, item, rate, split_items};

/// Of the answers. It changes if a field changes its meaning or goes; new fields do not change it.
pub const VERSION: u32 = 1;
/// A request, with the end of its line, has at most so many bytes.
pub const LONGEST: usize = 4096;

/// What the agent says: one of these in a line. `status` is the exit code of the tool: docs/operating.md.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Answer {
    /// [`VERSION`].
    pub version: u32,
    /// 0 as asked, 1 nothing matched or something differs, 2 the request makes no sense, 3 out of reach, 4 refused.
    pub status: u8,
    /// Why it is not 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Of `hello`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hello: Option<Hello>,
    /// Of `list`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keys: Option<Vec<Row>>,
    /// Of `check`: a sentence for each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub differences: Option<Vec<String>>,
    /// Of `verify`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verified: Option<Verified>,
    /// Of `set`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set: Option<Done>,
    /// Behind `watch`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<Happened>,
    /// Of `trace`: how many names are followed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub follows: Option<usize>,
    /// Behind `trace`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traced: Option<Traced>,
}

/// What has happened at names that a client follows.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Traced {
    /// A JSON object each, as the layer makes them, oldest first.
    pub records: Vec<Box<RawValue>>,
    /// How many others there were: more than the limit allows, or than the client has read.
    #[serde(default, skip_serializing_if = "is_none")]
    pub lost: u64,
}

/// Who is there.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Hello {
    /// What the socket is called.
    pub name: String,
    /// The process.
    pub pid: u32,
    /// Its file, if the system tells.
    pub program: Option<String>,
    /// Whether `set` is refused.
    pub read_only: bool,
}

/// A key, call or mode.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Row {
    /// Its name.
    pub key: String,
    /// `key`, `tracepoint`, `call` or `mode`; `name`: what a layer has without a key.
    pub kind: String,
    /// `on` or `off`; where a call leads; a mode's number of how many; what is configured for a name of a layer.
    pub state: String,
    /// How many users a key has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<i32>,
    /// How many sites it has.
    pub sites: usize,
    /// Where it is declared.
    pub declared: Declared,
    /// Whether the agent refuses to change it.
    pub no_remote: bool,
    /// In how many seconds the agent takes a change back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverts_in: Option<u64>,
    /// Who made it what it is; not there if that was not by the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Since>,
    /// Of a tracepoint: how many probes it has, if the agent knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probes: Option<usize>,
    /// Of a name of a layer: what else there is to know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// How many of its sites do not do what it is.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub differing: usize,
    /// How many of its sites load it, because nobody has patched them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub loading: usize,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

fn is_none(number: &u64) -> bool {
    *number == 0
}

/// The last change that the agent has made of a key or mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Since {
    /// How many seconds ago.
    pub seconds: u64,
    /// Who asked for it. Not there if the time of an earlier `set` was over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Peer>,
}

/// A place in a source file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Declared {
    /// Its path, as the compiler was told it.
    pub file: String,
    /// Line.
    pub line: u32,
    /// Column.
    pub column: u32,
}

/// What a transaction has done, or would do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    /// What was not so before.
    pub changes: Vec<Changed>,
    /// Items for `set` that take it back; empty if nothing has changed.
    pub undo: String,
    /// When the agent does that by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverts_in: Option<u64>,
    /// Whether it was not carried out.
    pub dry_run: bool,
    /// Pages of code that were written to.
    pub pages: usize,
    /// How long that took.
    pub nanoseconds: u64,
    /// What else holds: a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Done {
    /// What to note if sites were brought back of keys that are so already.
    #[must_use]
    pub fn brought_back(sites: usize) -> Option<String> {
        let what = "did something else than their keys say, which stay as they are: they are brought back";
        (sites > 0).then(|| format!("{sites} sites {what}"))
    }
}

/// One of its changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changed {
    /// Its name.
    pub key: String,
    /// What it was.
    pub from: String,
    /// What it is, or, of a dry run, would be. Of `+1` and `-1` also how many users: `on/2`.
    pub to: String,
    /// How many sites it has.
    pub sites: usize,
}

/// What `verify` has found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verified {
    /// How many sites something outside the library had changed: they do again what their keys say.
    pub sites: usize,
}

/// A process that asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Peer {
    /// Whose it is.
    pub uid: u32,
    /// The one that connected; 0 if it is in a container that this one cannot see into.
    pub pid: u32,
}

/// A change that the agent has made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Happened {
    /// Seconds since 1970.
    pub time: f64,
    /// Who asked for it. Not there if the time of an earlier `set` was over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Peer>,
    /// What.
    #[serde(flatten)]
    pub done: Done,
}

impl Answer {
    /// One that says: as asked.
    pub fn new() -> Answer {
        Answer { version: VERSION, ..Answer::default() }
    }

    /// One that says why not.
    pub fn error(status: u8, error: String) -> Answer {
        Answer { status, error: Some(error), ..Answer::new() }
    }
}
