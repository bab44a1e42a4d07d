//! Queries in the grammar of Linux's dynamic_debug (Documentation/admin-guide/dynamic-debug-howto.rst, "Command Language Reference").

use std::fmt;
use std::ops::RangeInclusive;

use jumplabel_selector::Glob;
use tracing_core::Level;

use crate::limit;
use crate::patched::{ALL, Place};

/// The reason why a text is not a valid query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryError(String);

impl fmt::Display for QueryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for QueryError {}

/// A query: the conditions that choose callsites, and `most`, the number of events of each chosen callsite that are shown in a second (0: none).
pub struct Query {
    conditions: Vec<Condition>,
    pub most: u32,
}

enum Condition {
    Module(Glob),
    Target(Glob),
    File(Glob),
    Name(Glob),
    Lines(RangeInclusive<u32>),
    Level(Level),
    /// The message contains this text. If the text begins with `^`, the message begins with the rest of the text.
    Format(String),
}

impl Query {
    pub fn parse(text: &str) -> Result<Query, QueryError> {
        let words = words(text)?;
        let (flags, conditions) = words.split_last().ok_or_else(|| QueryError("the query is empty".to_owned()))?;
        let shows = match flags.as_str() {
            "+p" | "=p" => true,
            "-p" | "=_" | "=" => false,
            other => return Err(QueryError(format!("`{other}` at the end of `{text}`: expected +p, =p, -p or =_"))),
        };
        let mut most = ALL;
        let mut parsed = Vec::new();
        for pair in conditions.chunks(2) {
            match pair {
                [word, value] if word == "limit" => {
                    let number = limit::parse(value).filter(|&number| number != ALL);
                    most = number.ok_or_else(|| QueryError(format!("`limit {value}`: expected a limit like 100/s")))?;
                }
                [word, value] => parsed.push(Condition::parse(word, value)?),
                _ => return Err(QueryError(format!("`{}` in `{text}` has no value", pair.concat()))),
            }
        }
        Ok(Query { conditions: parsed, most: if shows { most } else { 0 } })
    }

    pub fn matches(&self, callsite: Place) -> bool {
        self.conditions.iter().all(|condition| condition.matches(callsite))
    }
}

impl Condition {
    fn parse(word: &str, value: &str) -> Result<Condition, QueryError> {
        let pattern = Glob::new(value);
        Ok(match word {
            "module" => Condition::Module(pattern),
            "target" => Condition::Target(pattern),
            "file" => Condition::File(pattern),
            "func" => Condition::Name(pattern),
            "line" => Condition::Lines(lines(value)?),
            "level" => Condition::Level(value.parse().map_err(|_| QueryError(format!("`{value}` is no level")))?),
            "format" => Condition::Format(value.to_owned()),
            "class" => return Err(QueryError("`class`: callsites of tracing have none".to_owned())),
            other => {
                return Err(QueryError(format!(
                    "`{other}`: expected module, target, file, func, line, level, format or limit"
                )));
            }
        })
    }

    fn matches(&self, Place { meta, text }: Place) -> bool {
        match self {
            Condition::Module(pattern) => meta.module_path().is_some_and(|module| pattern.matches(module)),
            Condition::Target(pattern) => pattern.matches(meta.target()),
            // As in Linux, a pattern matches the whole path or its last components.
            Condition::File(pattern) => meta.file().is_some_and(|file| pattern.matches_path(file)),
            Condition::Name(pattern) => pattern.matches(meta.name()),
            Condition::Lines(lines) => meta.line().is_some_and(|line| lines.contains(&line)),
            Condition::Level(level) => meta.level() == level,
            // As in Linux, `^` stands for the beginning of the message.
            Condition::Format(part) => match part.strip_prefix('^') {
                Some(start) => text.starts_with(start),
                None => text.contains(part.as_str()),
            },
        }
    }
}

/// Reads a line or a range of lines: `12`, `10-20`, `10-` or `-20`.
fn lines(text: &str) -> Result<RangeInclusive<u32>, QueryError> {
    let number = |text: &str, missing: u32| {
        if text.is_empty() { Some(missing) } else { text.parse().ok() }
    };
    let lines = match text.split_once('-') {
        None => text.parse().ok().map(|line| line..=line),
        Some((first, last)) => number(first, 0).zip(number(last, u32::MAX)).map(|(first, last)| first..=last),
    };
    lines
        .filter(|lines| !lines.is_empty() && text != "-")
        .ok_or_else(|| QueryError(format!("`line {text}`: expected a number, or two with `-` between them")))
}

/// Splits a text into words at blanks. A blank between quotes is part of a word; the quotes are not.
fn words(text: &str) -> Result<Vec<String>, QueryError> {
    let (mut words, mut word, mut quoted) = (Vec::new(), None::<String>, false);
    for sign in text.chars() {
        match sign {
            '"' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            blank if blank.is_whitespace() && !quoted => words.extend(word.take()),
            other => word.get_or_insert_default().push(other),
        }
    }
    if quoted {
        return Err(QueryError(format!("`{text}`: a quote is not closed")));
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::{ALL, Query, lines, words};

    #[test]
    fn lines_of_a_file() {
        for (text, expected) in
            [("12", Some(12..=12)), ("10-20", Some(10..=20)), ("10-", Some(10..=u32::MAX)), ("-20", Some(0..=20))]
        {
            assert_eq!(lines(text).ok(), expected, "{text}");
        }
        for text in ["", "-", "20-10", "x", "1-x", "1-2-3", "4294967296"] {
            assert!(lines(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_no_query() {
        for (text, error) in [
            ("module x", "`x` at the end of `module x`: expected +p, =p, -p or =_"),
            ("module +p", "`module` in `module +p` has no value"),
            ("class x +p", "`class`: callsites of tracing have none"),
            ("modul x +p", "`modul`: expected module, target, file, func, line, level, format or limit"),
            ("level loud +p", "`loud` is no level"),
            ("limit 100 +p", "`limit 100`: expected a limit like 100/s"),
            ("file \"x +p", "`file \"x +p`: a quote is not closed"),
        ] {
            assert_eq!(Query::parse(text).err().map(|error| error.to_string()).as_deref(), Some(error));
        }
    }

    #[test]
    fn limits() {
        let most = |text| Query::parse(text).ok().map(|query| query.most);
        assert_eq!(["+p", "limit 7/s +p", "limit 7/s -p"].map(most), [Some(ALL), Some(7), Some(0)]);
    }

    #[test]
    fn words_and_quotes() {
        assert_eq!(words("a  \"b c\" d\"e f\"\t\"\"").unwrap(), ["a", "b c", "de f", ""]);
    }
}
