//! The requests of a tool, and the lines in which a tool sends them.

use std::fmt;
use std::str::FromStr;

use jumplabel_selector::Selector;

/// A client's request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Asks which process answers.
    Hello,
    /// Lists what the selectors choose; everything if there is no selector.
    List(Vec<Selector>),
    /// Checks that the sites of keys do what the keys say, and that each subject has the state that its selector gives, if it gives one.
    Check(Vec<Selector>),
    /// Repairs sites that something outside the library has changed: all sites if there is no selector, otherwise the sites of the keys that the
    /// selectors choose. If the selectors choose only calls, modes or names without keys, the request is refused.
    Verify(Vec<Selector>),
    /// Changes states in one transaction.
    Set {
        /// The subjects and their new states.
        items: Vec<Selector>,
        /// The number of seconds after which the agent takes the changes back; `None` if it does not.
        seconds: Option<u32>,
        /// Whether the agent only says what would change.
        dry_run: bool,
    },
    /// Asks for an event for each transaction of the agent from now on.
    Watch,
    /// Asks for records of the events at names of layers from now on.
    Trace {
        /// The names.
        items: Vec<Selector>,
        /// The largest number of records in a second.
        per_second: Option<u32>,
    },
}

impl FromStr for Request {
    type Err = String;

    fn from_str(line: &str) -> Result<Request, String> {
        let line = line.trim_ascii();
        let (verb, rest) = line.split_at(line.find(|char: char| char.is_ascii_whitespace()).unwrap_or(line.len()));
        let first = rest.split_ascii_whitespace().next();
        // If the first word is one that belongs after the items, there are no items.
        let are_items = match verb {
            "set" => !matches!(first, None | Some("for" | "dry-run")),
            "trace" => !matches!(first, None | Some("at")),
            _ => true,
        };
        let takes_items = matches!(verb, "list" | "check" | "verify" | "set" | "trace");
        let (items, rest) = if takes_items && are_items { items(rest.trim_ascii_start())? } else { (Vec::new(), rest) };
        let mut rest = rest.split_ascii_whitespace();
        let request = match verb {
            "hello" => Request::Hello,
            "watch" => Request::Watch,
            "list" => Request::List(without_values(verb, items)?),
            "check" => Request::Check(items),
            "verify" => Request::Verify(without_values(verb, items)?),
            "set" => {
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
            "trace" => {
                if items.is_empty() {
                    return Err("say what is to be followed: trace SELECTOR".to_owned());
                }
                let per_second = match rest.next() {
                    None => None,
                    Some("at") => Some(rate(rest.next().unwrap_or_default())?),
                    Some(word) => return Err(format!("`{word}`: trace takes SELECTOR[,...] [at NUMBER]")),
                };
                Request::Trace { items: without_values(verb, items)?, per_second }
            }
            _ => {
                let all = "hello, list, check, verify, set, watch and trace";
                return Err(format!("`{verb}`: no such request; there are {all}"));
            }
        };
        match rest.next() {
            None => Ok(request),
            Some(word) => {
                Err(format!("`{word}`: too much; {verb} takes selectors with commas between them, and no blanks"))
            }
        }
    }
}

/// The items at the beginning of a text, and the rest of the text, which is empty or begins with a blank.
fn items(text: &str) -> Result<(Vec<Selector>, &str), String> {
    let (items, rest) = split(text)?;
    let items: Result<_, _> = items.iter().map(|item| item.parse()).collect();
    Ok((items?, rest))
}

/// Splits a text into items. The items have commas between them, and are in the form in which [`item`] writes them.
///
/// # Errors
/// If a string of JSON has no end, or has something else than a comma after it, or if a blank follows an item.
pub fn split_items(text: &str) -> Result<Vec<String>, String> {
    match split(text)? {
        (items, "") => Ok(items),
        (_, rest) => Err(format!("`{rest}`: too much")),
    }
}

fn split(text: &str) -> Result<(Vec<String>, &str), String> {
    let (mut items, mut rest) = (Vec::new(), text);
    loop {
        let end = if rest.starts_with('"') {
            let mut strings = serde_json::Deserializer::from_str(rest).into_iter::<String>();
            let string = strings.next().and_then(Result::ok).ok_or_else(|| format!("`{rest}`: no string of JSON"))?;
            items.push(string);
            strings.byte_offset()
        } else {
            let end = rest.find(|char: char| char == ',' || char.is_ascii_whitespace()).unwrap_or(rest.len());
            items.extend((end > 0).then(|| rest[..end].to_owned()));
            end
        };
        rest = &rest[end..];
        match rest.strip_prefix(',') {
            Some(behind) => rest = behind,
            None if rest.is_empty() || rest.starts_with(|char: char| char.is_ascii_whitespace()) => {
                return Ok((items, rest));
            }
            None => return Err(format!("`{rest}`: a comma is missing in front of it")),
        }
    }
}

/// The form of an item in a line: a string of JSON if the item has characters that separate items, otherwise the item itself.
#[must_use]
pub fn item(text: &str) -> String {
    if text.contains(separates) || text.starts_with('"') {
        serde_json::to_string(text).unwrap_or_default()
    } else {
        text.to_owned()
    }
}

fn separates(char: char) -> bool {
    char == ',' || char.is_whitespace()
}

fn without_values(verb: &str, items: Vec<Selector>) -> Result<Vec<Selector>, String> {
    match items.iter().find(|item| item.assignment.is_some()) {
        Some(item) => Err(format!("`{item}`: {verb} takes selectors without values")),
        None => Ok(items),
    }
}

/// Reads a duration in seconds: `30` or `30s`.
pub fn duration(word: &str) -> Result<u32, String> {
    let number = word.strip_suffix('s').unwrap_or(word);
    let seconds = if number.bytes().all(|byte| byte.is_ascii_digit()) { number.parse().ok() } else { None };
    seconds
        .filter(|&seconds| seconds > 0)
        .ok_or_else(|| format!("`{word}`: for takes seconds, from 1 to {}: 30 or 30s", u32::MAX))
}

/// Reads a number of records in a second: a number above 0.
pub fn rate(word: &str) -> Result<u32, String> {
    let number = if word.bytes().all(|byte| byte.is_ascii_digit()) { word.parse().ok() } else { None };
    number.filter(|&number| number > 0).ok_or_else(|| format!("`{word}`: give a number of records in a second: 1000"))
}

impl Request {
    fn parts(&self) -> (&'static str, &[Selector]) {
        match self {
            Request::Hello => ("hello", &[]),
            Request::Watch => ("watch", &[]),
            Request::List(items) => ("list", items),
            Request::Check(items) => ("check", items),
            Request::Verify(items) => ("verify", items),
            Request::Set { items, .. } => ("set", items),
            Request::Trace { items, .. } => ("trace", items),
        }
    }

    /// True if the pattern of an item has a blank or a comma. (A value may have blanks and commas, because its item becomes a string of JSON.)
    pub fn has_separators(&self) -> bool {
        let what = |item: &Selector| Selector { assignment: None, ..item.clone() }.to_string();
        self.parts().1.iter().any(|item| what(item).contains(separates))
    }
}

/// Displays a request as a line, without the end of the line.
impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (verb, items) = self.parts();
        f.write_str(verb)?;
        for (number, selector) in items.iter().enumerate() {
            write!(f, "{}{}", if number == 0 { ' ' } else { ',' }, item(&selector.to_string()))?;
        }
        if let Request::Set { seconds, dry_run, .. } = self {
            seconds.map_or(Ok(()), |seconds| write!(f, " for {seconds}"))?;
            f.write_str(if *dry_run { " dry-run" } else { "" })?;
        }
        if let Request::Trace { per_second: Some(number), .. } = self {
            write!(f, " at {number}")?;
        }
        Ok(())
    }
}
