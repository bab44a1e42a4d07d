//! The sender of notices: it collects the notices of a flip and then, for each notice, calls the registered functions. Only programs that register
//! functions contain this code.

use core::ffi::{c_int, c_void};
use core::ptr::null;

use crate::patch::MODE;
use crate::platform::notices::{NO_MEMORY, NOBODY, Notice, Notices, ROOM, Sender, TOO_DEEP};
use crate::platform::notifiers::{Notifiers, RawChanged};
use crate::platform::{Platform, platform};

pub(super) static SENDER: Sender = Sender { room, add, send, gone };

/// The first time that the list gets memory, it gets room for at least this many notices. A platform without sites has blocks of memory of exactly
/// this size.
const FEW: usize = 32;

fn table() -> Option<(&'static dyn Platform, &'static Notifiers)> {
    let platform = platform();
    platform.notifiers().map(|notifiers| (platform, notifiers))
}

unsafe extern "C" fn room(notices: *mut Notices, more: usize) -> u32 {
    // SAFETY: the caller passes a valid `Notices` that no other code uses during the call.
    let notices = unsafe { &mut *notices };
    let Some((platform, notifiers)) = table() else { return ROOM };
    if more == 0 || notices.by == NOBODY || notifiers.is_empty() {
        return ROOM;
    }
    if notifiers.is_too_deep(platform.thread()) {
        return TOO_DEEP;
    }
    notices.list.reserve(more.max(FEW.saturating_sub(notices.list.len())), platform).map_or(NO_MEMORY, |()| ROOM)
}

unsafe extern "C" fn add(notices: *mut Notices, of: usize, setting: usize) {
    // SAFETY: the caller passes a valid `Notices` that no other code uses during the call.
    let notices = unsafe { &mut *notices };
    // If the first function was registered after the call of `room`, the list has no room. Then nothing is added, and the function need not be called
    // for this flip.
    let mut notice = Some(Notice { of, setting }).filter(|_| notices.by != NOBODY);
    notices.list.extend(true, || notice.take());
}

unsafe extern "C" fn send(notices: *mut Notices) {
    // SAFETY: the caller passes a valid `Notices` that no other code uses during the call.
    let Notices { list, by: [by, uid], .. } = unsafe { &mut *notices };
    let Some((platform, notifiers)) = table() else { return };
    if !list.is_empty() {
        notifiers.call(platform.thread(), list, |&Notice { of, setting }| {
            let address: *const c_void = core::ptr::with_exposed_provenance(of & !MODE);
            let (key, mode) = if of & MODE == 0 { (address, null()) } else { (null(), address) };
            RawChanged { key, mode, state: setting as c_int, by: *by as c_int, uid: *uid }
        });
    }
    list.free(platform);
}

unsafe extern "C" fn gone(start: usize, end: usize) {
    match table() {
        Some((_, notifiers)) if end != 0 => notifiers.unload(&(start..end)),
        Some((_, notifiers)) => notifiers.forked(),
        None => {}
    }
}
