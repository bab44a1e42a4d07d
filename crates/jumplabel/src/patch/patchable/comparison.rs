//! Compares what a site holds with what it shall hold for a setting of its patchable. If it holds none of its states, there is an error.

use super::Patchable;
use crate::arch::{Arch, Code, CodeChange, Kind, Leads, Native, State, read_code};
use crate::error::Error;
use crate::format::Entry;
use crate::patch::site_change::SiteChange;

/// Bytes that a site may hold beside the states of its kind, and that its entry leads to: an instruction of the program's, a call as it was
/// compiled.
#[derive(Clone, Copy)]
pub(crate) struct Literal {
    pub(in crate::patch) state: State,
    pub(in crate::patch) code: Code,
    /// What the site does if it holds them.
    pub(in crate::patch) action: usize,
}

/// A site that holds one of its states, compared with what it shall hold.
#[derive(Clone, Copy)]
pub(crate) struct Comparison {
    pub(in crate::patch) holds: State,
    /// What it shall hold.
    pub(in crate::patch) wanted: State,
    /// The change to that; `None` if it holds that.
    pub(in crate::patch) change: Option<SiteChange>,
    /// It may stay as it is: it leads to the entry's target, which leads on to where it shall lead.
    pub(in crate::patch) can_stay: bool,
}

impl Comparison {
    /// Compares the site of `entry`, which is `patchable`'s, with what it shall hold for `setting`: the state that the compiler emits for
    /// that, if `as_emitted`. `otherwise` may know more of what it holds.
    ///
    /// # Errors
    /// The setting that the site does not fit: it holds none of its states, or has no state for the setting.
    ///
    /// # Safety
    /// The entry is from the index of an object that the lock keeps loaded.
    #[inline(never)]
    pub(in crate::patch) unsafe fn at(
        entry: &Entry,
        patchable: &dyn Patchable,
        setting: usize,
        as_emitted: bool,
        otherwise: fn(Kind, Code) -> Option<State>,
    ) -> Result<Self, usize> {
        let wanted = Wanted { entry, patchable, setting, as_emitted, otherwise };
        // SAFETY: the caller passes an entry from the index, and the lock keeps its object loaded.
        let code = unsafe { read(entry) };
        patchable.compare(&wanted, code).unwrap_or_else(|| wanted.compare(code, [None; 2]))
    }
}

/// For [`Comparison::at`]: nothing more is known of what a site holds.
pub(in crate::patch) fn nothing(_: Kind, _: Code) -> Option<State> {
    None
}

/// What the site of an entry holds.
///
/// # Safety
/// As for [`Comparison::at`].
#[inline(never)]
unsafe fn read(entry: &Entry) -> Code {
    // SAFETY: the caller passes an entry from the index, and the lock keeps its object loaded.
    unsafe { read_code(entry.kind(), entry.code(), entry.bytes()) }
}

/// What is wanted of a site.
pub(crate) struct Wanted<'a> {
    pub(in crate::patch) entry: &'a Entry,
    patchable: &'a dyn Patchable,
    setting: usize,
    as_emitted: bool,
    otherwise: fn(Kind, Code) -> Option<State>,
}

impl Wanted<'_> {
    /// [`Comparison::at`] where the site holds `code`. The literals: the one that it holds, and the one that it shall hold.
    #[inline(always)] // For most patchables there is nothing of that.
    pub(in crate::patch) fn compare(
        &self,
        code: Code,
        [literal, literal_then]: [Option<Literal>; 2],
    ) -> Result<Comparison, usize> {
        let &Wanted { entry, patchable, setting, as_emitted, otherwise } = self;
        let now = patchable.setting();
        let kind = Kind::of(entry.kind()).ok_or(now)?;
        let action = patchable.action(setting, entry);
        let then = displacement(kind, entry, action);
        let mut actions = 0..;
        let mut leads_to = literal.map_or_else(|| patchable.action(now, entry), |literal| literal.action);
        let (told, at) = loop {
            let at = displacement(kind, entry, leads_to);
            let told = literal.map_or_else(|| kind.decode::<Native>(code, at), |literal| Some(literal.state));
            if told.is_some() {
                break (told, at);
            }
            // Something outside the library may have put the file's bytes back.
            match actions.next().and_then(|number| patchable.emitted(entry, number)) {
                Some(action) => leads_to = action,
                None => break (None, at),
            }
        };
        let state = told.or_else(|| otherwise(kind, code)).ok_or(now)?;
        let mut to = literal_then.map_or_else(|| state.toward::<Native>(action, then), |literal| literal.state);
        if as_emitted {
            to = to.as_emitted::<Native>();
        }
        if then.is_none() && !to.leads_nowhere::<Native>() {
            return Err(setting);
        }
        let is_there = told == Some(to) && at == then;
        // To where it leads now, if what it shall hold leads nowhere: then fewer bytes change.
        let encoded = || to.encode::<Native>(then.or(at).unwrap_or_default());
        let new = || literal_then.map_or_else(encoded, |literal| literal.code);
        let change = || SiteChange { address: entry.code(), code: CodeChange { old: code, new: new() } };
        let may_leave = kind.leads::<Native>(entry.code()) == Leads::AnywhereInReach;
        Ok(Comparison {
            holds: state,
            wanted: to,
            change: (!is_there).then(change),
            can_stay: literal.is_some() && may_leave,
        })
    }

    /// The same, where the site may hold one of `all`, or `torn`, too.
    #[cfg(jumplabel_sites)]
    pub(in crate::patch) fn compare_among<All: Iterator<Item = Literal>>(
        &self,
        code: Code,
        all: impl Fn() -> All,
        torn: Option<Literal>,
    ) -> Result<Comparison, usize> {
        let action = self.patchable.action(self.setting, self.entry);
        let then = all().find(|literal| literal.action == action);
        // Several may look the same: of those, the one that it shall hold.
        let now = then.filter(|literal| literal.code == code).or_else(|| all().find(|literal| literal.code == code));
        let now = now.or(torn);
        self.compare(code, [now, then])
    }
}

/// From the site of an entry to where it leads if it does `action`. `None` if that is out of reach, or nowhere.
#[inline(never)]
pub(super) fn displacement(kind: Kind, entry: &Entry, action: usize) -> Option<i32> {
    // It counts from the site's end.
    let address = entry.code().wrapping_add(kind.bytes::<Native>()).wrapping_sub(Native::SIZE);
    let to = |target: usize| Native::displacement(address as u64, target as u64).filter(|_| target != 0);
    #[cfg(jumplabel_short_engine)]
    let to = |target: usize| to(target).filter(|&displacement| kind.reaches(displacement));
    match kind.leads::<Native>(entry.code()) {
        Leads::ToTarget => to(entry.target()),
        Leads::Anywhere => to(action),
        Leads::AnywhereInReach => to(action).or_else(|| to(entry.target())),
    }
}

/// The error of an entry whose site holds no state that does what `setting` says, or has none.
///
/// # Safety
/// As for [`Comparison::at`].
#[cold]
pub(in crate::patch) unsafe fn complaint(entry: &Entry, patchable: &dyn Patchable, setting: usize) -> Error {
    let (address, action) = (entry.code(), patchable.action(setting, entry));
    let expected = |kind: Kind| {
        let emitted = kind.emitted::<Native>(action);
        let leads_nowhere = || emitted.is_some_and(|state| state.leads_nowhere::<Native>());
        let displacement = match displacement(kind, entry, action) {
            Some(displacement) => displacement,
            None if leads_nowhere() => 0,
            None if action == 0 && kind.leads::<Native>(address) == Leads::Anywhere => {
                return Err(Error::DamagedTable { entry: core::ptr::from_ref(entry) as usize });
            }
            None => return Err(Error::OutOfRange { address }),
        };
        let emitted = || emitted.map(|state| state.encode::<Native>(displacement));
        let literal = patchable.literal(entry, action);
        Ok(literal.or_else(emitted).unwrap_or(Code::NONE))
    };
    match entry.known_kind().and_then(expected) {
        Err(error) => error,
        Ok(expected) => {
            // SAFETY: the caller passes an entry from the index, and the lock keeps its object loaded.
            let found = unsafe { read(entry) };
            Error::ForeignBytes { address, expected, found }
        }
    }
}
