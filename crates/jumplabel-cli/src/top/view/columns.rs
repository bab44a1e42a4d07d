//! The columns of the table, and how wide they are.

use std::time::Instant;

use crate::commands::live;
use crate::report::visible;
use crate::top::model::{Entry, Process};

/// The widths of the columns that do not depend on their contents.
const SITES: usize = 5;
const FLIPS: usize = 7;
const SINCE: usize = 6;
const BY: usize = 12;
/// The blanks between two columns.
const GAP: usize = 2;
/// The blanks before the first column, for the mark of the line under the cursor.
const MARGIN: usize = 1;
/// The widths that these columns keep if the terminal is narrow.
const LEAST_STATE: usize = 6;
const LEAST_PROCESS: usize = 12;

/// The widths of the columns.
pub struct Columns {
    process: Option<usize>,
    key: usize,
    state: usize,
}

impl Columns {
    /// The widths for these entries. Names get the rest of the terminal's width.
    pub fn new(shown: &[(usize, &Entry)], several: bool, width: usize) -> Columns {
        let longest = |text: fn(&Entry) -> &str, least: usize| {
            shown.iter().map(|(_, entry)| text(entry).chars().count()).fold(least, usize::max)
        };
        let fixed = MARGIN + SITES + FLIPS + SINCE + BY + 5 * GAP;
        let mut left = width.saturating_sub(fixed);
        let process = several.then(|| {
            let process = (left / 4).max(LEAST_PROCESS);
            left = left.saturating_sub(process + GAP);
            process
        });
        let state = longest(|entry| &entry.row.state, LEAST_STATE).min((left / 4).max(LEAST_STATE));
        let key = longest(|entry| &entry.row.key, 3).min(left.saturating_sub(state));
        Columns { process, key, state }
    }

    pub fn heading(&self) -> String {
        self.line("PROCESS", ["KEY", "STATE", "SITES", "FLIPS/S", "SINCE", "BY UID/PID"])
    }

    pub fn row(&self, process: &Process, entry: &Entry, now: Instant) -> String {
        let row = &entry.row;
        let state = if row.differing > 0 { "MIXED" } else { &row.state };
        let since = row.since.map(|since| {
            let later = now.saturating_duration_since(entry.at).as_secs();
            let by = since.by.map_or("itself".to_owned(), |by| format!("{}/{}", by.uid, by.pid));
            (live::long(since.seconds.saturating_add(later)), by)
        });
        let (since, by) = since.unwrap_or_else(|| ("-".to_owned(), "-".to_owned()));
        let (sites, flips) = (row.sites.to_string(), entry.flips.rate(now));
        self.line(&process.name, [&row.key, state, &sites, &flips, &since, &by])
    }

    fn line(&self, process: &str, [key, state, sites, flips, since, by]: [&str; 6]) -> String {
        let process = self.process.map_or(String::new(), |width| format!("{:<width$}  ", end_of(process, width)));
        let (key, state) = (end_of(key, self.key), end_of(state, self.state));
        let (of_key, of_state) = (self.key, self.state);
        format!("{process}{key:<of_key$}  {state:<of_state$}  {sites:>SITES$}  {flips:>FLIPS$}  {since:>SINCE$}  {by}")
    }
}

/// The end of a text, as far as it fits: the end is what tells names apart.
fn end_of(text: &str, width: usize) -> String {
    let text = visible(text);
    let length = text.chars().count();
    if length <= width {
        return text.into_owned();
    }
    let dots = "..".chars().take(width);
    dots.chain(text.chars().skip(length - width.saturating_sub(2))).collect()
}

#[test]
fn ends() {
    assert_eq!(["", "abc", "abcd", "abcdefgh"].map(|text| end_of(text, 4)), ["", "abc", "abcd", "..gh"]);
    assert_eq!([0, 1, 2, 3].map(|width| end_of("abcdef", width)), ["", ".", "..", "..f"]);
    assert_eq!(end_of("\u{1b}[2J", 20), "\\u{1b}[2J");
}
