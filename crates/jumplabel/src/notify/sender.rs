//! The sender of notices. It keeps the notices of a flip and, for each of them, calls the registered functions. Only programs that register
//! functions contain it.

use core::ffi::{c_int, c_void};
use core::ptr::null;

use crate::patch::MODE;
use crate::platform::notices::{NO_MEMORY, NOBODY, Notice, Notices, ROOM, Sender, TOO_DEEP};
use crate::platform::notifiers::{Notifiers, RawChanged};
use crate::platform::{Platform, platform};

pub(super) static SENDER: Sender = Sender { room, add, send, gone };

/// The number of notices for which the list has room from the beginning. A platform without sites has blocks of this size.
const FEW: usize = 32;

fn table() -> Option<(&'static dyn Platform, &'static Notifiers)> {
    let platform = platform();
    platform.notifiers().map(|notifiers| (platform, notifiers))
}

unsafe extern "C" fn room(notices: *mut Notices, more: usize) -> u32 {
    // SAFETY: the caller passes a `Notices` that only it uses.
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
    // SAFETY: the caller passes a `Notices` that only it uses.
    let notices = unsafe { &mut *notices };
    // If a function was registered after the call of `room`, there is no room, but the function need not be called.
    let mut notice = Some(Notice { of, setting }).filter(|_| notices.by != NOBODY);
    notices.list.extend(true, || notice.take());
}

unsafe extern "C" fn send(notices: *mut Notices) {
    // SAFETY: the caller passes a `Notices` that only it uses.
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
