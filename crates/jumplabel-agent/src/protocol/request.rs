//! What a tool asks, and how that is written in a line.

use std::fmt;
use std::str::FromStr;

use jumplabel_selector::Selector;

/// What a client asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Who is there.
    Hello,
    /// What there is; all, if there is no selector.
    List(Vec<Selector>),
    /// Whether keys are what they are to be, and whether their sites do that.
    Check(Vec<Selector>),
    /// Brings sites back that something outside the library has changed; those of all keys, calls and modes, if there is no selector.
    Verify(Vec<Selector>),
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
            "list" => Request::List(without_values(verb, taken()?)?),
            "check" => Request::Check(taken()?),
            "verify" => Request::Verify(without_values(verb, taken()?)?),
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
            _ => return Err(format!("`{verb}`: no such request; there are hello, list, check, verify, set and watch")),
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

fn without_values(verb: &str, items: Vec<Selector>) -> Result<Vec<Selector>, String> {
    match items.iter().find(|item| item.assignment.is_some()) {
        Some(item) => Err(format!("`{item}`: {verb} takes selectors without values")),
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
            Request::Verify(items) => ("verify", items),
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
