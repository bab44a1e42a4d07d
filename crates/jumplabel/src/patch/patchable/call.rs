//! Static calls as patchables. The number of a change is the address of the new target, or 0 for the default. The number `UNLOADED` also leads the
//! call to its default, even if the call is sealed. The setting is the address of the present target, or 0 for the default.

#[cfg(jumplabel_sites)]
use super::OptionalKind;
use super::{Effect, Patchable};
use crate::error::Error;
use crate::format::{Entry, JUMP};
use crate::platform::{Held, Objects};
use crate::raw::call::RawCall;
#[cfg(jumplabel_sites)]
use crate::raw::call::UNLOADED;
use crate::site::object;
#[cfg(jumplabel_sites)]
use {
    super::Literal,
    super::{Comparison, Wanted},
    crate::arch::{Arch, Code, Kind, Native, State},
    crate::format::CALL_SITE,
    crate::patch::Request,
    crate::site::index,
    core::ops::Range,
};

impl Patchable for RawCall {
    fn address(&self) -> usize {
        self.address()
    }

    fn begin(&self, change: usize, held: &Held<Objects>) -> Result<Effect, Error> {
        // `UNLOADED` leads the call to its default (0), even if the call is sealed, because otherwise the call would lead into unloaded code.
        #[cfg(jumplabel_sites)]
        let (change, is_sealed) = if change == UNLOADED { (0, false) } else { (change, self.is_sealed()) };
        #[cfg(not(jumplabel_sites))]
        let is_sealed = self.is_sealed();
        let address = self.function(change);
        let is_new = change != self.target();
        if is_new && is_sealed {
            return Err(Error::Sealed);
        }
        if is_new && address != 0 && !object::is_code(address, held) {
            return Err(Error::NotCode { address });
        }
        #[cfg(jumplabel_sites)]
        {
            know();
            if let Some(trampoline) = trampoline(self.address(), held)? {
                self.set_default(trampoline.target());
                if is_new && trampoline.code().wrapping_sub(address) <= LANDING_PAD {
                    return Err(Error::Circular { address });
                }
            }
        }
        Ok(if is_new { Effect::New(change) } else { Effect::Same(change) })
    }

    fn setting(&self) -> usize {
        self.target()
    }

    fn action(&self, setting: usize, entry: &Entry) -> usize {
        match entry.kind() {
            _ if setting != 0 => setting,
            JUMP => entry.target(),
            _ => self.default(),
        }
    }

    #[cfg(jumplabel_sites)]
    fn compare(&self, wanted: &Wanted<'_>, code: Code) -> Result<Comparison, usize> {
        if wanted.entry.kind() == CALL_SITE { compare_listed(wanted, code) } else { wanted.compare_states(code) }
    }

    /// The compiler emits a trampoline that leads to the default. `jumplabel link` makes a call that leads straight to the default.
    fn emitted(&self, entry: &Entry, number: usize) -> Option<usize> {
        let default = if entry.kind() == JUMP { entry.target() } else { self.default() };
        (number == 0 && default != 0).then_some(default)
    }

    fn expose(&self, setting: usize) {
        self.expose(setting);
    }

    fn publish(&self, _change: usize, setting: Option<usize>) {
        if let Some(target) = setting {
            self.publish(target);
        }
    }

    fn abandon(&self) {
        self.expose(self.target());
    }

    fn is_eventual(&self) -> bool {
        self.is_eventual()
    }

    fn set_eventual(&self, eventual: bool) {
        self.set_eventual(eventual);
    }
}

#[cfg(jumplabel_sites)]
// SAFETY: the macro leads the entries of this kind to a `RawCall`, and `of` takes a `RawCall`.
static TRAMPOLINES: OptionalKind = unsafe { OptionalKind::new(JUMP, of, Kind::leads_somewhere::<Native>) };
#[cfg(jumplabel_sites)]
// SAFETY: a tool leads the entries of this kind to a `RawCall`, and `of` takes a `RawCall`.
static CALL_SITES: OptionalKind = unsafe { OptionalKind::new(CALL_SITE, of, Kind::leads_somewhere::<Native>) };

/// Registers the optional kinds `JUMP` (trampolines) and `CALL_SITE` (listed calls), so that [`of`](super::of) finds the patchables of static calls.
#[cfg(jumplabel_sites)]
pub(super) fn know() {
    TRAMPOLINES.register();
    CALL_SITES.register();
}

/// Stores in each static call the address of its default. (Apart from this function, only an update stores that address.) The library needs the
/// default to compare a listed call that `jumplabel link` has led straight there.
#[cfg(jumplabel_sites)]
pub(super) fn know_defaults(held: &Held<Objects>) {
    for (entry, address) in index::all_sound(held).filter(|(entry, _)| entry.kind() == JUMP) {
        // SAFETY: the macro leads such an entry to a `RawCall`, and the index found the entry sound. Its object is loaded.
        let call = unsafe { &*(address as *const RawCall) };
        // A store of the same value is avoided, because a sealed call may lie in read-only memory.
        if call.default() != entry.target() {
            call.set_default(entry.target());
        }
    }
}

/// # Safety
/// `address` is the address of the patchable of a trampoline or of a listed call.
#[cfg(jumplabel_sites)]
unsafe fn of(address: usize) -> &'static dyn Patchable {
    // SAFETY: the caller passes the address of the patchable of a trampoline or of a listed call, which is a `RawCall`.
    unsafe { &*(address as *const RawCall) }
}

/// Compares a listed call. Such a site can hold one literal: a call of the trampoline.
#[cfg(jumplabel_sites)]
#[inline(never)] // Not in `compare`, because it needs much of the stack.
fn compare_listed(wanted: &Wanted<'_>, code: Code) -> Result<Comparison, usize> {
    // No listed call can be torn. On x86, the four bytes of a call that change lie on one page, and so do those of a trampoline.
    wanted.compare_among(code, || home(wanted.entry).into_iter(), None)
}

/// The bytes that the compiler emitted for a listed call: a call of the trampoline. `None` if the trampoline is out of reach.
#[cfg(jumplabel_sites)]
fn home(entry: &Entry) -> Option<Literal> {
    let address = entry.code().wrapping_add(entry.bytes()).wrapping_sub(Native::SIZE);
    let home = Native::displacement(address as u64, entry.target() as u64).filter(|home| *home != 0)?;
    Some(Literal { state: State::CALLS, code: State::CALLS.encode::<Native>(home), action: entry.target() })
}

/// The entry of the trampoline of the static call at address `call`. `None` if no object has that trampoline, because no code calls it. Called
/// in a transaction.
#[cfg(jumplabel_sites)]
fn trampoline(call: usize, held: &Held<Objects>) -> Result<Option<&Entry>, Error> {
    for object in object::all(held) {
        let found = index::entries_behind(&mut 0, object, call, held)?.iter().find(|entry| entry.kind() == JUMP);
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// The largest number of bytes between the start of a trampoline and its site: the length of an `endbr64`.
#[cfg(jumplabel_sites)]
const LANDING_PAD: usize = 4;

/// A request that leads a static call to its default. The call is one that leads into `addresses`: if there are several, the one after the first
/// `skipped`. `None` if there is no such call.
#[cfg(jumplabel_sites)]
pub(in crate::patch) fn go_home(
    addresses: &Range<usize>,
    skipped: usize,
    held: &Held<Objects>,
) -> Option<Request<'static>> {
    // SAFETY: the macro leads such an entry to a `RawCall`, and the index found the entry sound. Its object is loaded.
    let call =
        |(entry, address): (&Entry, usize)| (entry.kind() == JUMP).then(|| unsafe { &*(address as *const RawCall) });
    index::all_sound(held)
        .filter_map(call)
        .filter(|call| addresses.contains(&call.target()))
        .nth(skipped)
        .map(|call| Request::new(call, UNLOADED))
}
