//! Finds the changes that selectors ask for, and carries them out in one transaction.

use jumplabel::{AskedBy, Error, Outcome, RawChange, Stay};
use jumplabel_selector::{Assignment, Selector};

use crate::subject::{Kind, Subject};
use crate::tracepoints::{self, Part};

/// A subject, and the state that it shall get.
#[derive(Clone, Copy)]
pub struct Change<'all> {
    pub subject: &'all Subject,
    pub to: To,
}

/// The state that a key or a mode shall get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum To {
    Key(bool),
    Inc,
    Dec,
    Mode(usize),
}

/// The reason why nothing was changed.
#[derive(Debug)]
pub enum Refusal {
    /// An item makes no sense, or does not fit the subjects that it chooses. The text says why.
    Meaningless(String),
    /// Nothing matches this selector. The text is the suggestion that [`Subject::meant`] makes.
    Nothing(Selector, String),
    /// The program, the system, or the state of a key forbids the change. The text says why.
    Forbidden(String),
}

impl To {
    /// This state as an assignment, which can be appended to a selector.
    pub fn assignment(self) -> String {
        match self {
            To::Key(true) => "=on".to_owned(),
            To::Key(false) => "=off".to_owned(),
            To::Inc => "+1".to_owned(),
            To::Dec => "-1".to_owned(),
            To::Mode(number) => format!("={number}"),
        }
    }
}

impl Change<'_> {
    /// The subject's state after the change, as the tool prints it.
    pub fn state(&self) -> String {
        let word = |on: bool| if on { "on" } else { "off" }.to_owned();
        match (&self.subject.kind, self.to) {
            (Kind::Mode(info), To::Mode(number)) => format!("{number}/{}", info.arms),
            (Kind::Key(info), To::Dec) => word(info.count > 1),
            (_, To::Inc) => word(true),
            (_, To::Key(on)) => word(on),
            (_, to) => to.assignment(), // `target` returns no other combination.
        }
    }
}

/// The changes that the items ask for. If several items choose the same subject, the last one counts; but `+1` and `-1` cannot be combined with any
/// other change of the subject.
pub fn choose<'all>(all: &'all [Subject], items: &[Selector]) -> Result<Vec<Change<'all>>, Refusal> {
    let (mut tos, parts) = (vec![None; all.len()], Subject::parts(all));
    for item in items {
        for (at, to) in chosen_by(all, &parts, item)? {
            if tos[at].is_some_and(|earlier| counts(earlier) || counts(to)) {
                return Err(Refusal::Meaningless(format!("{} is chosen twice: say +1 or -1 of it once", all[at].name)));
            }
            tos[at] = Some(to);
        }
    }
    Ok(all.iter().zip(tos).filter_map(|(subject, to)| Some(Change { subject, to: to? })).collect())
}

fn counts(to: To) -> bool {
    matches!(to, To::Inc | To::Dec)
}

/// The subjects that one item chooses, as indices into `all`, and the state that each shall get.
fn chosen_by(all: &[Subject], parts: &[Part], item: &Selector) -> Result<Vec<(usize, To)>, Refusal> {
    let meaningless = |why: &str| Refusal::Meaningless(why.to_owned());
    let what = "say what it is to be: =on, =off, +1, -1, or =NUMBER for a mode";
    let assignment = item.assignment.as_ref().ok_or_else(|| meaningless(what))?;
    let (mut chosen, mut unfit) = (Vec::new(), None);
    for (at, subject) in all.iter().enumerate() {
        if !subject.is(&item.what).map_err(meaningless)? {
            continue;
        }
        let can_be = match target(subject, assignment) {
            Ok(to) if counts(to) && parts[at] == Part::Key => Err(tracepoints::NOT_COUNTED.to_owned()),
            can_be => can_be,
        };
        match can_be {
            Ok(to) => chosen.push((at, to)),
            Err(why) => unfit = Some(format!("{} {why}", subject.name)),
        }
    }
    // If some of the matching subjects can have the state, those that cannot are left out.
    match unfit {
        _ if !chosen.is_empty() => Ok(chosen),
        Some(why) => Err(Refusal::Meaningless(why)),
        None => Err(Refusal::Nothing(item.clone(), Subject::meant(all, item))),
    }
}

/// The state that the assignment asks for. An error says why the subject cannot have it, as the end of a sentence that begins with the subject's
/// name.
fn target(subject: &Subject, assignment: &Assignment) -> Result<To, String> {
    if let Some(why) = subject.forbids() {
        return Err(why);
    }
    match (&subject.kind, assignment) {
        (Kind::Call(_), _) => {
            Err("is a static call: only the program can lead it elsewhere, by StaticCall::update".to_owned())
        }
        (Kind::Name, _) => Err("has no key".to_owned()), // Not reached: `forbids` has returned a reason.
        (Kind::Key(_), Assignment::Target(_)) => Err("is a key: it can be =on or =off, +1 or -1".to_owned()),
        (Kind::Key(_), Assignment::On) => Ok(To::Key(true)),
        (Kind::Key(_), Assignment::Off) => Ok(To::Key(false)),
        (Kind::Key(_), Assignment::Inc) => Ok(To::Inc),
        (Kind::Key(_), Assignment::Dec) => Ok(To::Dec),
        (Kind::Mode(info), assignment) => match number(assignment) {
            Some(mode) if mode < usize::from(info.arms) => Ok(To::Mode(mode)),
            _ => Err(format!("is a mode: it can be a number from =0 to ={}", info.arms.saturating_sub(1))),
        },
    }
}

/// The number of the mode for which an assignment asks. `None` if the assignment is not a number.
fn number(assignment: &Assignment) -> Option<usize> {
    match assignment {
        Assignment::Target(target) if target.bytes().all(|byte| byte.is_ascii_digit()) => target.parse().ok(),
        _ => None,
    }
}

/// Carries out all changes in one transaction, or none. If the changes are made for a time, `stay` says whether this is the beginning or the end of
/// that time. `by` is who asked for the changes; functions that are called after flips get it.
pub fn commit(changes: &[Change<'_>], stay: Option<Stay>, by: AskedBy) -> Result<Outcome, Refusal> {
    let raw = changes.iter().filter_map(|change| match (&change.subject.kind, change.to) {
        (Kind::Key(info), To::Key(on)) => {
            Some(stay.map_or(RawChange::Key(info.key, on), |stay| RawChange::For(stay, info.key, on)))
        }
        (Kind::Key(info), To::Inc) => Some(RawChange::Inc(info.key)),
        (Kind::Key(info), To::Dec) => Some(RawChange::Dec(info.key)),
        (Kind::Mode(info), To::Mode(number)) => {
            Some(stay.map_or(RawChange::Mode(info.mode, number), |stay| RawChange::ModeFor(stay, info.mode, number)))
        }
        _ => None, // `target` returns no other combination.
    });
    // SAFETY: `commit_all_by` has conditions only for changes of static calls. All changes here are of keys and modes.
    unsafe { jumplabel::commit_all_by(by, raw.map(Ok)) }.map_err(|error: Error| {
        Refusal::Forbidden(match changes {
            [change] => format!("{}: {error}", change.subject.name),
            _ => format!("none of these {} keys is set: {error}", changes.len()),
        })
    })
}
