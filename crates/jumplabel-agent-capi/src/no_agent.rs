//! What a program in C asks of its agent, where there is none.

use std::ffi::{c_char, c_int, c_void};

use jumplabel_agent::Chooser;

use crate::{Lines, Log, text};

/// Starts no agent: an error, unless `words` ask for none.
///
/// # Safety
/// `words` is null or a string; `log` takes what `data` is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_agent_start(words: *const c_char, log: Log, data: *mut c_void) -> c_int {
    // SAFETY: the caller passes null or a string.
    let words = unsafe { text(words) }.unwrap_or("1".into());
    jumplabel_agent::start_agent(&words).map_or_else(
        |why| {
            Lines { log, data }.refused(&why);
            -libc::ENOSYS
        },
        |()| 0,
    )
}

/// Nobody changes a key by an agent: 0, or an error if the selector makes no sense.
///
/// # Safety
/// `selector` is null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_agent_no_remote(selector: *const c_char) -> c_int {
    // SAFETY: the caller passes null or a string.
    let selector = unsafe { text(selector) };
    let makes_sense = selector.is_some_and(|selector| Chooser::new(&selector).is_ok());
    if makes_sense { 0 } else { -libc::EINVAL }
}

/// The same.
///
/// # Safety
/// Both are null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_agent_no_remote_because(selector: *const c_char, reason: *const c_char) -> c_int {
    // SAFETY: the caller passes null or strings.
    if reason.is_null() { -libc::EINVAL } else { unsafe { jumplabel_agent_no_remote(selector) } }
}

/// What the header knows as `struct jumplabel_agent_paused`.
pub struct Paused;

/// There is nothing to pause.
#[unsafe(no_mangle)]
pub extern "C" fn jumplabel_agent_pause() -> Box<Paused> {
    Box::new(Paused)
}

/// There is nothing that could go on.
#[unsafe(no_mangle)]
pub extern "C" fn jumplabel_agent_resume(paused: Option<Box<Paused>>) {
    drop(paused);
}
