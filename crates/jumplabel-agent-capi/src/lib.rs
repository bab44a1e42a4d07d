//! The agent for programs in C and C++. Its header is `jumplabel/agent.h` of jumplabel-capi.
//!
//! ```text
//!   program ──► libjumplabel.so or .a     its keys belong to the program's own instance of the library
//!      └──────► libjumplabel-agent.so     another instance: it finds the first one, so it can list and flip the program's keys
//!
//!   program ──► libjumplabel-agent.a      replaces libjumplabel.a: contains it and the agent, as one instance
//! ```
//!
//! These libraries are separate from libjumplabel, so a program without an agent contains no code for a thread, a socket or a parser. On Windows
//! there is only a static library, which reads `JUMPLABEL` and has no agent.

#![cfg(any(target_os = "linux", windows))]

#[cfg_attr(windows, path = "no_agent.rs")]
pub mod agent;
mod archive;

#[cfg(feature = "capi")]
extern crate jumplabel_capi as _;

use std::ffi::{CStr, c_char, c_int, c_void};
use std::fmt::Display;

use jumplabel::platform::RawChanged;
use jumplabel_agent::Chooser;

/// The header's type `jumplabel_agent_log_fn`: a function that gets a line, and the pointer that the program passed.
type Log = Option<unsafe extern "C" fn(*const c_char, *mut c_void)>;

/// The receiver of lines: a function of the program, or standard error.
#[derive(Clone, Copy)]
struct Lines {
    log: Log,
    data: *mut c_void,
}

// SAFETY: the header warns that another thread calls the function, so the program passes a function and data for which that is allowed.
unsafe impl Send for Lines {}
// SAFETY: one thread at a time calls the function: the agent's, or the caller's if no agent starts.
unsafe impl Sync for Lines {}

impl Lines {
    /// Passes a line to the program's function. Returns false if there is no such function.
    fn say(&self, line: &str) -> bool {
        let Some(log) = self.log else { return false };
        let line = std::ffi::CString::new(line.replace('\0', "?")).unwrap_or_default();
        // SAFETY: `line` lives as long as the call. `data` is the pointer that the program passed with `log`, as the header demands.
        unsafe { log(line.as_ptr(), self.data) };
        true
    }

    /// Tells the program, or standard error, why there is no agent.
    fn refused(&self, why: &dyn Display) {
        let line = format!("no agent: {why}");
        if !self.say(&line) {
            eprintln!("jumplabel: {line}");
        }
    }
}

/// Returns the text of a string of C, or `None` for null.
///
/// # Safety
/// `text` is null or a string.
unsafe fn text<'a>(text: *const c_char) -> Option<std::borrow::Cow<'a, str>> {
    // SAFETY: the caller passes null or a string.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy())
}

/// The same as [`jumplabel_agent::startup()`].
#[unsafe(no_mangle)]
pub extern "C" fn jumplabel_startup() {
    jumplabel_agent::startup();
}

/// The header's type `jumplabel_agent_changed_fn`: a function that gets a name, a change, and the pointer that the program passed.
type Told = unsafe extern "C" fn(*const c_char, *const RawChanged, *mut c_void);

/// A function that the program has registered by [`jumplabel_agent_on_change`].
struct Hearing {
    chooser: Chooser,
    told: Told,
    data: *mut c_void,
}

/// Tells the program of a change, if the selector of `hearing` chooses the key or the mode.
///
/// # Safety
/// `hearing` is a [`Hearing`] that is never freed, and `changed` lives as long as the call.
unsafe extern "C" fn hear(changed: *const RawChanged, hearing: *mut c_void) {
    // SAFETY: the caller passes a change that lives as long as the call, and a `Hearing` that is never freed.
    let (change, Hearing { chooser, told, data }) = unsafe { (&*changed, &*hearing.cast::<Hearing>()) };
    let address = if change.key.is_null() { change.mode } else { change.key };
    if let Some(name) = chooser.name(address as usize) {
        let name = std::ffi::CString::new(name.replace('\0', "?")).unwrap_or_default();
        // SAFETY: `name` lives as long as the call. `data` is the pointer that the program passed with `told`, as the header demands.
        unsafe { told(name.as_ptr(), changed, *data) };
    }
}

/// The same as [`jumplabel_agent::on_change`]. Returns a number for `jumplabel_on_change_remove`, or an error.
///
/// # Safety
/// `selector` is null or a string. Any thread that flips may call `told` with `data`, until the function is removed and no call runs.
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
    // SAFETY: the caller guarantees that any thread may call `told`. Once the `Hearing` is registered, it is never freed.
    match unsafe { jumplabel::on_change_raw(0, hear, hearing.cast()) } {
        Ok(number) => number as c_int,
        // The library's table of functions is full.
        Err(_) => {
            // SAFETY: `hearing` comes from `Box::into_raw`, and was not registered, so nobody else knows it.
            drop(unsafe { Box::from_raw(hearing) });
            -libc::ENOMEM
        }
    }
}

/// The same as [`jumplabel_agent::serve`]. Returns 0 or an error.
///
/// # Safety
/// `layer` is null or comes from a function like `jumplabel_fail_layer`, and it lives as long as the process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_agent_serve(layer: *const c_void) -> c_int {
    // SAFETY: the caller passes null or a layer of some build of this repository.
    match unsafe { jumplabel_layer::Handle::from_c(layer) } {
        None => -libc::EINVAL,
        Some(layer) => jumplabel_agent::serve(layer).map_or(-libc::EEXIST, |()| 0),
    }
}
