//! Where `lock` prefixes are sites: the keys of all objects that have some, changed together.

use core::sync::atomic::Ordering;

use crate::error::Error;
use crate::format::{LOCKED, Object, PREFIX};
use crate::key::count::Change;
use crate::patch::{self, Lock, Outcome};
use crate::site::object;

pub(super) fn leave() -> Result<Outcome, Error> {
    // Objects that come later follow: their constructors see to it.
    if own().has(LOCKED) { Ok(Outcome::default()) } else { change(Change::Enable, &mut Lock::take()?) }
}

pub(super) fn enter() -> Result<Outcome, Error> {
    let mut lock = Lock::take()?;
    lock.demand_one_thread()?;
    change(Change::Disable, &mut lock)
}

pub(super) fn is_on() -> bool {
    !own().has(LOCKED)
}

/// The record of the object that has this copy of the library. Its flag is what this copy knows, whether the object has prefixes or not.
fn own() -> &'static Object {
    unsafe extern "C" {
        static __jumplabel_object: Object;
    }
    // SAFETY: what `load` has the assembler define. What is written there is atomic.
    unsafe { &__jumplabel_object }
}

/// In one transaction: if it is refused, no object has changed.
fn change(change: Change, lock: &mut Lock) -> Result<Outcome, Error> {
    // SAFETY: the macro emits a key for entries of this kind.
    let outcome = unsafe { patch::commit_all(|entry| entry.kind() == PREFIX, |key| key, change, lock) }?;
    let are_in = change == Change::Enable;
    for object in object::all(&lock.objects) {
        let flags = &object.flags;
        if are_in {
            flags.fetch_or(LOCKED, Ordering::Relaxed)
        } else {
            flags.fetch_and(!LOCKED, Ordering::Relaxed)
        };
    }
    Ok(outcome)
}

/// The constructor of an object with prefixes, behind that of its record: puts them in, if there are threads already, or if another
/// object has them.
#[unsafe(no_mangle)]
extern "C" fn __jumplabel_up_loaded(_: *mut Object) {
    // A kernel that has set no platform yet calls `leave` later. Nobody else loads an object in the middle of a flip.
    let Ok(mut lock) = Lock::take() else { return };
    if !object::all(&lock.objects).any(|object| object.has(LOCKED)) && lock.text().is_alone(&mut lock.platform) {
        return;
    }
    if let Err(error) = change(Change::Enable, &mut lock) {
        refused(error);
    }
}

// For this object, and no other, whether it has prefixes or not.
#[cfg(not(jumplabel_dylib))]
core::arch::global_asm!(".hidden __jumplabel_up_loaded");

/// The object's code would lose updates, and there is nobody to be told.
#[cfg(jumplabel_linux)]
#[cold]
fn refused(error: Error) -> ! {
    crate::text::abort_with(format_args!(
        "jumplabel: an object with lock prefixes was loaded, and they cannot be put in: {error}\n"
    ))
}

/// A kernel calls `leave`, too.
#[cfg(not(jumplabel_linux))]
fn refused(_: Error) {}
