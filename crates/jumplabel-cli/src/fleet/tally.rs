//! The results of a wish in the processes that it is for.

use serde::{Deserialize, Serialize};

use super::worker::Outcome;

/// The most processes that a text names.
const NAMED: usize = 10;

/// The numbers of processes that carried a wish out and of processes without such a key, and the names of the other processes.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    pub done: usize,
    /// The number of processes that have no such key.
    pub without: usize,
    /// The processes that have not answered yet.
    pub late: Vec<String>,
    /// The processes that refused the wish, each with its reason.
    pub refused: Vec<(String, String)>,
}

impl Tally {
    pub fn of(answers: impl Iterator<Item = (String, Option<Outcome>)>) -> Tally {
        let mut tally = Tally::default();
        for (id, answer) in answers {
            match answer {
                Some(Outcome::Done) => tally.done += 1,
                Some(Outcome::Nothing) => tally.without += 1,
                Some(Outcome::Refused(why)) => tally.refused.push((id, why)),
                Some(Outcome::Gone) => {}
                None => tally.late.push(id),
            }
        }
        tally
    }

    /// Adds the tally of another host. Each name of a process gets the name of its host.
    pub fn add(&mut self, host: &str, other: Tally) {
        self.done = self.done.saturating_add(other.done);
        self.without = self.without.saturating_add(other.without);
        self.late.extend(other.late.into_iter().map(|id| format!("{id} on {host}")));
        self.refused.extend(other.refused.into_iter().map(|(id, why)| (format!("{id} on {host}"), why)));
    }

    /// The number of processes that were asked and still exist.
    pub fn asked(&self) -> usize {
        self.done + self.without + self.late.len() + self.refused.len()
    }

    /// The number of processes that carried the wish out, as text: `200` if all did, otherwise `197 of 200`.
    pub fn count(&self) -> String {
        let (done, asked) = (self.done, self.asked());
        if done == asked { asked.to_string() } else { format!("{done} of {asked}") }
    }

    /// The processes that did not carry the wish out, with their reasons, after a semicolon. Empty if there are none.
    pub fn others(&self) -> String {
        let mut text = String::new();
        if !self.late.is_empty() {
            text += &format!("; no answer yet from {}", list(self.late.iter().cloned()));
        }
        if !self.refused.is_empty() {
            let refused = self.refused.iter().map(|(id, why)| format!("{id} ({why})"));
            text += &format!("; refused by {}", list(refused));
        }
        text
    }
}

/// The first few names, and how many more there are.
fn list(names: impl ExactSizeIterator<Item = String>) -> String {
    let more = names.len().saturating_sub(NAMED);
    let text = names.take(NAMED).collect::<Vec<_>>().join(", ");
    if more == 0 { text } else { format!("{text} and {more} more") }
}

#[test]
fn counts() {
    let id = |number: usize| format!("web.{number}");
    let all = |count| (0..count).map(|number| (id(number), Some(Outcome::Done)));
    assert_eq!((Tally::of(all(3)).count(), Tally::of(all(3)).others()), ("3".to_owned(), String::new()));
    let others = [(id(7), None), (id(8), Some(Outcome::Refused("why".to_owned()))), (id(9), Some(Outcome::Nothing))];
    let tally = Tally::of(all(3).chain(others));
    assert_eq!(tally.count(), "3 of 6");
    assert_eq!(tally.others(), "; no answer yet from web.7; refused by web.8 (why)");
    let many = Tally::of((0..12).map(|number| (id(number), None)));
    assert!(many.others().ends_with("web.9 and 2 more"));
}
