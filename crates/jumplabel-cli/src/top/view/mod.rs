//! Draws the model.
//!
//! ```text
//!   head       the numbers of processes and keys, how often processes are asked; a line for each process in trouble
//!   table      a line for each key: columns.rs
//!   detail     more about the key under the cursor
//!   events     what has happened, the newest below
//!   message    the result of the last key on the keyboard, or what has happened since
//!   foot       the filter, and what keys on the keyboard do
//! ```

mod columns;
#[cfg(test)]
mod tests;

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Span;

use super::model::{LEAST, Model, Now, Process, State, fits};
use crate::commands::live::{self, count};
use crate::report::visible;
use columns::Columns;

/// The most lines about processes that cannot be asked, do not answer, or have a read-only agent.
const NOTES: usize = 3;

const PLAIN: Style = Style::new();
const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);
const DIM: Style = Style::new().add_modifier(Modifier::DIM);
const TROUBLE: Style = Style::new().fg(Color::Red).add_modifier(Modifier::BOLD);
const CURSOR: Style = Style::new().add_modifier(Modifier::REVERSED);

const FOOT: &str = "/ filter  blank toggle  r take back  R all of them  ? help  q quit";
const HELP: &[&str] = &[
    "up, down, PgUp, PgDn, Home, End    which line",
    "/           letters now filter by name; Enter ends that, Esc shows all again",
    "blank       a key: the other state; a mode: the next one",
    "r           takes back what operators have changed of this line; of what they",
    "            changed before this view began: a key's other state",
    "R           the same of all lines that are shown",
    "Ctrl-L      draws all again",
    "q, Ctrl-C   ends the view; keys stay as they are",
    "",
    "FLIPS/S     flips a second, of the last 10: those that the agent makes, and,",
    "            behind >=, those that two answers in a row show: there may be more",
    "SINCE, BY   by the agent; - if the program itself has set it, or nobody",
    "",
    "Any key goes back.",
];

/// Draws the whole view.
pub fn draw(frame: &mut Frame<'_>, model: &Model, now: Now) {
    let area = frame.area();
    let mut page = Page { buffer: frame.buffer_mut(), area, line: area.y, end: area.bottom() };
    if !fits((area.width, area.height)) {
        page.add(&format!("top needs {}x{}, and has {}x{}", LEAST.0, LEAST.1, area.width, area.height), TROUBLE);
        page.add("make the terminal larger; q quits", PLAIN);
        return;
    }
    let shown = model.shown();
    let head = format!(
        "jumplabel top   {}, {} of {} shown, asked every {} s",
        processes(model.processes.len()),
        shown.len(),
        count(model.number(), "key"),
        model.every.as_secs()
    );
    page.add(&head, BOLD);
    notes(&mut page, model, now);
    if model.helps {
        page.add("", PLAIN);
        HELP.iter().for_each(|line| page.add(line, PLAIN));
        return;
    }
    foot(&mut page, model);
    events(&mut page, model);
    let cursor = model.cursor(&shown);
    page.add_below(&shown.get(cursor).map_or(String::new(), |(_, entry)| detail(entry)), PLAIN);
    let columns = Columns::new(&shown, model.processes.len() > 1, usize::from(area.width));
    page.add(&format!(" {}", columns.heading()), BOLD);
    let lines = page.left();
    let first = cursor / lines.max(1) * lines;
    for (at, (of, entry)) in shown.iter().enumerate().skip(first).take(lines) {
        let process = &model.processes[*of];
        let style = match (at == cursor, &process.state) {
            (true, _) => CURSOR,
            (false, State::Connected) => PLAIN,
            _ => DIM,
        };
        let mark = if at == cursor { '>' } else { ' ' };
        page.add(&format!("{mark}{}", columns.row(process, entry, now.instant)), style);
    }
    if shown.is_empty() {
        page.add(if model.filter.is_empty() { "  no keys" } else { "  no name has that: Esc shows all" }, DIM);
    }
}

fn processes(number: usize) -> String {
    if number == 1 { "1 process".to_owned() } else { format!("{number} processes") }
}

/// Writes a line for each process that cannot be asked, does not answer, or has a read-only agent.
fn notes(page: &mut Page<'_>, model: &Model, now: Now) {
    let notes: Vec<_> = model.processes.iter().filter_map(|process| note(process, now)).collect();
    let shown = if notes.len() > NOTES { NOTES - 1 } else { NOTES };
    notes.iter().take(shown).for_each(|(text, style)| page.add(text, *style));
    if notes.len() > shown {
        page.add(&format!("and {} more", processes(notes.len() - shown)), TROUBLE);
    }
}

fn note(process: &Process, now: Now) -> Option<(String, Style)> {
    let name = &process.name;
    Some(match (&process.state, process.late(now.instant)) {
        (State::Ended(why) | State::Lost(why), _) => (format!("{name}: {why}"), TROUBLE),
        (_, Some(seconds)) => (format!("{name}: no answer for {seconds} s: is the process stopped?"), TROUBLE),
        _ if process.read_only => (format!("{name}: its agent is read-only"), DIM),
        _ => return None,
    })
}

fn detail(entry: &super::model::Entry) -> String {
    let row = &entry.row;
    let users = row.count.map(|users| count(usize::try_from(users).unwrap_or(0), "user"));
    let at = &row.declared;
    let place = (!at.file.is_empty()).then(|| format!("{}:{}", at.file, at.line));
    let (what, when) = live::notes(row);
    let back = entry.undo().is_some().then(|| "r takes it back".to_owned());
    let parts: Vec<_> =
        [Some(row.kind.clone()), users, place].into_iter().flatten().chain(what).chain(when).chain(back).collect();
    format!("{}: {}", row.key, parts.join(", "))
}

/// Writes the last two lines: the foot and, above it, the message.
fn foot(page: &mut Page<'_>, model: &Model) {
    let filter = match (model.types, &*model.filter) {
        (true, text) => format!("/{text}_  Enter ends, Esc shows all, blank toggles"),
        (false, "") => FOOT.to_owned(),
        (false, text) => format!("/{text}  Esc shows all  {}", FOOT.trim_start_matches("/ filter  ")),
    };
    page.add_below(&filter, BOLD);
    let (text, style) = model
        .message
        .as_ref()
        .map_or(("", PLAIN), |message| (&*message.text, if message.is_trouble { TROUBLE } else { PLAIN }));
    page.add_below(text, style);
}

fn events(page: &mut Page<'_>, model: &Model) {
    let number = usize::from(page.area.height / 5).max(5);
    let events: Vec<_> = model.log.last(number).collect();
    for at in (0..number).rev() {
        page.add_below(events.get(at).copied().unwrap_or_default(), PLAIN);
    }
    page.add_below(&format!("{:-<1$}", "-- events (UTC) ", usize::from(page.area.width)), DIM);
}

/// A page, which is filled from above and from below until both meet.
struct Page<'frame> {
    buffer: &'frame mut Buffer,
    area: Rect,
    line: u16,
    end: u16,
}

impl Page<'_> {
    fn left(&self) -> usize {
        usize::from(self.end.saturating_sub(self.line))
    }

    fn add(&mut self, text: &str, style: Style) {
        if self.left() > 0 {
            self.put(self.line, text, style);
            self.line += 1;
        }
    }

    fn add_below(&mut self, text: &str, style: Style) {
        if self.left() > 0 {
            self.end -= 1;
            self.put(self.end, text, style);
        }
    }

    /// Writes a line. Replaces characters that control a terminal by numbers. Text that does not fit is cut, and dots show that.
    fn put(&mut self, line: u16, text: &str, style: Style) {
        let (text, width) = (visible(text), usize::from(self.area.width));
        self.buffer.set_stringn(self.area.x, line, &text, width, style);
        if Span::raw(&*text).width() > width {
            self.buffer.set_string(self.area.right().saturating_sub(2), line, "..", style);
        }
    }
}
