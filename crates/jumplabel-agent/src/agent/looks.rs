//! Looks: the agent looks for sites that something outside the library has changed, and repairs them.

use std::time::{Duration, Instant};

use jumplabel_selector::Selector;

use super::event::Event;
use super::refused::{self, Refused};
use super::verbs;
use crate::protocol::Verified;
use crate::subject::Kind;

/// The looks at all sites that the agent makes by itself. An interval lies between the end of a look and the next look.
pub struct Looks {
    interval: Option<Duration>,
    next: Option<Instant>,
    /// Why the last look failed; empty if it did not fail.
    trouble: String,
}

impl Looks {
    /// Plans a look after each interval. `None` plans none.
    pub fn every(interval: Option<Duration>) -> Looks {
        let next = interval.and_then(|interval| Instant::now().checked_add(interval));
        Looks { interval, next, trouble: String::new() }
    }

    /// The time of the next look. `None` if no look is planned.
    pub fn next(&self) -> Option<Instant> {
        self.next
    }

    /// Looks at all sites, if it is time for that. Returns an event if sites were repaired, or if the look failed; but not if the last look failed
    /// for the same reason.
    pub fn look(&mut self, now: Instant) -> Option<Event> {
        self.next.filter(|&next| next <= now)?;
        let (event, trouble) = match verify(&[]) {
            Ok(Verified { sites: 0 }) => (None, String::new()),
            Ok(Verified { sites }) => (Some(Event::Repaired { sites, by: None }), String::new()),
            Err((_, why)) => (Some(Event::Trouble(format!("some sites do not do what their keys say: {why}"))), why),
        };
        // The interval counts from the end of the look. Otherwise, if looks took longer than the interval, the agent would look without a pause.
        self.next = self.interval.and_then(|interval| Instant::now().checked_add(interval));
        let is_old = !trouble.is_empty() && trouble == self.trouble;
        self.trouble = trouble;
        event.filter(|_| !is_old)
    }
}

/// Answers `verify`: repairs the sites of the keys that the selectors choose, or all sites if there is no selector.
pub fn verify(items: &[Selector]) -> Result<Verified, Refused> {
    if items.is_empty() {
        let outcome = jumplabel::verify().map_err(|error| (4, error.to_string()))?;
        return Ok(Verified { sites: outcome.sites });
    }
    let all = refused::all()?;
    let (mut sites, mut other) = (0, None);
    let mut looked_at = false;
    for subject in verbs::chosen(&all, items)? {
        match subject.kind {
            Kind::Key(info) => {
                let outcome = info.key.verify().map_err(|error| (4, format!("{}: {error}", subject.name)))?;
                sites += outcome.sites;
                looked_at = true;
            }
            _ => other = Some(subject),
        }
    }
    match other {
        Some(subject) if !looked_at => {
            let (name, word) = (&subject.name, subject.word());
            Err((2, format!("{name} is a {word}: verify looks at keys, or, without a selector, at everything")))
        }
        _ => Ok(Verified { sites }),
    }
}

/// The interval begins at the end of a look, however long the look has taken.
#[test]
fn pause_after_each_look() {
    let interval = Duration::from_secs(3600);
    let begun = Instant::now();
    let mut looks = Looks { interval: Some(interval), next: Some(begun), trouble: String::new() };
    std::thread::sleep(Duration::from_millis(20)); // The look takes this long.
    let later = Instant::now();
    assert!(looks.look(begun).is_none());
    assert!(looks.next().is_some_and(|next| next >= later + interval));
    assert!(looks.look(later).is_none() && looks.next().is_some_and(|next| next >= later + interval));
}
