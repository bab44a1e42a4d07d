//! The output of a command: text in columns, or JSON. Texts come from files that may be hostile, so characters that control a terminal are replaced.

use std::borrow::Cow;
use std::fmt::{Display, Write};
use std::time::{Duration, SystemTime};

use anstyle::{AnsiColor, Style};

use crate::target::Target;

const HEAD: Style = Style::new().bold();
const ERROR: Style = AnsiColor::Red.on_default().bold();

/// The most sentences about damage that are printed one by one.
const DAMAGE: usize = 10;

/// The text for standard output and for standard error.
#[derive(Default)]
pub struct Report {
    pub out: String,
    pub err: String,
}

/// A time that a peer sends, in seconds since 1970. A time that is too early or too late to be printed becomes the first or the last that can be
/// printed.
pub fn time(seconds: f64) -> SystemTime {
    // The last second of the year 9999: a time is written with four digits for the year.
    const LAST: f64 = 253_402_300_799.0;
    let since = Duration::try_from_secs_f64(seconds.min(LAST)).unwrap_or_default();
    SystemTime::UNIX_EPOCH.checked_add(since).unwrap_or(SystemTime::UNIX_EPOCH)
}

/// The side on which the texts of a column are aligned.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Left,
    Right,
}

impl Report {
    /// Prints a line on standard output.
    pub fn line(&mut self, line: &dyn Display) {
        let _ = writeln!(self.out, "{}", visible(&line.to_string()));
    }

    /// Prints a line on standard error.
    pub fn error(&mut self, error: &dyn Display) {
        let _ = writeln!(self.err, "{ERROR}jumplabel:{ERROR:#} {}", visible(&error.to_string()));
    }

    /// Reports what is damaged in the target. Returns whether anything is.
    pub fn damage(&mut self, target: &Target) -> bool {
        let sentences = target.objects.iter().flat_map(|object| &object.table.damage);
        let (mut count, name) = (0_usize, &target.name);
        for why in sentences {
            if count < DAMAGE {
                self.error(&format_args!("{name}: damaged: {why}"));
            }
            count += 1;
        }
        if count > DAMAGE {
            self.error(&format_args!("{name}: damaged in {} more places", count - DAMAGE));
        }
        count > 0
    }

    /// Prints a value as one line of JSON.
    pub fn json(&mut self, value: &impl serde::Serialize) {
        self.out.push_str(&serde_json::to_string(value).unwrap_or_default());
        self.out.push('\n');
    }

    /// Prints rows under a heading, with each column as wide as its longest text. In all columns but the last, blanks are escaped.
    pub fn columns<const N: usize>(&mut self, heading: [(&str, Side); N], mut rows: Vec<[Cow<'_, str>; N]>) {
        let mut widths = heading.map(|(title, _)| title.len());
        for row in &mut rows {
            for (at, (cell, width)) in row.iter_mut().zip(&mut widths).enumerate() {
                let plain = if at + 1 < N { word(cell) } else { visible(cell) };
                if let Cow::Owned(plain) = plain {
                    *cell = plain.into();
                }
                *width = cell.chars().count().max(*width);
            }
        }
        self.out.push_str(&HEAD.to_string());
        self.row(heading, heading.map(|(title, _)| title), widths, &HEAD.render_reset().to_string());
        for row in &rows {
            self.row(heading, row.each_ref().map(|cell| &**cell), widths, "");
        }
    }

    fn row<const N: usize>(&mut self, heading: [(&str, Side); N], row: [&str; N], widths: [usize; N], behind: &str) {
        for (at, (text, width)) in row.into_iter().zip(widths).enumerate() {
            self.out.push_str(if at == 0 { "" } else { "  " });
            let blanks = width - text.chars().count();
            let is_left = heading[at].1 == Side::Left;
            self.out.extend(std::iter::repeat_n(' ', if is_left { 0 } else { blanks }));
            self.out.push_str(text);
            self.out.extend(std::iter::repeat_n(' ', if is_left && at + 1 < N { blanks } else { 0 }));
        }
        self.out.push_str(behind);
        self.out.push('\n');
    }
}

/// Replaces characters by their numbers if they control a terminal or change the direction of text.
pub fn visible(text: &str) -> Cow<'_, str> {
    let steers = |c: char| {
        c.is_control() || matches!(c, '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if !text.contains(steers) {
        return text.into();
    }
    let mut plain = String::new();
    for c in text.chars() {
        if steers(c) {
            plain.extend(c.escape_unicode())
        } else {
            plain.push(c)
        };
    }
    plain.into()
}

/// [`visible`] for a column that must be one word: escapes blanks, too, and an empty text becomes `-`.
fn word(text: &str) -> Cow<'_, str> {
    match visible(text) {
        Cow::Borrowed("") => Cow::Owned("-".into()),
        plain if plain.contains(' ') => plain.replace(' ', "\\u{20}").into(),
        plain => plain,
    }
}

#[test]
fn hostile_texts() {
    let mut report = Report::default();
    report.columns([("A", Side::Left), ("B", Side::Left)], vec![["x y\u{1b}[2J".into(), "\u{202e}b c\n".into()]]);
    let plain = anstream::adapter::strip_str(&report.out).to_string();
    assert_eq!(plain.lines().last(), Some(r"x\u{20}y\u{1b}[2J  \u{202e}b c\u{a}"));
    report.error(&"\u{1b}]0;title\u{7}");
    assert_eq!(report.err.matches('\u{1b}').count(), 3, "{:?}", report.err);
}
