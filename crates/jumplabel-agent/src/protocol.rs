//! What a tool and an agent say to each other: docs/operating.md has it with examples.
//!
//! ```text
//!   request  hello                                          answer  one line of JSON each: Answer
//!            list [ITEMS]
//!            check [ITEMS]
//!            set ITEMS [for SECONDS] [dry-run]
//!            watch                                                  and a line for each change from then on
//!   items    SELECTOR[,SELECTOR]...                         the grammar of `jumplabel-selector`; `?` stands for a blank or a comma
//! ```

#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;

use jumplabel_selector::Selector;
use serde::{Deserialize, Serialize};

/// Of the answers. It changes if a field changes its meaning or goes; new fields do not change it.
pub const VERSION: u32 = 1;
/// A request, with the end of its line, has at most so many bytes.
pub const LONGEST: usize = 4096;

/// What a client asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Who is there.
    Hello,
    /// What there is; all, if there is no selector.
    List(Vec<Selector>),
    /// Whether keys are what they are to be, and whether their sites do that.
    Check(Vec<Selector>),
    /// One transaction.
    Set {
        /// What is to be what.
        items: Vec<Selector>,
        /// When it is taken back.
        seconds: Option<u32>,
        /// Only says what would change.
        dry_run: bool,
    },
    /// To be told each change that the agent makes.
    Watch,
}

impl FromStr for Request {
    type Err = String;

    fn from_str(line: &str) -> Result<Request, String> {
        let mut words = line.split_ascii_whitespace();
        let verb = words.next().unwrap_or_default();
        let mut rest = words.peekable();
        let mut taken = || match rest.peek() {
            None => Ok(Vec::new()),
            // They stand behind the items, which have values.
            Some(&("for" | "dry-run")) if verb == "set" => Ok(Vec::new()),
            Some(_) => items(rest.next().unwrap_or_default()),
        };
        let request = match verb {
            "hello" => Request::Hello,
            "watch" => Request::Watch,
            "list" => Request::List(without_values(taken()?)?),
            "check" => Request::Check(taken()?),
            "set" => {
                let items = taken()?;
                if items.is_empty() {
                    return Err("say what is to change: set SELECTOR=VALUE".to_owned());
                }
                if let Some(item) = items.iter().find(|item| item.assignment.is_none()) {
                    return Err(format!("`{item}`: say what it is to be: set SELECTOR=VALUE"));
                }
                let (mut seconds, mut dry_run) = (None, false);
                while let Some(word) = rest.next() {
                    match word {
                        "for" if seconds.is_none() => seconds = Some(duration(rest.next().unwrap_or_default())?),
                        "dry-run" if !dry_run => dry_run = true,
                        _ => return Err(format!("`{word}`: set takes SELECTOR=VALUE[,...] [for SECONDS] [dry-run]")),
                    }
                }
                Request::Set { items, seconds, dry_run }
            }
            _ => return Err(format!("`{verb}`: no such request; there are hello, list, check, set and watch")),
        };
        match rest.next() {
            None => Ok(request),
            Some(word) => {
                Err(format!("`{word}`: too much; {verb} takes selectors with commas between them, and no blanks"))
            }
        }
    }
}

fn items(word: &str) -> Result<Vec<Selector>, String> {
    word.split(',').filter(|item| !item.is_empty()).map(str::parse).collect()
}

fn without_values(items: Vec<Selector>) -> Result<Vec<Selector>, String> {
    match items.iter().find(|item| item.assignment.is_some()) {
        Some(item) => Err(format!("`{item}`: list takes selectors without values")),
        None => Ok(items),
    }
}

/// `30` or `30s`.
pub fn duration(word: &str) -> Result<u32, String> {
    let number = word.strip_suffix('s').unwrap_or(word);
    let seconds = if number.bytes().all(|byte| byte.is_ascii_digit()) { number.parse().ok() } else { None };
    seconds.filter(|&seconds| seconds > 0).ok_or_else(|| format!("`{word}`: for takes seconds: 30 or 30s"))
}

impl Request {
    fn parts(&self) -> (&'static str, &[Selector]) {
        match self {
            Request::Hello => ("hello", &[]),
            Request::Watch => ("watch", &[]),
            Request::List(items) => ("list", items),
            Request::Check(items) => ("check", items),
            Request::Set { items, .. } => ("set", items),
        }
    }

    /// Whether an item has a blank or a comma in it, which separate items in a line.
    pub fn has_separators(&self) -> bool {
        let separates = |char: char| char == ',' || char.is_whitespace();
        self.parts().1.iter().any(|item| item.to_string().contains(separates))
    }
}

/// As a line, without its end.
impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (verb, items) = self.parts();
        f.write_str(verb)?;
        for (number, item) in items.iter().enumerate() {
            write!(f, "{}{item}", if number == 0 { ' ' } else { ',' })?;
        }
        if let Request::Set { seconds, dry_run, .. } = self {
            seconds.map_or(Ok(()), |seconds| write!(f, " for {seconds}"))?;
            f.write_str(if *dry_run { " dry-run" } else { "" })?;
        }
        Ok(())
    }
}

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
    /// Of `set`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set: Option<Done>,
    /// Behind `watch`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<Happened>,
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
    /// `key`, `tracepoint`, `call` or `mode`.
    pub kind: String,
    /// `on` or `off`; where a call leads; a mode's number of how many.
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
    /// How many of its sites do not do what it is.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub differing: usize,
}

fn is_zero(number: &usize) -> bool {
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
