//! Static calls as subjects: a change is the address of the new target, or 0 for the default, and so is an aim.

use super::Subject;
#[cfg(jumplabel_sites)]
use super::{Lock, Rarer};
use crate::call::raw::RawCall;
use crate::error::Error;
use crate::format::{Entry, JUMP};
use crate::site::object;
use crate::text::{Held, Objects};
#[cfg(jumplabel_sites)]
use {
    crate::arch::{Kind, Native},
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
        let address = self.function(change);
        if change == self.target() {
            return Ok(None);
        }
        if self.is_sealed() {
            return Err(Error::Sealed);
        }
        if address != 0 && !object::is_code(address, held) {
            return Err(Error::NotCode { address });
        }
        #[cfg(jumplabel_sites)]
        {
            TRAMPOLINES.know();
            CALL_SITES.know();
            if self.default() == 0 {
                self.set_default(default_of(self.address(), held)?);
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
static TRAMPOLINES: Rarer = unsafe { Rarer::new(JUMP, of, Kind::leads_somewhere::<Native>) };
#[cfg(jumplabel_sites)]
// SAFETY: what a tool lists as this kind.
static CALL_SITES: Rarer = unsafe { Rarer::new(CALL_SITE, of, Kind::leads_somewhere::<Native>) };

/// # Safety
/// The subject of an entry of these kinds.
#[cfg(jumplabel_sites)]
unsafe fn of(address: usize) -> &'static dyn Subject {
    // SAFETY: by the contract.
    unsafe { &*(address as *const RawCall) }
}

/// The default of the call at `call`: where its trampoline leads at first; 0 if there is none.
#[cfg(jumplabel_sites)]
fn default_of(call: usize, held: &Held<Objects>) -> Result<usize, Error> {
    for object in object::all(held) {
        let trampoline = index::entries(object, call, held)?.iter().find(|entry| entry.kind() == JUMP);
        if let Some(entry) = trampoline {
            return Ok(entry.target());
        }
    }
    Ok(0)
}

/// Static calls that lead into an object that goes lead to their defaults. If that is refused, the rest of them is left as it is; nobody
/// could be told.
#[cfg(jumplabel_sites)]
pub(super) fn unload(addresses: &Range<usize>, lock: &mut Lock) {
    // Few calls ever lead into another object: one after the other.
    while let Some(call) = leading_into(addresses, &lock.objects) {
        if commit_locked(&mut [Request::new(call, 0)], lock).is_err() {
            return;
        }
    }
}

#[cfg(jumplabel_sites)]
fn leading_into(addresses: &Range<usize>, held: &Held<Objects>) -> Option<&'static RawCall> {
    object::runtimes(held).flat_map(Runtime::objects).find_map(|object| {
        let calls = index::sound(object, held).filter(|(entry, _)| entry.kind() == JUMP);
        // SAFETY: what the macro emits, and the index looked at, in an object that is loaded.
        let mut calls = calls.map(|(_, address)| unsafe { &*(address as *const RawCall) });
        calls.find(|call| addresses.contains(&call.target()))
    })
}
