//! Selectors: the texts by which users choose keys and set them, in commands of the tool, in the agent's protocol and in the environment variable
//! `JUMPLABEL`.
//!
//! ```text
//!   selector    WHAT [ASSIGNMENT]
//!   what        NAME                         names of keys, calls and modes: net.*
//!               file:PATH[:LINE[-LINE]]      those that are declared in a file, or in these lines of it
//!               fn:NAME                      those that a function checks
//!               obj:PATH                     those of an object: a program or a shared library
//!   assignment  =on  =off                    enables or disables keys
//!               +1  -1                       adds a user to keys, or removes one
//!               =TARGET                      a function for a static call; a mode's number; a configuration for a layer's name
//! ```
//!
//! Names and paths are patterns ([`Glob`]). For a path or a function, it is enough if the pattern matches the last components. The assignment begins
//! at the last `=` before the first parenthesis: `fail:save=return(a=b)`. If no `=` is before a parenthesis, it begins at the last `=` of all. If a
//! name contains `=`, or ends in `+1` or `-1`, write `?` for the `=`, `+` or `-`.

mod glob;
mod nearest;
#[cfg(test)]
mod tests;

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

pub use glob::Glob;
pub use nearest::did_you_mean;

/// A selector: one argument of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector {
    /// The part that chooses keys.
    pub what: What,
    /// The state that the chosen keys shall get, if the selector has an assignment.
    pub assignment: Option<Assignment>,
}

/// The part of a selector that chooses keys, calls and modes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// Those whose names match.
    Name(Glob),
    /// Those that are declared in a file whose path matches. If lines are given, only those that are declared in one of these lines.
    File(Glob, Option<RangeInclusive<u32>>),
    /// Those with a site in a function whose name matches. If the function is inlined, its sites also belong to the function that contains it.
    Function(Glob),
    /// Those of a program or a shared library whose path matches.
    Object(Glob),
}

/// The state that a selector gives to the keys that it chooses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Assignment {
    /// The key shall be enabled.
    On,
    /// The key shall be disabled.
    Off,
    /// The key shall have one user more.
    Inc,
    /// The key shall have one user less.
    Dec,
    /// A function for a static call, a mode's number, or a configuration for a layer.
    Target(String),
}

impl Assignment {
    /// The assignment as users write it, but without `=`.
    pub fn value(&self) -> &str {
        match self {
            Assignment::On => "on",
            Assignment::Off => "off",
            Assignment::Inc => "+1",
            Assignment::Dec => "-1",
            Assignment::Target(target) => target,
        }
    }
}

impl FromStr for Selector {
    type Err = String;

    fn from_str(text: &str) -> Result<Selector, String> {
        let (what, assignment) = if let Some((what, value)) = split(text) {
            let assignment = match value {
                "" => return Err(format!("`{text}`: a value is missing behind `=`")),
                "on" => Assignment::On,
                "off" => Assignment::Off,
                target => Assignment::Target(target.to_owned()),
            };
            (what, Some(assignment))
        } else if let Some(what) = text.strip_suffix("+1") {
            (what, Some(Assignment::Inc))
        } else if let Some(what) = text.strip_suffix("-1").filter(|what| !is_start_of_lines(what)) {
            (what, Some(Assignment::Dec))
        } else {
            (text, None)
        };
        Ok(Selector { what: what.parse()?, assignment })
    }
}

/// Splits a selector into its choice and its value: at the last `=` before the first parenthesis or, if no `=` is before it, at the last `=` of all.
/// `None` if the selector has no `=`.
fn split(text: &str) -> Option<(&str, &str)> {
    let head = text.split('(').next().unwrap_or(text);
    let at = head.rfind('=').or_else(|| text.rfind('='))?;
    Some((&text[..at], &text[at + 1..]))
}

/// True if a `-1` that follows this text ends a range of lines, and is not an assignment.
fn is_start_of_lines(text: &str) -> bool {
    text.starts_with("file:") && text.rsplit_once(':').is_some_and(|(_, line)| is_number(line))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

impl FromStr for What {
    type Err = String;

    fn from_str(text: &str) -> Result<What, String> {
        let (what, pattern) = match text.split_once(':') {
            // Two colons belong to a name: `net::TRACE`.
            Some((kind, rest)) if !rest.starts_with(':') => match kind {
                "file" => file(rest)?,
                "fn" => (What::Function(Glob::new(rest)), rest),
                "obj" => (What::Object(Glob::new(rest)), rest),
                // After any other word, one colon belongs to a name, such as a tracepoint's: `net:packet`.
                _ => (What::Name(Glob::new(text)), text),
            },
            _ => (What::Name(Glob::new(text)), text),
        };
        if pattern.is_empty() { Err(format!("`{text}`: a pattern is missing")) } else { Ok(what) }
    }
}

/// Reads `PATH[:LINE[-LINE]]`. Also returns the pattern of the path.
fn file(text: &str) -> Result<(What, &str), String> {
    let Some((path, lines)) = text.rsplit_once(':') else { return Ok((What::File(Glob::new(text), None), text)) };
    let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
    let line = |text: &str| -> Result<u32, String> {
        let number = if is_number(text) { text.parse().ok() } else { None };
        number.ok_or_else(|| format!("`file:{path}:{lines}`: `{text}` is no line; write file:PATH:FIRST-LAST"))
    };
    let (first, last) = (line(first)?, line(last)?);
    if first > last {
        return Err(format!("`file:{path}:{lines}`: the last line is in front of the first"));
    }
    Ok((What::File(Glob::new(path), Some(first..=last)), path))
}

/// A selector that chooses this name, as one word, followed by `assignment`: an empty text, or an assignment as users write it, such as `=on` or `+1`.
/// Characters of the name that have a meaning in a list of selectors, in a pattern or on a terminal are replaced by `?`. So the selector also chooses
/// names that differ only in these characters.
#[must_use]
pub fn literal(name: &str, assignment: &str) -> String {
    let is_kind = ["file:", "fn:", "obj:"].iter().any(|kind| name.starts_with(kind));
    let colon = name.find(':').filter(|_| is_kind);
    // Without an assignment, the end of the name would be read as one.
    let is_assignment = assignment.is_empty() && (name.ends_with("+1") || name.ends_with("-1"));
    let sign = is_assignment.then(|| name.len() - 2);
    // A selector is not split at a `=` after its first parenthesis, if it is split at another one. So only the assignment may have such a `=`.
    let has_inner = assignment.matches('=').nth(1).is_some();
    let steers =
        |char: char| "*?,=".contains(char) || char == '(' && has_inner || char.is_whitespace() || char.is_control();
    let is_replaced = |at, char| steers(char) || Some(at) == colon || Some(at) == sign;
    let what: String = name.char_indices().map(|(at, char)| if is_replaced(at, char) { '?' } else { char }).collect();
    what + assignment
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.what {
            What::Name(glob) => f.write_str(glob.text()),
            What::File(glob, None) => write!(f, "file:{}", glob.text()),
            // With the assignment `-1`, a line such as `7` is written as `7-7`: `7-1` would be read as a range.
            What::File(glob, Some(lines))
                if lines.start() == lines.end() && self.assignment != Some(Assignment::Dec) =>
            {
                write!(f, "file:{}:{}", glob.text(), lines.start())
            }
            What::File(glob, Some(lines)) => write!(f, "file:{}:{}-{}", glob.text(), lines.start(), lines.end()),
            What::Function(glob) => write!(f, "fn:{}", glob.text()),
            What::Object(glob) => write!(f, "obj:{}", glob.text()),
        }?;
        match &self.assignment {
            None => Ok(()),
            Some(user @ (Assignment::Inc | Assignment::Dec)) => f.write_str(user.value()),
            Some(set) => write!(f, "={}", set.value()),
        }
    }
}
