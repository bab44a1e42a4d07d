//! Static calls as subjects: a change is the address of the new target, or 0 for the default, and so is an aim.

use super::Subject;
#[cfg(jumplabel_sites)]
use super::{Lock, OptionalKind};
use crate::call::raw::RawCall;
#[cfg(jumplabel_sites)]
use crate::call::raw::UNLOADED;
use crate::error::Error;
use crate::format::{Entry, JUMP};
use crate::site::object;
use crate::text::{Held, Objects};
#[cfg(jumplabel_sites)]
use {
    super::Own,
    super::{Found, Look},
    crate::arch::{Arch, Code, Kind, Native, State},
    crate::format::{CALL_SITE, Runtime},
    crate::patch::{Request, commit_locked},
    crate::site::index,
    core::ops::Range,
};

impl Subject for RawCall {
    fn address(&self) -> usize {
        self.address()
    }

    fn begin(&self, change: usize, held: &Held<Objects>) -> Result<Option<usize>, Error> {
        // As 0, and of a sealed call, too, because it would lead nowhere.
        #[cfg(jumplabel_sites)]
        let (change, is_sealed) = if change == UNLOADED { (0, false) } else { (change, self.is_sealed()) };
        #[cfg(not(jumplabel_sites))]
        let is_sealed = self.is_sealed();
        let address = self.function(change);
        if change == self.target() {
            return Ok(None);
        }
        if is_sealed {
            return Err(Error::Sealed);
        }
        if address != 0 && !object::is_code(address, held) {
            return Err(Error::NotCode { address });
        }
        #[cfg(jumplabel_sites)]
        {
            TRAMPOLINES.register();
            CALL_SITES.register();
            if let Some(trampoline) = trampoline(self.address(), held)? {
                self.set_default(trampoline.target());
                if trampoline.code().wrapping_sub(address) <= LANDING_PAD {
                    return Err(Error::Circular { address });
                }
            }
        }
        Ok(Some(change))
    }

    fn aim(&self) -> usize {
        self.target()
    }

    fn goal(&self, aim: usize, entry: &Entry) -> usize {
        match entry.kind() {
            _ if aim != 0 => aim,
            JUMP => entry.target(),
            _ => self.default(),
        }
    }

    /// A call that a table lists, as in the file.
    #[cfg(jumplabel_sites)]
    fn found(&self, look: &Look<'_>, code: Code) -> Option<Result<Found, usize>> {
        let own = home(look.entry)?;
        Some(look.among(code, || core::iter::once(own)))
    }

    fn expose(&self, aim: usize) {
        self.expose(aim);
    }

    fn publish(&self, _change: usize, aim: Option<usize>) {
        if let Some(target) = aim {
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
// SAFETY: what the macro emits for this kind.
static TRAMPOLINES: OptionalKind = unsafe { OptionalKind::new(JUMP, of, Kind::leads_somewhere::<Native>) };
#[cfg(jumplabel_sites)]
// SAFETY: what a tool lists as this kind.
static CALL_SITES: OptionalKind = unsafe { OptionalKind::new(CALL_SITE, of, Kind::leads_somewhere::<Native>) };

/// # Safety
/// The subject of an entry of these kinds.
#[cfg(jumplabel_sites)]
unsafe fn of(address: usize) -> &'static dyn Subject {
    // SAFETY: by the contract.
    unsafe { &*(address as *const RawCall) }
}

/// What a call that a table lists holds as in the file.
#[cfg(jumplabel_sites)]
fn home(entry: &Entry) -> Option<Own> {
    let address = entry.code().wrapping_add(entry.bytes()).wrapping_sub(Native::SIZE);
    let home = Native::displacement(address as u64, entry.target() as u64).filter(|home| *home != 0)?;
    let own = Own { state: State::CALLS, code: State::CALLS.encode::<Native>(home), goal: entry.target() };
    (entry.kind() == CALL_SITE).then_some(own)
}

/// The trampoline of the call at `call`, if anybody calls it.
#[cfg(jumplabel_sites)]
fn trampoline(call: usize, held: &Held<Objects>) -> Result<Option<&Entry>, Error> {
    for object in object::all(held) {
        let found = index::entries(object, call, held)?.iter().find(|entry| entry.kind() == JUMP);
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// Bytes from the beginning of a trampoline to its site, at the most.
#[cfg(jumplabel_sites)]
const LANDING_PAD: usize = 4;

/// Static calls that lead into an object that goes lead to their defaults. Those of which that is refused are left as they are; nobody
/// could be told.
#[cfg(jumplabel_sites)]
pub(super) fn unload(addresses: &Range<usize>, lock: &mut Lock) {
    let mut refused = 0;
    // Few calls ever lead into another object: one after the other.
    while let Some(call) = leading_into(addresses, refused, &lock.objects) {
        refused += usize::from(commit_locked(&mut [Request::new(call, UNLOADED)], lock).is_err());
    }
}

/// The next one behind so many.
#[cfg(jumplabel_sites)]
fn leading_into(addresses: &Range<usize>, behind: usize, held: &Held<Objects>) -> Option<&'static RawCall> {
    let entries = object::runtimes(held).flat_map(Runtime::objects).flat_map(|object| index::sound(object, held));
    // SAFETY: what the macro emits, and the index looked at, in an object that is loaded.
    let call =
        |(entry, address): (&Entry, usize)| (entry.kind() == JUMP).then(|| unsafe { &*(address as *const RawCall) });
    entries.filter_map(call).filter(|call| addresses.contains(&call.target())).nth(behind)
}
