//! The functions by which a program in C starts, restricts and pauses its agent.

use std::ffi::{c_char, c_int, c_void};
use std::io::{self, ErrorKind};

use jumplabel_agent::{Options, Pause, StartError};

use crate::{Lines, Log, text};

impl Lines {
    /// Reports the error to the program. Returns the error's number (errno.h) as a negative number.
    fn number(&self, error: &StartError) -> c_int {
        self.refused(error);
        -errno(error)
    }
}

fn errno(error: &StartError) -> c_int {
    match error {
        StartError::Running(_) => libc::EEXIST,
        StartError::Starting => libc::EALREADY,
        StartError::Word(_) | StartError::Name(_) | StartError::NoRemote { .. } => libc::EINVAL,
        StartError::Socket(error) => of_system(error),
        StartError::Thread(_) => libc::EAGAIN,
        StartError::Up(_) => libc::EBUSY,
        _ => libc::EIO,
    }
}

/// Returns the system's number of an error. If the error has a message of its own instead of that number, its kind decides.
fn of_system(error: &io::Error) -> c_int {
    error.raw_os_error().unwrap_or(match error.kind() {
        ErrorKind::NotFound => libc::ENOENT,
        ErrorKind::PermissionDenied => libc::EACCES,
        ErrorKind::AddrInUse => libc::EADDRINUSE,
        ErrorKind::InvalidFilename => libc::ENAMETOOLONG,
        ErrorKind::NotADirectory => libc::ENOTDIR,
        ErrorKind::ReadOnlyFilesystem => libc::EROFS,
        _ => libc::EIO,
    })
}

/// Starts the agent. `words` are its options, as in the variable `JUMPLABEL_AGENT`; null stands for no options. Returns 0 or an error.
///
/// # Safety
/// `words` is null or a string. `log` may be called with `data`, in another thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_agent_start(words: *const c_char, log: Log, data: *mut c_void) -> c_int {
    let lines = Lines { log, data };
    // SAFETY: the caller passes null or a string.
    let words = unsafe { text(words) }.unwrap_or("1".into());
    let started = Options::from_words(&words).and_then(|options| {
        let Some(options) = options else { return Ok(()) };
        let options = if log.is_some() { options.log(move |event| _ = lines.say(&event.to_string())) } else { options };
        options.start().map(drop)
    });
    started.map_or_else(|error| lines.number(&error), |()| 0)
}

/// The same as [`jumplabel_agent::no_remote`]. Returns 0 or an error.
///
/// # Safety
/// `selector` is null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_agent_no_remote(selector: *const c_char) -> c_int {
    // SAFETY: the caller passes null or a string.
    let Some(selector) = (unsafe { text(selector) }) else { return -libc::EINVAL };
    let lines = Lines { log: None, data: std::ptr::null_mut() };
    jumplabel_agent::no_remote(&selector).map_or_else(|error| lines.number(&error), |()| 0)
}

/// The same as [`jumplabel_agent::no_remote_because`]. Returns 0 or an error.
///
/// # Safety
/// Each of the two is null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_agent_no_remote_because(selector: *const c_char, reason: *const c_char) -> c_int {
    // SAFETY: the caller passes null or strings.
    let (Some(selector), Some(reason)) = (unsafe { (text(selector), text(reason)) }) else { return -libc::EINVAL };
    let lines = Lines { log: None, data: std::ptr::null_mut() };
    jumplabel_agent::no_remote_because(&selector, &reason).map_or_else(|error| lines.number(&error), |()| 0)
}

/// The header's `struct jumplabel_agent_paused`. The agent is paused until this value is dropped.
pub struct Paused {
    _pause: Pause,
}

/// The same as [`jumplabel_agent::pause`].
#[unsafe(no_mangle)]
pub extern "C" fn jumplabel_agent_pause() -> Box<Paused> {
    Box::new(Paused { _pause: jumplabel_agent::pause() })
}

/// Lets the agent continue. Does nothing if `paused` is null.
#[unsafe(no_mangle)]
pub extern "C" fn jumplabel_agent_resume(paused: Option<Box<Paused>>) {
    drop(paused);
}
