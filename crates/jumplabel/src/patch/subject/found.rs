//! What a site holds, what it shall hold if its subject has reached its aim, and the error if it holds neither.

use super::Subject;
use crate::arch::{Arch, Code, Kind, Leads, Native, Rewrite, State};
use crate::error::Error;
use crate::format::Entry;
use crate::patch::edit::Edit;

/// What a site may hold as its entry says.
#[derive(Clone, Copy)]
pub(crate) struct Own {
    pub(in crate::patch) state: State,
    pub(in crate::patch) code: Code,
    /// What it does then.
    pub(in crate::patch) goal: usize,
}

/// A site that holds one of its states.
#[derive(Clone, Copy)]
pub(crate) struct Found {
    pub(in crate::patch) state: State,
    /// What it shall hold.
    pub(in crate::patch) to: State,
    /// What brings it there; `None` if it is there.
    pub(in crate::patch) edit: Option<Edit>,
    /// It may stay as it is: it leads to the entry's target, which leads on to where it shall lead.
    pub(in crate::patch) can_stay: bool,
}

impl Found {
    /// What the site of `entry`, which is `subject`'s, holds, and shall hold if the subject does `aim`: in the state that the compiler emits
    /// for that if `as_emitted`. `otherwise` may know more of what it holds.
    ///
    /// # Errors
    /// The site cannot reach the aim: it holds none of its states, or has no state for the aim.
    ///
    /// # Safety
    /// The entry is from the index of an object that the lock keeps loaded.
    #[inline(never)]
    pub(in crate::patch) unsafe fn at(
        entry: &Entry,
        subject: &dyn Subject,
        aim: usize,
        as_emitted: bool,
        otherwise: fn(Kind, Code) -> Option<State>,
    ) -> Result<Self, usize> {
        let look = Look { entry, subject, aim, as_emitted, otherwise };
        // SAFETY: by the contract, the site is mapped.
        let code = unsafe { held(entry) };
        subject.found(&look, code).unwrap_or_else(|| look.at(code, [None; 2]))
    }
}

/// What the site of an entry holds.
///
/// # Safety
/// As for [`Found::at`].
#[inline(never)] // Once in a program is enough.
unsafe fn held(entry: &Entry) -> Code {
    // SAFETY: by the contract, the site is mapped.
    unsafe { Code::read(entry.kind(), entry.code(), entry.bytes()) }
}

/// What is asked of a site.
pub(crate) struct Look<'a> {
    pub(in crate::patch) entry: &'a Entry,
    subject: &'a dyn Subject,
    aim: usize,
    as_emitted: bool,
    otherwise: fn(Kind, Code) -> Option<State>,
}

impl Look<'_> {
    /// [`Found::at`] where the site holds `code`. `own`: of what it may hold beside the states of its kind, what it holds, and what it
    /// shall hold.
    #[inline(always)] // For most subjects there is nothing of that.
    pub(in crate::patch) fn at(&self, code: Code, [own, own_then]: [Option<Own>; 2]) -> Result<Found, usize> {
        let &Look { entry, subject, aim, as_emitted, otherwise } = self;
        let now = subject.aim();
        let kind = Kind::of(entry.kind()).ok_or(now)?;
        let goal = subject.goal(aim, entry);
        let then = displacement(kind, entry, goal);
        let leads_to = own.map_or_else(|| subject.goal(now, entry), |own| own.goal);
        let at = displacement(kind, entry, leads_to);
        let told = own.map_or_else(|| kind.decode::<Native>(code, at), |own| Some(own.state));
        let state = told.or_else(|| otherwise(kind, code)).ok_or(now)?;
        let mut to = own_then.map_or_else(|| state.toward::<Native>(goal, then), |own| own.state);
        if as_emitted {
            to = to.as_emitted::<Native>();
        }
        if then.is_none() && !to.leads_nowhere::<Native>() {
            return Err(aim);
        }
        let is_there = told == Some(to) && at == then;
        // To where it leads now, if what it shall hold leads nowhere: then fewer bytes change.
        let encoded = || to.encode::<Native>(then.or(at).unwrap_or_default());
        let new = || own_then.map_or_else(encoded, |own| own.code);
        let edit = || Edit { address: entry.code(), change: Rewrite { old: code, new: new() } };
        let may_leave = kind.leads::<Native>(entry.code()) == Leads::AnywhereInReach;
        Ok(Found { state, to, edit: (!is_there).then(edit), can_stay: own.is_some() && may_leave })
    }

    /// The same, where it may hold one of `all`, too.
    #[cfg(jumplabel_sites)]
    pub(in crate::patch) fn among<All: Iterator<Item = Own>>(
        &self,
        code: Code,
        all: impl Fn() -> All,
    ) -> Result<Found, usize> {
        let goal = self.subject.goal(self.aim, self.entry);
        let then = all().find(|own| own.goal == goal);
        // Several may look the same: of those, the one that it shall hold.
        let now = then.filter(|own| own.code == code).or_else(|| all().find(|own| own.code == code));
        self.at(code, [now, then])
    }
}

/// From the site of an entry to where it leads if it does `goal`. `None` if that is out of reach, or nowhere.
#[inline(never)] // Once in a program is enough.
fn displacement(kind: Kind, entry: &Entry, goal: usize) -> Option<i32> {
    // It counts from the site's end.
    let address = entry.code().wrapping_add(kind.bytes::<Native>()).wrapping_sub(Native::SIZE);
    let to = |target: usize| Native::displacement(address as u64, target as u64).filter(|_| target != 0);
    #[cfg(jumplabel_short_engine)]
    let to = |target: usize| to(target).filter(|&displacement| kind.reaches(displacement));
    match kind.leads::<Native>(entry.code()) {
        Leads::ToTarget => to(entry.target()),
        Leads::Anywhere => to(goal),
        Leads::AnywhereInReach => to(goal).or_else(|| to(entry.target())),
    }
}

/// What was found at an entry's site instead of a state of it that does what `aim` says, or why there is none.
///
/// # Safety
/// As for [`Found::at`].
#[cold]
pub(in crate::patch) unsafe fn complaint(entry: &Entry, subject: &dyn Subject, aim: usize) -> Error {
    let (address, goal) = (entry.code(), subject.goal(aim, entry));
    let expected = |kind: Kind| {
        let emitted = kind.emitted::<Native>(goal);
        let leads_nowhere = || emitted.is_some_and(|state| state.leads_nowhere::<Native>());
        let displacement = match displacement(kind, entry, goal) {
            Some(displacement) => displacement,
            None if leads_nowhere() => 0,
            None if goal == 0 && kind.leads::<Native>(address) == Leads::Anywhere => {
                return Err(Error::DamagedTable { entry: core::ptr::from_ref(entry) as usize });
            }
            None => return Err(Error::OutOfRange { address }),
        };
        let emitted = || emitted.map(|state| state.encode::<Native>(displacement));
        let own = subject.own(entry, goal);
        Ok(own.or_else(emitted).unwrap_or(Code::NONE))
    };
    match entry.known_kind().and_then(expected) {
        Err(error) => error,
        Ok(expected) => {
            // SAFETY: by the contract.
            let found = unsafe { held(entry) };
            Error::ForeignBytes { address, expected, found }
        }
    }
}
