//! Compares the bytes that a site holds now with the bytes that the site must hold for a setting of its patchable. If the site is in none of its
//! states, the result is an error.

use super::Patchable;
use crate::arch::{Arch, Code, CodeChange, Kind, Leads, Native, State, read_one};
use crate::error::Error;
use crate::format::Entry;
use crate::patch::site_change::SiteChange;
use crate::site::front;

/// Bytes that a site can hold besides those of the states of its kind: an instruction of the program, or a call as it was compiled. The site's
/// entry says where these bytes are.
#[derive(Clone, Copy)]
pub(crate) struct Literal {
    pub(in crate::patch) state: State,
    pub(in crate::patch) code: Code,
    /// The action of a site that holds these bytes.
    pub(in crate::patch) action: usize,
}

/// The result of a comparison, for a site that is in one of its states.
#[derive(Clone, Copy)]
pub(crate) struct Comparison {
    pub(in crate::patch) holds: State,
    /// The state that the site must hold.
    pub(in crate::patch) wanted: State,
    /// The change from the present bytes to those of `wanted`. `None` if nothing has to change.
    pub(in crate::patch) change: Option<SiteChange>,
    /// Whether the site already does the wanted action, but by a longer way: the site leads to the entry's target, which leads on to the right place.
    /// The target is a trampoline or, at a check that can load, the stub that loads.
    pub(in crate::patch) can_stay: bool,
    /// Whether the site, in the wanted state, leads to the entry's target, because a jump does not reach the place itself.
    pub(in crate::patch) leads_on: bool,
}

impl Comparison {
    /// Compares the bytes of the site of `entry` with the bytes that the site must hold for `setting` of `patchable`. If `as_emitted` is true, the
    /// site must hold the state that the compiler emits for that setting. If the site is in none of its states, `otherwise` can still name a state
    /// for its bytes.
    ///
    /// # Errors
    /// The setting that the site does not fit. This is the patchable's present setting if the site is in none of its states, and `setting` if the
    /// site has no state for `setting`.
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
        if unsafe { front::foreign_byte(entry) }.is_some() {
            return Err(patchable.setting());
        }
        // SAFETY: the caller passes an entry from the index, and the lock keeps its object loaded.
        let code = unsafe { read(entry) };
        patchable.compare(&wanted, code)
    }
}

/// An argument `otherwise` for [`Comparison::at`] that never names a state.
pub(in crate::patch) fn nothing(_: Kind, _: Code) -> Option<State> {
    None
}

/// The bytes that the site of an entry holds now.
///
/// # Safety
/// The contract of [`Comparison::at`].
#[inline(never)]
unsafe fn read(entry: &Entry) -> Code {
    // SAFETY: the caller passes an entry from the index, and the lock keeps its object loaded.
    unsafe { read_one(entry.kind(), entry.code(), entry.bytes()) }
}

/// The arguments of [`Comparison::at`], which say what a site must hold.
pub(crate) struct Wanted<'a> {
    pub(in crate::patch) entry: &'a Entry,
    patchable: &'a dyn Patchable,
    setting: usize,
    as_emitted: bool,
    otherwise: fn(Kind, Code) -> Option<State>,
}

impl Wanted<'_> {
    /// The comparison of a site that holds `code`. `literal` is the literal that the site holds now, and `literal_then` is the literal that it must
    /// hold. Each is `None` if these bytes are not a literal.
    #[inline(always)] // Most patchables have no literals, so most of this code goes away.
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
            // Something outside the library may have restored the bytes of the file. These bytes lead to the action that the compiler chose. So the
            // loop tries each action that the compiler may have chosen.
            match actions.next().and_then(|number| patchable.emitted(entry, number)) {
                Some(action) => leads_to = action,
                None => break (None, at),
            }
        };
        let state = told.or_else(|| otherwise(kind, code)).or_else(|| torn(kind, entry, code)).ok_or(now)?;
        let mut to = literal_then.map_or_else(|| state.toward::<Native>(action, then), |literal| literal.state);
        if as_emitted {
            to = to.as_emitted::<Native>();
        }
        let is_nowhere = to.leads_nowhere::<Native>();
        if then.is_none() && !is_nowhere {
            return Err(setting);
        }
        let is_there = told == Some(to) && (at == then || is_nowhere);
        // If the wanted state leads nowhere, the displacement stays as it is, so that fewer bytes change.
        let encoded = || to.encode::<Native>(if is_nowhere { at.or(then) } else { then }.unwrap_or_default());
        let new = || literal_then.map_or_else(encoded, |literal| literal.code);
        let change = || SiteChange { address: entry.code(), code: CodeChange { old: code, new: new() } };
        let change = (!is_there).then(change);
        let (mut can_stay, mut leads_on) = (false, false);
        if kind.leads::<Native>(entry.code()) == Leads::AnywhereInReach {
            let home = displacement(kind, entry, entry.target());
            can_stay = told.is_some_and(|told| !told.leads_nowhere::<Native>()) && at == home;
            leads_on = !is_nowhere && then == home;
        }
        Ok(Comparison { holds: state, wanted: to, change, can_stay, leads_on })
    }

    /// Like [`compare`](Self::compare), for a site that holds no literal, and must hold none. This is a function of its own, because it needs much of
    /// the stack.
    #[inline(never)]
    pub(in crate::patch) fn compare_states(&self, code: Code) -> Result<Comparison, usize> {
        self.compare(code, [None; 2])
    }

    /// Like [`compare`](Self::compare), for a site that holds `torn`, and must hold no literal.
    #[cfg(jumplabel_sites)]
    #[cold]
    #[inline(never)]
    pub(in crate::patch) fn compare_torn(&self, code: Code, torn: Option<Literal>) -> Result<Comparison, usize> {
        self.compare(code, [torn, None])
    }

    /// Like [`compare`](Self::compare), for a site that can also hold `torn` or one of the literals in `all`.
    #[cfg(jumplabel_sites)]
    pub(in crate::patch) fn compare_among<All: Iterator<Item = Literal>>(
        &self,
        code: Code,
        all: impl Fn() -> All,
        torn: Option<Literal>,
    ) -> Result<Comparison, usize> {
        let action = self.patchable.action(self.setting, self.entry);
        let then = all().find(|literal| literal.action == action);
        // Several literals can have the same bytes. If the literal that the site must hold is among them, the site counts as holding that one.
        let now = then.filter(|literal| literal.code == code).or_else(|| all().find(|literal| literal.code == code));
        let now = now.or(torn);
        self.compare(code, [now, then])
    }
}

/// The displacement from the site of `entry` to the place where the site leads if it does `action`. `None` if that place is out of reach, or if the
/// action is 0 for a site that leads to its action.
#[inline(never)]
pub(super) fn displacement(kind: Kind, entry: &Entry, action: usize) -> Option<i32> {
    // A displacement counts from the site's end, but `Native` counts it from the end of a site of the usual size.
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

/// The state of a check that can load, if the site is torn: the site lies across two pages, and one of them has the bytes of the file again.
/// Otherwise `None`. (For other checks, torn is one of the states of their kind.)
#[cold]
#[inline(never)]
fn torn(kind: Kind, entry: &Entry, code: Code) -> Option<State> {
    if Native::SINGLE_STORE {
        return None;
    }
    let to = |address| displacement(kind, entry, address);
    entry.loads().then(|| State::torn_loading::<Native>(code, to(entry.target()), to(entry.arm_address())))?
}

/// The error for a site that does not fit `setting`, as [`Comparison::at`] found. Either the site is in none of its states, or no state of its kind
/// does what `setting` asks for.
///
/// # Safety
/// The contract of [`Comparison::at`].
#[cold]
pub(in crate::patch) unsafe fn complaint(entry: &Entry, patchable: &dyn Patchable, setting: usize) -> Error {
    // SAFETY: the caller passes an entry from the index, and the lock keeps its object loaded.
    if let Some(error) = unsafe { front::complaint(entry) } {
        return error;
    }
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
