//! The requests of a tool to an agent, and the agent's answers. docs/operating.md has examples.
//!
//! ```text
//!   request  hello                                          answer  one line of JSON to each request: Answer
//!            list [ITEMS]
//!            check [ITEMS]
//!            verify [ITEMS]
//!            set ITEMS [for SECONDS] [dry-run]
//!            watch                                                  and a line for each change from then on
//!            trace ITEMS [at NUMBER]                                and lines with records of events at these names of layers, with at
//!                                                                   most NUMBER records in a second
//!   items    SELECTOR[,SELECTOR]...                         the grammar of `jumplabel-selector`; `?` stands for a blank or a comma
//!            "SELECTOR=VALUE"                               a string of JSON, for a value with blanks or commas in it
//! ```

mod request;
#[cfg(test)]
mod tests;

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

pub use request::{Request, duration, item, rate, split_items};

/// The version of the answers. It changes if a field changes its meaning or vanishes. A new field does not change the version.
pub const VERSION: u32 = 1;
/// The length of the longest request in bytes, with the end of its line.
pub const LONGEST: usize = 4096;

/// An answer or an event of the agent: one line.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Answer {
    /// The version of the answers: [`VERSION`].
    pub version: u32,
    /// The exit code of the tool, which docs/operating.md explains: 0 as asked, 1 nothing matched or something differs, 2 the request makes no sense,
    /// 3 out of reach, 4 refused.
    pub status: u8,
    /// The reason why the status is not 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The answer to `hello`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hello: Option<Hello>,
    /// The answer to `list`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keys: Option<Vec<Row>>,
    /// The answer to `check`: a sentence for each difference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub differences: Option<Vec<String>>,
    /// The answer to `verify`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verified: Option<Verified>,
    /// The answer to `set`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set: Option<Done>,
    /// An event, for a client that watches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<Happened>,
    /// The answer to `trace`: the number of names that the client follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub follows: Option<usize>,
    /// Records, for a client that follows names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traced: Option<Traced>,
}

/// Records of events at the names that a client follows.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Traced {
    /// The records, oldest first. Each is a JSON object that the layer has made.
    pub records: Vec<Box<RawValue>>,
    /// The number of records that were lost, because they exceeded the limit, or because the client did not keep up with reading.
    #[serde(default, skip_serializing_if = "is_none")]
    pub lost: u64,
}

/// The process that answers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Hello {
    /// The name in the socket's path.
    pub name: String,
    /// The number of the process.
    pub pid: u32,
    /// The program's file, if the system tells it.
    pub program: Option<String>,
    /// Whether the agent is read-only: it refuses `set` (except for a dry run), `verify` and `trace`.
    pub read_only: bool,
}

/// A line of a list: a key, a call, a mode, or a name of a layer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Row {
    /// The name.
    pub key: String,
    /// The kind: `key`, `tracepoint`, `call`, `mode`, or `name` for a layer's name that no key has.
    pub kind: String,
    /// For a key, `on` or `off`. For a call, the function to which it leads. For a mode, its number and the number of modes: `1/3`. For a name of a
    /// layer, the value that is configured.
    pub state: String,
    /// The number of users of a key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<i32>,
    /// The number of sites.
    pub sites: usize,
    /// The place of the declaration.
    pub declared: Declared,
    /// Whether the program forbids the agent to change it (`no_remote`).
    pub no_remote: bool,
    /// The number of seconds until the agent takes a change back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverts_in: Option<u64>,
    /// When the agent set the state, and who asked for that; missing if the agent did not set it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Since>,
    /// For a tracepoint, the number of probes, if the agent knows that number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probes: Option<usize>,
    /// A remark, if there is one: a layer's remark on its name, or the remark that a tracer is attached to a tracepoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The number of sites that do not do what the state says.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub differing: usize,
    /// The number of sites that load the key, because they are not patched.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub loading: usize,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

fn is_none(number: &u64) -> bool {
    *number == 0
}

/// The last change of a key, a mode or a layer's name that the agent has made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Since {
    /// The number of seconds since the change.
    pub seconds: u64,
    /// Who asked for the change; missing if the agent took an earlier `set` back because its time was over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Peer>,
}

/// A place in a source file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Declared {
    /// The path of the file, as it was given to the compiler.
    pub file: String,
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

/// The result of a transaction, or of a dry run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    /// The subjects whose state has changed.
    pub changes: Vec<Changed>,
    /// The items of a request `set` that would take the changes back; empty if nothing has changed.
    pub undo: String,
    /// The number of seconds until the agent takes the changes back by itself; missing if it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverts_in: Option<u64>,
    /// Whether this is the result of a dry run: the transaction was not carried out.
    pub dry_run: bool,
    /// The number of pages of code to which the transaction has written.
    pub pages: usize,
    /// The time that the transaction took, in nanoseconds.
    pub nanoseconds: u64,
    /// Remarks; each is a sentence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Done {
    /// The remark that this many sites were repaired although their keys had the state already. `None` if `sites` is 0.
    #[must_use]
    pub fn brought_back(sites: usize) -> Option<String> {
        let what = "did something else than their keys say, which stay as they are: they are brought back";
        (sites > 0).then(|| format!("{sites} sites {what}"))
    }
}

/// One change of a transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changed {
    /// The name.
    pub key: String,
    /// The state before.
    pub from: String,
    /// The state afterwards; for a dry run, the state that would follow. After `+1` and `-1` both states have the number of users: `on/2`.
    pub to: String,
    /// The number of sites.
    pub sites: usize,
}

/// The result of `verify`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verified {
    /// The number of sites that something outside the library had changed, and that were repaired.
    pub sites: usize,
}

/// A process that has connected to the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Peer {
    /// The user to whom the process belongs.
    pub uid: u32,
    /// The number of the process; 0 if the process is in a container that the agent cannot see into.
    pub pid: u32,
}

/// Displays a peer as in logs: `uid 1000 (pid 4711)`.
impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "uid {} (pid {})", self.uid, self.pid)
    }
}

/// A transaction of the agent, as clients that watch are told it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Happened {
    /// The time, in seconds since 1970.
    pub time: f64,
    /// Who asked for the change; missing if the agent took an earlier `set` back because its time was over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Peer>,
    /// The changes of the transaction.
    #[serde(flatten)]
    pub done: Done,
}

impl Answer {
    /// An answer that reports success.
    pub fn new() -> Answer {
        Answer { version: VERSION, ..Answer::default() }
    }

    /// An answer that reports an error.
    pub fn error(status: u8, error: String) -> Answer {
        Answer { status, error: Some(error), ..Answer::new() }
    }
}
