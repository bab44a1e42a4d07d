//! What a command prints: columns, one row a line, or JSON. Texts come from files that may be hostile: nothing that steers a terminal
//! gets through.

use std::fmt::{Display, Write};

use anstyle::{AnsiColor, Style};

use crate::target::Target;

const HEAD: Style = Style::new().bold();
const ERROR: Style = AnsiColor::Red.on_default().bold();

/// Both streams.
#[derive(Default)]
pub struct Report {
    pub out: String,
    pub err: String,
}

/// On which side of its column a text stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Left,
    Right,
}

impl Report {
    /// A line on standard output.
    pub fn line(&mut self, line: &dyn Display) {
        let _ = writeln!(self.out, "{}", visible(&line.to_string()));
    }

    /// A line on standard error.
    pub fn error(&mut self, error: &dyn Display) {
        let _ = writeln!(self.err, "{ERROR}jumplabel:{ERROR:#} {}", visible(&error.to_string()));
    }

    /// What is damaged in the target; whether anything is.
    pub fn damage(&mut self, target: &Target) -> bool {
        let sentences = target.objects.iter().flat_map(|object| &object.table.damage);
        sentences.map(|why| self.error(&format_args!("{}: damaged: {why}", target.name))).count() > 0
    }

    /// A value as one line of JSON.
    pub fn json(&mut self, value: &impl serde::Serialize) {
        self.out.push_str(&serde_json::to_string(value).unwrap_or_default());
        self.out.push('\n');
    }

    /// Rows under a heading, each column as wide as it must be. All but the last have no blanks in them.
    pub fn columns<const N: usize>(&mut self, heading: [(&str, Side); N], rows: &[[String; N]]) {
        let cell = |at: usize, text: &str| if at + 1 < N { word(text) } else { visible(text) };
        let rows: Vec<[String; N]> = rows.iter().map(|row| std::array::from_fn(|at| cell(at, &row[at]))).collect();
        let width =
            |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0).max(heading[at].0.len());
        let widths: [usize; N] = std::array::from_fn(width);
        let line = |row: [&str; N]| {
            let cells = (0..N).map(|at| match heading[at].1 {
                Side::Left => format!("{:1$}", row[at], widths[at]),
                Side::Right => format!("{:>1$}", row[at], widths[at]),
            });
            cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        };
        let _ = writeln!(self.out, "{HEAD}{}{HEAD:#}", line(heading.map(|(title, _)| title)));
        for row in &rows {
            let _ = writeln!(self.out, "{}", line(row.each_ref().map(String::as_str)));
        }
    }
}

/// Characters that steer a terminal, or turn a text around, as numbers.
fn visible(text: &str) -> String {
    let steers = |c: char| {
        c.is_control() || matches!(c, '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().fold(String::new(), |mut text, c| {
        if steers(c) {
            text.extend(c.escape_unicode())
        } else {
            text.push(c)
        };
        text
    })
}

/// The same, and blanks as numbers, too: a column is a word.
fn word(text: &str) -> String {
    if text.is_empty() { "-".into() } else { visible(text).replace(' ', "\\u{20}") }
}

#[test]
fn hostile_texts() {
    let mut report = Report::default();
    report.columns([("A", Side::Left), ("B", Side::Left)], &[["x y\u{1b}[2J".into(), "\u{202e}b c\n".into()]]);
    let plain = anstream::adapter::strip_str(&report.out).to_string();
    assert_eq!(plain.lines().last(), Some(r"x\u{20}y\u{1b}[2J  \u{202e}b c\u{a}"));
    report.error(&"\u{1b}]0;title\u{7}");
    assert_eq!(report.err.matches('\u{1b}').count(), 3, "{:?}", report.err);
}
