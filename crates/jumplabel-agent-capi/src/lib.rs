//! The agent for C and C++, for programs that ask for it. Its header is `jumplabel/agent.h` of jumplabel-capi.
//!
//! ```text
//!   program ──► libjumplabel.so or .a     its keys, in the program's own instance of the library
//!      └──────► libjumplabel-agent.so     another instance, which flips and lists them all the same: instances find each other
//!
//!   program ──► libjumplabel-agent.a      in place of libjumplabel.a: all of that, and the agent, in one instance
//! ```
//!
//! These libraries are separate from libjumplabel, so a program without an agent contains no code for a thread, a socket or a parser.

#![cfg(target_os = "linux")]

mod archive;

#[cfg(feature = "capi")]
extern crate jumplabel_capi as _;

use std::ffi::{CStr, c_char, c_int, c_void};
use std::io::{self, ErrorKind};

use jumplabel::platform::RawChanged;
use jumplabel_agent::{Chooser, Options, Pause, StartError};

/// `jumplabel_agent_log_fn`: it gets a line, and the pointer that the program gave.
type Log = Option<unsafe extern "C" fn(*const c_char, *mut c_void)>;

/// The receiver of lines: a function of the program, or standard error.
#[derive(Clone, Copy)]
struct Lines {
    log: Log,
    data: *mut c_void,
}

// SAFETY: the header warns that another thread calls the function, so the program gives a function and data that bear it.
unsafe impl Send for Lines {}
// SAFETY: one thread at a time calls the function: the agent's, or the caller's if no agent starts.
unsafe impl Sync for Lines {}

impl Lines {
    /// Gives a line to the program's function. False if there is no such function.
    fn say(&self, line: &str) -> bool {
        let Some(log) = self.log else { return false };
        let line = std::ffi::CString::new(line.replace('\0', "?")).unwrap_or_default();
        // SAFETY: `line` lives as long as the call. `data` is what the program gave with `log`, as the header demands.
        unsafe { log(line.as_ptr(), self.data) };
        true
    }

    /// Reports an error to the program, and returns its number.
    fn refused(&self, error: &StartError) -> c_int {
        let line = format!("no agent: {error}");
        if !self.say(&line) {
            eprintln!("jumplabel: {line}");
        }
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

/// The system's number of an error. A message in front of the error has taken the number away; then the kind decides.
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

/// # Safety
/// Null or a string.
unsafe fn text<'a>(text: *const c_char) -> Option<std::borrow::Cow<'a, str>> {
    // SAFETY: the caller passes null or a string.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy())
}

/// [`jumplabel_agent::startup()`].
#[unsafe(no_mangle)]
pub extern "C" fn jumplabel_startup() {
    jumplabel_agent::startup();
}

/// Starts the agent with options in the words of `JUMPLABEL_AGENT`; 0 or an error.
///
/// # Safety
/// `words` is null or a string; `log` accepts `data`, in another thread.
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
    started.map_or_else(|error| lines.refused(&error), |()| 0)
}

/// [`jumplabel_agent::no_remote`]; 0 or an error.
///
/// # Safety
/// `selector` is null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_agent_no_remote(selector: *const c_char) -> c_int {
    // SAFETY: the caller passes null or a string.
    let Some(selector) = (unsafe { text(selector) }) else { return -libc::EINVAL };
    let lines = Lines { log: None, data: std::ptr::null_mut() };
    jumplabel_agent::no_remote(&selector).map_or_else(|error| lines.refused(&error), |()| 0)
}

/// [`jumplabel_agent::no_remote_because`]; 0 or an error.
///
/// # Safety
/// Both are null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_agent_no_remote_because(selector: *const c_char, reason: *const c_char) -> c_int {
    // SAFETY: the caller passes null or strings.
    let (Some(selector), Some(reason)) = (unsafe { (text(selector), text(reason)) }) else { return -libc::EINVAL };
    let lines = Lines { log: None, data: std::ptr::null_mut() };
    jumplabel_agent::no_remote_because(&selector, &reason).map_or_else(|error| lines.refused(&error), |()| 0)
}

/// `jumplabel_agent_changed_fn`: it gets a name, a change, and the pointer that the program gave.
type Told = unsafe extern "C" fn(*const c_char, *const RawChanged, *mut c_void);

/// The registration that [`jumplabel_agent_on_change`] makes.
struct Hearing {
    chooser: Chooser,
    told: Told,
    data: *mut c_void,
}

/// # Safety
/// `hearing` is a [`Hearing`] that is never freed, and `changed` lives as long as the call.
unsafe extern "C" fn hear(changed: *const RawChanged, hearing: *mut c_void) {
    // SAFETY: the caller passes a change that lives as long as the call, and a `Hearing` that is never freed.
    let (change, Hearing { chooser, told, data }) = unsafe { (&*changed, &*hearing.cast::<Hearing>()) };
    let address = if change.key.is_null() { change.mode } else { change.key };
    if let Some(name) = chooser.name(address as usize) {
        let name = std::ffi::CString::new(name.replace('\0', "?")).unwrap_or_default();
        // SAFETY: `name` lives as long as the call. `data` is what the program gave with `told`, as the header demands.
        unsafe { told(name.as_ptr(), changed, *data) };
    }
}

/// [`jumplabel_agent::on_change`]: a number for `jumplabel_on_change_remove`, or an error.
///
/// # Safety
/// `selector` is null or a string; any thread that flips may call `told` with `data`, until it is removed and no call runs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_agent_on_change(
    selector: *const c_char,
    told: Option<Told>,
    data: *mut c_void,
) -> c_int {
    // SAFETY: the caller passes null or a string.
    let (Some(selector), Some(told)) = (unsafe { text(selector) }, told) else { return -libc::EINVAL };
    let Ok(chooser) = Chooser::new(&selector) else { return -libc::EINVAL };
    let hearing = Box::into_raw(Box::new(Hearing { chooser, told, data }));
    // SAFETY: the caller guarantees that any thread may call `told`. The `Hearing` around it is never freed, once it is registered.
    match unsafe { jumplabel::on_change_raw(0, hear, hearing.cast()) } {
        Ok(number) => number as c_int,
        // The library's table has no place for it.
        Err(_) => {
            // SAFETY: `hearing` comes from `Box::into_raw`, and was not registered, so nobody else knows it.
            drop(unsafe { Box::from_raw(hearing) });
            -libc::ENOMEM
        }
    }
}

/// [`jumplabel_agent::serve`]; 0 or an error.
///
/// # Safety
/// `layer` is null or comes from the layer's own function, and it lives as long as the process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_agent_serve(layer: *const c_void) -> c_int {
    // SAFETY: the caller passes null or a layer of some build of this repository.
    match unsafe { jumplabel_layer::Handle::from_c(layer) } {
        None => -libc::EINVAL,
        Some(layer) => jumplabel_agent::serve(layer).map_or(-libc::EEXIST, |()| 0),
    }
}

/// `struct jumplabel_agent_paused` of the header.
pub struct Paused {
    _pause: Pause,
}

/// [`jumplabel_agent::pause`].
#[unsafe(no_mangle)]
pub extern "C" fn jumplabel_agent_pause() -> Box<Paused> {
    Box::new(Paused { _pause: jumplabel_agent::pause() })
}

/// Lets the agent go on.
#[unsafe(no_mangle)]
pub extern "C" fn jumplabel_agent_resume(paused: Option<Box<Paused>>) {
    drop(paused);
}
