//! Changes that the agent takes back when their time is over.
//!
//! ```text
//!   set K=on for 30        pending: in 30 s, K gets back its state, off
//!   set K=on for 60        pending: in 60 s, K gets back the state that it had before the first of these requests
//!   set K=on               nothing is pending: K stays on
//!   set K=off              nothing is pending
//!   K+1 for 30, twice      pending: two times -1
//! ```
//!
//! If something else has changed a key meanwhile, the agent leaves the key alone. The agent also leaves a key alone if the program itself has asked
//! for the state that the agent set: a change for a time is marked as lent ([`Stay`]), and any request of the program ends that mark. If the program
//! has added users of its own, they stay. The agent remembers a name beside each address, because an object may be unloaded, and another one may be
//! loaded at its place.
//!
//! If the library refuses to take a change back (a uprobe is at a site, the system forbids the writer), the change stays pending, and the agent tries
//! again every second, because the operator who asked for "30 s" may have gone by then. The log has one line for each new reason.

use std::time::{Duration, Instant};

use jumplabel::{AskedBy, Outcome, Stay};

use super::changes::Changes;
use crate::change::{self, Change, Refusal, To};
use crate::protocol::Done;
use crate::subject::{Kind, Subject};

/// The largest number of changes that can be pending.
const MOST: usize = 4096;

struct Pending {
    due: Instant,
    address: usize,
    name: String,
    set: To,
    back: To,
    /// Why the last try was refused; `None` if there was no try yet.
    refused: Option<String>,
}

/// The words that the log adds to the reason why a change could not be taken back.
pub const AGAIN: &str = "the agent tries again every second";

/// All pending changes.
#[derive(Default)]
pub struct Reverts {
    pending: Vec<Pending>,
}

impl Change<'_> {
    /// The state to set in order to take this change back.
    pub fn back(&self) -> To {
        match (&self.subject.kind, self.to) {
            (_, To::Inc) => To::Dec,
            (_, To::Dec) => To::Inc,
            (Kind::Mode(info), _) => To::Mode(info.number.into()),
            // A key that is on only until a deferred dec is due counts as off.
            (Kind::Key(_), _) => To::Key(self.subject.is_held),
            (Kind::Call(_) | Kind::Name, to) => to, // Changes never have such a subject.
        }
    }

    /// True if this changes the subject's state: the subject does not have the new state already.
    pub fn is_one(&self) -> bool {
        let shows_otherwise = |on: bool| matches!(&self.subject.kind, Kind::Key(info) if info.enabled != on);
        self.back() != self.to || matches!(self.to, To::Key(on) if shows_otherwise(on))
    }
}

impl Reverts {
    /// The time at which the agent takes back the next change. `None` if nothing is pending.
    pub fn next(&self) -> Option<Instant> {
        self.pending.iter().map(|pending| pending.due).min()
    }

    /// The number of seconds until the agent takes back the subject's change. `None` if no change of the subject is pending.
    pub fn seconds_left(&self, subject: &Subject, now: Instant) -> Option<u64> {
        self.pending.iter().filter(|pending| pending.is_of(subject)).map(|pending| pending.seconds_left(now)).min()
    }

    /// Sentences about subjects that have the new state already, but only for a time: `changes` make them keep the state for good.
    pub fn kept(&self, changes: &[Change<'_>], now: Instant) -> Vec<String> {
        let sentence = |change: &Change<'_>| {
            let &Change { subject, to } = change;
            let of = |pending: &&Pending| pending.is_of(subject) && pending.set == to;
            let pending = self.pending.iter().find(of).filter(|_| subject.is_lent && !change.is_one())?;
            let (name, state, left) = (&subject.name, subject.state(), pending.seconds_left(now));
            Some(format!("{name} stays {state}: it was to be taken back in {left} s"))
        };
        changes.iter().filter_map(sentence).collect()
    }

    /// True if `count` more changes can be pending.
    pub fn has_room(&self, count: usize) -> bool {
        self.pending.len() + count <= MOST
    }

    /// Notes changes that a client asked for. The agent takes them back at the time `due`, or never if `due` is `None`. Returns true if at least one
    /// of them is pending now.
    pub fn note(&mut self, changes: &[Change<'_>], due: Option<Instant>) -> bool {
        let mut any = false;
        for change in changes {
            let (mut back, is_one) = (change.back(), change.is_one());
            if let To::Key(_) | To::Mode(_) = change.to {
                let same =
                    |pending: &Pending| pending.is_of(change.subject) && !matches!(pending.set, To::Inc | To::Dec);
                let earlier = self.pending.iter().position(same).map(|at| self.pending.swap_remove(at));
                match earlier.filter(|_| change.subject.is_lent) {
                    Some(earlier) => back = earlier.back,
                    None if !is_one => continue,
                    None => {}
                }
            }
            let Some(due) = due.filter(|_| back != change.to) else { continue };
            let &Change { subject: &Subject { address, ref name, .. }, to: set } = change;
            self.pending.push(Pending { due, address, name: name.clone(), set, back, refused: None });
            any = true;
        }
        any
    }

    /// Lets the agent take back nothing before `until`. Called if the agent could not list the subjects.
    pub fn postpone(&mut self, until: Instant) {
        self.pending.iter_mut().for_each(|pending| pending.due = pending.due.max(until));
    }

    /// Takes back the changes that are due. Those that are refused are due again after a pause. Returns what was done, and the names that stay as
    /// they are, each with the reason. A name is left out if the last try had the same reason.
    pub fn carry_out(
        &mut self,
        all: &[Subject],
        now: Instant,
        pause: Duration,
        made: &mut Changes,
    ) -> (Vec<Done>, Vec<(String, String)>) {
        let due: Vec<Pending> = self.pending.extract_if(.., |pending| pending.due <= now).collect();
        let (mut changes, mut tried, mut kept) = (Vec::new(), Vec::new(), Vec::new());
        for pending in due {
            let found = all.iter().find(|subject| pending.is_of(subject));
            let is_counted = matches!(pending.set, To::Inc | To::Dec);
            let why = match found.map(|subject| (subject, Change { subject, to: pending.set }.is_one())) {
                None => "its object was unloaded".to_owned(),
                Some((subject, true)) if !is_counted => format!("it is {} by now", subject.state()),
                Some((subject, _)) if !subject.is_lent && !is_counted => {
                    format!("the program itself has asked for {} since", subject.state())
                }
                Some((subject, _)) => {
                    changes.push(Change { subject, to: pending.back });
                    tried.push(pending);
                    continue;
                }
            };
            kept.push((pending.name, why));
        }
        let (done, refused) = together(&changes, all, &mut |done| made.note(done, None, now));
        for (mut pending, why) in tried.into_iter().zip(refused) {
            let Some(why) = why else { continue };
            if pending.refused.as_ref() != Some(&why) {
                kept.push((pending.name.clone(), format!("{why}; {AGAIN}")));
            }
            // The pause begins now: the tries may have taken longer than it is.
            (pending.due, pending.refused) = (Instant::now() + pause, Some(why));
            self.pending.push(pending);
        }
        (done, kept)
    }
}

impl Pending {
    fn is_of(&self, subject: &Subject) -> bool {
        self.address == subject.address && self.name == subject.name
    }

    fn seconds_left(&self, now: Instant) -> u64 {
        self.due.saturating_duration_since(now).as_millis().div_ceil(1000) as u64
    }
}

/// Commits these changes, each of which takes back an earlier change. If possible, all of them are one transaction. If two of them are `+1` or `-1`
/// of the same key, which one transaction cannot contain, or if the transaction is refused, each change gets a transaction of its own, so that as
/// many as possible succeed. Calls `made` with the changes that succeed. Returns what was done, and, for each change that was refused, the reason.
fn together(
    changes: &[Change<'_>],
    all: &[Subject],
    made: &mut dyn FnMut(&[Change<'_>]),
) -> (Vec<Done>, Vec<Option<String>>) {
    let is_twice = |(at, change): (usize, &Change<'_>)| {
        changes[..at].iter().any(|other| std::ptr::eq(other.subject, change.subject))
    };
    if !changes.is_empty()
        && !changes.iter().enumerate().any(is_twice)
        && let Ok(outcome) = change::commit(changes, Some(Stay::Ends), AskedBy::Revert)
    {
        made(changes);
        return (vec![returned(changes, all, outcome)], vec![None; changes.len()]);
    }
    let (mut done, mut refused) = (Vec::new(), Vec::new());
    for change in changes.chunks(1) {
        refused.push(match change::commit(change, Some(Stay::Ends), AskedBy::Revert) {
            Ok(outcome) => {
                made(change);
                done.push(returned(change, all, outcome));
                None
            }
            Err(Refusal::Forbidden(why) | Refusal::Meaningless(why)) => Some(why),
            Err(Refusal::Nothing(selector, _)) => Some(format!("nothing matches `{selector}`")),
        });
    }
    (done, refused)
}

/// Describes a transaction that took changes back. A key that has other users stays on, and only loses one user.
fn returned(changes: &[Change<'_>], all: &[Subject], outcome: Outcome) -> Done {
    let mut done = Done::of(changes, all, Some(outcome));
    for (shown, change) in done.changes.iter_mut().zip(changes) {
        if let (Kind::Key(info), To::Key(false)) = (&change.subject.kind, change.to)
            && info.count > 1
        {
            (shown.from, shown.to) = (format!("on/{}", info.count), format!("on/{}", info.count - 1));
        }
    }
    done
}

/// The moment `seconds` after `now`. `None` if no clock can show it.
pub fn due(now: Instant, seconds: u32) -> Option<Instant> {
    now.checked_add(Duration::from_secs(seconds.into()))
}
