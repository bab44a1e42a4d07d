//! A fleet: many processes whose keys follow a prefix in etcd. Under the prefix are:
//!
//! ```text
//!   PREFIX/set/PROCESSES/SELECTOR    a wish: {"value":"on","by":"uid 0 of desk","until":1763900000}; with a lease if it has an end
//!   PREFIX/set?/ID                   a trial of wishes: followers try them out, and answer at PREFIX/answer/ID/HOST
//!   PREFIX/report/HOST               what a follower has done, with a lease: it goes a minute after its follower
//!
//!   fleet set ──put──► etcd ──watch──► follow, one a host ──sockets──► the agents of its processes
//!   fleet list ◄─range── etcd ◄──put── follow
//! ```
//!
//! etcd keeps the wishes and their order. The fleet has no consensus protocol of its own.

mod census;
pub mod etcd;
mod follow;
mod followed;
mod member;
pub mod report;
pub mod tally;
pub mod trial;
mod watch;
mod worker;

use jumplabel_selector::{Assignment, Glob, Selector};
use serde::{Deserialize, Serialize};

pub use follow::{Following, follow};

use crate::failure::Failure;

/// A wish: the value that a key should have in some processes.
#[derive(Clone, Debug, PartialEq)]
pub struct Wish {
    /// A pattern of the processes' names.
    pub processes: String,
    /// The selector of the key, without a value.
    pub selector: String,
    pub is: Is,
    /// The revision at which etcd got the wish. A later wish overrides an earlier one.
    pub revision: i64,
}

/// The value in etcd that belongs to a wish.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Is {
    pub value: String,
    /// The user who made the wish. The text only informs readers: nobody checks it.
    pub by: String,
    /// The end of the wish, in seconds since 1970. At that time, each process takes the change back by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<u64>,
}

impl Wish {
    /// The beginning of the keys of all wishes under a prefix.
    pub fn place(prefix: &str) -> String {
        format!("{prefix}/set/")
    }

    /// The beginning of all keys that a follower watches: those of wishes, and of trials of wishes.
    fn watched(prefix: &str) -> String {
        format!("{prefix}/set")
    }

    /// The wish's key in etcd.
    pub fn key(&self, prefix: &str) -> String {
        format!("{}{}/{}", Wish::place(prefix), self.processes, self.selector)
    }

    /// Reads a wish from a key and a value of etcd. The error is a sentence.
    pub fn read(prefix: &str, key: &[u8], value: &[u8], revision: i64) -> Result<Wish, String> {
        let name = String::from_utf8_lossy(key).into_owned();
        let (processes, selector) = Wish::split(prefix, &name).ok_or(format!("{name}: no PROCESSES/SELECTOR"))?;
        let is = serde_json::from_slice::<Is>(value).map_err(|error| format!("{name}: {error}"))?;
        let wish = Wish { processes: processes.to_owned(), selector: selector.to_owned(), is, revision };
        wish.item().map(|_| wish)
    }

    /// A wish that a follower has carried out earlier. Its author and its end are not known any more.
    fn of(prefix: &str, key: &str, value: &str, revision: i64) -> Option<Wish> {
        let (processes, selector) = Wish::split(prefix, key)?;
        let is = Is { value: value.to_owned(), by: String::new(), until: None };
        Some(Wish { processes: processes.to_owned(), selector: selector.to_owned(), is, revision })
    }

    /// The processes and the selector that a wish's key in etcd names.
    pub fn split<'key>(prefix: &str, key: &'key str) -> Option<(&'key str, &'key str)> {
        key.strip_prefix(&Wish::place(prefix))?
            .split_once('/')
            .filter(|(left, right)| !left.is_empty() && !right.is_empty())
    }

    /// The item of a request that asks an agent to carry the wish out.
    pub fn item(&self) -> Result<Selector, String> {
        let text = format!("{}={}", self.selector, self.is.value);
        // The names that a layer reserves have values with a grammar of their own.
        let is_of_layer = jumplabel_layer::reserved(&self.selector).is_some();
        let has_separators = |text: &str| text.contains(|char: char| char == ',' || char.is_whitespace());
        if has_separators(&self.selector) || !is_of_layer && has_separators(&self.is.value) {
            return Err(format!("`{text}`: write ? for each blank and comma in a selector"));
        }
        let item: Selector = text.parse()?;
        if is_of_layer && matches!(item.assignment, Some(Assignment::Target(_))) {
            return Ok(item);
        }
        let is_number = |value: &str| value.bytes().all(|byte| byte.is_ascii_digit());
        // The limit of a callsite of tracing, `100/s`, is a number, too.
        let number = self.is.value.strip_suffix("/s").unwrap_or(&self.is.value);
        if item.assignment.is_none() || !matches!(&*self.is.value, "on" | "off") && !is_number(number) {
            return Err(format!("`{item}`: of a fleet, say on, off or a mode's number"));
        }
        Ok(item)
    }

    /// Whether the wish is for a process of this name.
    pub fn is_for(&self, name: &str) -> bool {
        Glob::new(&self.processes).matches(name)
    }

    /// The seconds until the wish ends; `None` if it has no end. An error if the end has come.
    pub fn left(&self) -> Result<Option<u32>, ()> {
        let Some(until) = self.is.until else { return Ok(None) };
        let left = until.saturating_sub(now());
        if left == 0 { Err(()) } else { Ok(Some(left.min(u32::MAX.into()) as u32)) }
    }
}

/// The selector of an item as text, and its value. `None` if the item does not have the form SELECTOR=VALUE.
pub fn halves(item: &Selector) -> Option<(String, String)> {
    let (text, value) = (item.to_string(), item.assignment.as_ref()?.value());
    let selector = text.strip_suffix(value).and_then(|text| text.strip_suffix('='))?;
    Some((selector.to_owned(), value.to_owned()))
}

/// The present time, in seconds since 1970.
pub fn now() -> u64 {
    std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs())
}

/// Splits `net.*=on` into the text of the selector and the value.
pub fn wished(item: &Selector) -> Result<(String, String), Failure> {
    if item.assignment.is_none() {
        return Err(Failure::Usage(format!("`{item}`: say what it is to be: SELECTOR=VALUE")));
    }
    halves(item).ok_or_else(|| Failure::Usage(format!("`{item}`: of a fleet, say on, off or a mode's number")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wishes() {
        let value = br#"{"value":"on","by":"me"}"#;
        let wish = Wish::read("/jl", b"/jl/set/web*/file:src/net.rs:3", value, 7).unwrap();
        assert_eq!((&*wish.processes, &*wish.selector, wish.revision), ("web*", "file:src/net.rs:3", 7));
        assert_eq!(wish.key("/jl"), "/jl/set/web*/file:src/net.rs:3");
        assert_eq!(wish.item().unwrap().to_string(), "file:src/net.rs:3=on");
        assert!(wish.is_for("web1") && !wish.is_for("db") && wish.left() == Ok(None));
        let past = Wish { is: Is { until: Some(3), ..wish.is.clone() }, ..wish };
        assert_eq!(past.left(), Err(()));
        let point = br#"{"value":"2*return(a=b, c)->off","by":"me"}"#;
        let wish = Wish::read("/jl", b"/jl/set/web/fail:save", point, 7).unwrap();
        assert_eq!(wish.item().unwrap(), "fail:save=2*return(a=b, c)->off".parse().unwrap());
        for (key, value) in [
            (&b"/jl/set/web"[..], &value[..]),
            (b"/jl/other/web/net", value),
            (b"/jl/set//net", value),
            (b"/jl/set/web/net", b"on"),
            (b"/jl/set/web/net", br#"{"value":"+1","by":"me"}"#),
            (b"/jl/set/web/net", br#"{"value":"perhaps","by":"me"}"#),
            (b"/jl/set/web/net", br#"{"value":"on,x=off","by":"me"}"#),
        ] {
            assert!(Wish::read("/jl", key, value, 1).is_err(), "{key:?}");
        }
        let item = |text: &str| wished(&text.parse().unwrap());
        assert_eq!(item("net.*=on").unwrap(), ("net.*".to_owned(), "on".to_owned()));
        assert_eq!(item("fail:a=return(b=c)").unwrap(), ("fail:a".to_owned(), "return(b=c)".to_owned()));
        assert!(item("net.*").is_err() && item("net.*+1").is_err());
    }
}
