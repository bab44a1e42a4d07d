//! The actions of keys on the keyboard.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use jumplabel_selector::Selector;

use super::{Action, Entry, Model, Now};

/// The number of lines that a page key moves.
const PAGE: isize = 10;
/// The most letters of a filter.
const LONGEST: usize = 64;

impl Model {
    /// Acts on a key on the keyboard.
    pub fn pressed(&mut self, key: KeyEvent, now: Now) -> Vec<Action> {
        if key.kind == KeyEventKind::Release {
            return Vec::new();
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        self.has_begun |= self.is_seen;
        match key.code {
            KeyCode::Char('c') if control => return vec![Action::End],
            KeyCode::Char('q') if !self.is_seen => return vec![Action::End],
            // While the user cannot see the lines, no other key on the keyboard does anything.
            _ if !self.is_seen => {}
            KeyCode::Char('l') if control => return vec![Action::Redraw],
            KeyCode::Char('u') if control && self.types => self.filter.clear(),
            KeyCode::Char(_) if control || key.modifiers.contains(KeyModifiers::ALT) => {}
            // Any key ends the help, and does nothing else.
            _ if self.helps => self.helps = false,
            KeyCode::Up => self.step(-1),
            KeyCode::Down => self.step(1),
            KeyCode::PageUp => self.step(-PAGE),
            KeyCode::PageDown => self.step(PAGE),
            KeyCode::Home => self.step(isize::MIN),
            KeyCode::End => self.step(isize::MAX),
            KeyCode::Char(' ') => return self.toggle(now),
            KeyCode::Esc => {
                self.types = false;
                self.filter.clear();
                self.step(0);
            }
            KeyCode::Enter => self.types = false,
            KeyCode::Backspace if self.types => {
                self.filter.pop();
                self.step(0);
            }
            KeyCode::Char(letter) if self.types => self.typed(&letter.to_string()),
            KeyCode::Char('/') => self.types = true,
            KeyCode::Char('r') => return self.take_back(now),
            KeyCode::Char('R') => return self.take_all_back(now),
            KeyCode::Char('?' | 'h') => self.helps = true,
            KeyCode::Char('q') => return vec![Action::End],
            _ => {}
        }
        Vec::new()
    }

    /// Takes pasted text. It goes only to the filter, and never toggles anything.
    pub fn pasted(&mut self, text: &str) {
        if self.types && self.is_seen {
            self.typed(text);
        }
    }

    fn typed(&mut self, text: &str) {
        let letters = text.chars().filter(|letter| !letter.is_whitespace() && !letter.is_control());
        self.filter.extend(letters.flat_map(char::to_lowercase));
        self.filter = self.filter.chars().take(LONGEST).collect();
        self.step(0);
    }

    /// The process of the selected line, and an item for that line. If the selected entry has gone, the user has not chosen the entry that is now in
    /// its place. Then this function selects that entry, and returns the reason why no process is asked.
    fn chosen(
        &mut self,
        what: &str,
        of: impl FnOnce(&Entry) -> Result<Selector, String>,
    ) -> Result<(usize, Selector), String> {
        let shown = self.shown();
        match (self.place(&shown), &self.selected) {
            (Some(place), _) => {
                let (at, entry) = shown[place];
                Ok((at, of(entry)?))
            }
            (None, None) => Err(format!("there is nothing to {what}")),
            (None, Some((_, key, _))) => {
                let why = format!("{key} is not there any more: nothing was asked");
                self.step(0);
                Err(why)
            }
        }
    }

    /// Asks for the next state of the entry under the cursor.
    fn toggle(&mut self, now: Now) -> Vec<Action> {
        let next = self.chosen("toggle", |entry| entry.next().map_err(|why| format!("{} {why}", entry.row.key)));
        match next {
            Ok((at, item)) => self.set(at, vec![item], false, now),
            Err(why) => self.refuse(why),
        }
    }

    /// Asks to take back what operators have changed in the entry under the cursor.
    fn take_back(&mut self, now: Now) -> Vec<Action> {
        let undo = self.chosen("take back", |entry| {
            let never = || format!("{}: no operator has changed it, as far as this view has seen", entry.row.key);
            entry.undo().cloned().ok_or_else(never)
        });
        match undo {
            Ok((at, item)) => self.set(at, vec![item], true, now),
            Err(why) => self.refuse(why),
        }
    }

    /// [`take_back`](Self::take_back) for all shown entries. Each process gets one change, and another one for its fail points, because one change
    /// cannot have both fail points and keys.
    fn take_all_back(&mut self, now: Now) -> Vec<Action> {
        let mut changes: Vec<(usize, bool, Vec<Selector>)> = Vec::new();
        for (at, entry) in self.shown() {
            let Some(item) = entry.undo() else { continue };
            let is_point = entry.row.kind == "name";
            match changes.iter_mut().find(|(of, points, _)| *of == at && *points == is_point) {
                Some((.., items)) => items.push(item.clone()),
                None => changes.push((at, is_point, vec![item.clone()])),
            }
        }
        if changes.is_empty() {
            return self.refuse("no operator has changed what is shown, as far as this view has seen".to_owned());
        }
        let deaf = changes.iter().find_map(|(at, ..)| self.deaf(*at, now));
        if let Some(why) = deaf {
            return self.refuse(why);
        }
        changes.into_iter().flat_map(|(at, _, items)| self.ask(at, items, true, now)).collect()
    }

    fn set(&mut self, at: usize, items: Vec<Selector>, takes_back: bool, now: Now) -> Vec<Action> {
        match self.deaf(at, now) {
            Some(why) => self.refuse(why),
            None => self.ask(at, items, takes_back, now),
        }
    }

    /// The reason why a process is asked nothing now.
    fn deaf(&self, at: usize, now: Now) -> Option<String> {
        let process = &self.processes[at];
        Some(format!("{}: nothing was asked: {}", process.name, process.is_deaf(now.instant)?))
    }

    fn ask(&mut self, at: usize, items: Vec<Selector>, takes_back: bool, now: Now) -> Vec<Action> {
        self.message = None;
        let requests = self.processes[at].set(items, takes_back, now.instant, self.every);
        requests.into_iter().map(|request| Action::Ask(at, request)).collect()
    }
}
