//! The engine: notes what has changed, and calls the functions of the table. Only programs that register functions have it.

use core::ffi::{c_int, c_void};
use core::ptr::null;

use crate::patch::MODE;
use crate::platform::notifiers::{Notifiers, RawChanged};
use crate::platform::telling::{Engine, NO_MEMORY, NOBODY, Noted, ROOM, TOO_DEEP, Telling};
use crate::platform::{Platform, platform};

pub(super) static ENGINE: Engine = Engine { room, note, tell, gone };

/// Room for this many is asked for from the beginning: a platform without sites has blocks of that size to give.
const FEW: usize = 32;

fn table() -> Option<(&'static dyn Platform, &'static Notifiers)> {
    let platform = platform();
    platform.notifiers().map(|notifiers| (platform, notifiers))
}

unsafe extern "C" fn room(telling: *mut Telling, more: usize) -> u32 {
    // SAFETY: the caller has a `Telling` of its own.
    let telling = unsafe { &mut *telling };
    let Some((platform, notifiers)) = table() else { return ROOM };
    if more == 0 || telling.by == NOBODY || notifiers.is_empty() {
        return ROOM;
    }
    if notifiers.is_too_deep(platform.thread()) {
        return TOO_DEEP;
    }
    telling.noted.reserve(more.max(FEW.saturating_sub(telling.noted.len())), platform).map_or(NO_MEMORY, |()| ROOM)
}

unsafe extern "C" fn note(telling: *mut Telling, heard: usize, setting: usize) {
    // SAFETY: the caller has a `Telling` of its own.
    let telling = unsafe { &mut *telling };
    // If a function was registered since `room` was called, there is no room, and nobody has to be told.
    let mut noted = Some(Noted { heard, setting }).filter(|_| telling.by != NOBODY);
    telling.noted.extend(true, || noted.take());
}

unsafe extern "C" fn tell(telling: *mut Telling) {
    // SAFETY: the caller has a `Telling` of its own.
    let Telling { noted, by: [by, uid], .. } = unsafe { &mut *telling };
    let Some((platform, notifiers)) = table() else { return };
    if !noted.is_empty() {
        notifiers.tell(platform.thread(), noted, |&Noted { heard, setting }| {
            let address: *const c_void = core::ptr::with_exposed_provenance(heard & !MODE);
            let (key, mode) = if heard & MODE == 0 { (address, null()) } else { (null(), address) };
            RawChanged { key, mode, state: setting as c_int, by: *by as c_int, uid: *uid }
        });
    }
    noted.free(platform);
}

unsafe extern "C" fn gone(start: usize, end: usize) {
    match table() {
        Some((_, notifiers)) if end != 0 => notifiers.unload(&(start..end)),
        Some((_, notifiers)) => notifiers.forked(),
        None => {}
    }
}
