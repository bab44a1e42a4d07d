//! Static calls as subjects: a change is the address of the new target, or 0 for the default, and so is an aim.

use super::Subject;
#[cfg(jumplabel_sites)]
use super::{Lock, Rarer};
use crate::call::raw::RawCall;
use crate::error::Error;
use crate::format::Entry;
use crate::site::object;
use crate::text::{Held, Objects};
#[cfg(jumplabel_sites)]
use {
    crate::arch::{Kind, Native},
    crate::format::{JUMP, Runtime},
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
        CALLS.know();
        Ok(Some(change))
    }

    fn aim(&self) -> usize {
        self.target()
    }

    fn goal(&self, aim: usize, entry: &Entry) -> usize {
        if aim != 0 {
            return aim;
        }
        self.set_default(entry.target());
        entry.target()
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
static CALLS: Rarer =
    unsafe { Rarer::new(JUMP, |address| &*(address as *const RawCall), Kind::leads_somewhere::<Native>) };

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
