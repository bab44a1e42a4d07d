//! The same functions as in agent.rs, on systems without an agent.

use std::ffi::{c_char, c_int, c_void};

use jumplabel_agent::Chooser;

use crate::{Lines, Log, text};

/// Starts no agent. Returns an error, unless `words` say that there shall be no agent.
///
/// # Safety
/// `words` is null or a string. `log` may be called with `data`.
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

/// Restricts nothing, because no agent changes keys. Returns 0, or an error if the selector is not valid.
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

/// The same as [`jumplabel_agent_no_remote`].
///
/// # Safety
/// Each of the two is null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_agent_no_remote_because(selector: *const c_char, reason: *const c_char) -> c_int {
    // SAFETY: the caller passes null or strings.
    if reason.is_null() { -libc::EINVAL } else { unsafe { jumplabel_agent_no_remote(selector) } }
}

/// The header's `struct jumplabel_agent_paused`.
pub struct Paused;

/// Does nothing: there is no agent to pause.
#[unsafe(no_mangle)]
pub extern "C" fn jumplabel_agent_pause() -> Box<Paused> {
    Box::new(Paused)
}

/// Does nothing: there is no agent to continue.
#[unsafe(no_mangle)]
pub extern "C" fn jumplabel_agent_resume(paused: Option<Box<Paused>>) {
    drop(paused);
}
