//! Fail points for C and C++: `JUMPLABEL_FAIL_POINT` of `<jumplabel/fail.h>`. The header and the tests are in jumplabel-capi.
//!
//! ```text
//!   libjumplabel-fail.so    used with libjumplabel.so: another instance, which turns the program's points on and off
//!   libjumplabel-fail.a     replaces libjumplabel.a: contains it and fail points
//!   this crate              in a Rust program with C code: one registry for the points of both
//! ```
//!
//! These libraries are separate from libjumplabel, so a program without fail points stays as it is.

mod archive;

#[cfg(feature = "capi")]
extern crate jumplabel_capi as _;

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int, c_long, c_void};
use std::io::Write;

use jumplabel_fail::c::{self, OwnerOfC, Refused};

/// The header's type `jumplabel_fail_fn`: the action of a point. The function gets the pointer that the program passed.
type Callback = Option<unsafe extern "C" fn(*mut c_void)>;
type Visit = Option<unsafe extern "C" fn(*const c_char, *const c_char, *mut c_void)>;

/// The owner of the points in objects that are linked with this library.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)] // a name of C
pub static jumplabel_fail_owner_: OwnerOfC = OwnerOfC::THIS;

thread_local! {
    /// The reason why the last call of this thread failed.
    static WHY: RefCell<CString> = RefCell::new(CString::default());
}

/// Returns the text of a string of C. Null, or a text that is not UTF-8, is an error.
///
/// # Safety
/// `text` is null or a string.
unsafe fn text<'a>(text: *const c_char) -> Result<&'a str, Refused> {
    if text.is_null() {
        return Err(Refused::Text("NULL is no text".to_owned()));
    }
    // SAFETY: the caller passes a string.
    unsafe { CStr::from_ptr(text) }.to_str().map_err(|error| Refused::Text(error.to_string()))
}

fn c_string(text: &str) -> CString {
    CString::new(text.replace('\0', "?")).unwrap_or_default()
}

/// Returns 0 for `Ok`. For an error, stores the reason, which `jumplabel_fail_error` returns. Then returns the error's number (errno.h) as a negative
/// number.
fn done(result: Result<(), Refused>) -> c_int {
    let (errno, why) = match result {
        Ok(()) => return 0,
        Err(Refused::Text(why)) => (libc::EINVAL, why),
        Err(Refused::Keys(why)) => (libc::EACCES, why),
    };
    WHY.set(c_string(&why));
    -errno
}

/// Panics as a program in C does: writes a line to standard error, and ends the program.
fn panic(text: &str) -> ! {
    print(text);
    std::process::abort();
}

/// Writes a line to the program's logger of the crate `log` if that logger takes lines of the level Info, otherwise to standard error.
fn print(text: &str) {
    if log::log_enabled!(log::Level::Info) {
        log::info!("{text}");
    } else {
        let _ = writeln!(std::io::stderr(), "{text}");
    }
}

/// Runs a point that is on. Returns true if the function around the point shall return. Then `*to` is the argument of the action `return`: a text
/// that this library has allocated, or null.
///
/// # Safety
/// `name` leads to `length` bytes. `to` is null, or leads to a place for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_fail_reach_(name: *const c_char, length: usize, to: *mut *mut c_char) -> bool {
    // SAFETY: the macro passes a literal and its length.
    let name = unsafe { std::slice::from_raw_parts(name.cast(), length) };
    let name = String::from_utf8_lossy(name);
    let Some(argument) = c::reach(&name, panic, print) else { return false };
    if to.is_null() {
        panic(&format!("Return is not supported for the fail point \"{name}\""));
    }
    // SAFETY: the macro passes the address of its variable.
    unsafe { *to = argument.map_or(std::ptr::null_mut(), |text| c_string(&text).into_raw()) };
    true
}

/// Frees a text of `jumplabel_fail_reach_`.
///
/// # Safety
/// `text` is null or comes from `jumplabel_fail_reach_`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_fail_free_(text: *mut c_char) {
    if !text.is_null() {
        // SAFETY: `text` comes from `into_raw` in `jumplabel_fail_reach_`.
        drop(unsafe { CString::from_raw(text) });
    }
}

/// Returns true if any point is configured. Points in files without sites call this.
#[unsafe(no_mangle)]
pub extern "C" fn jumplabel_fail_is_any_() -> bool {
    c::is_any()
}

/// Removes all configurations, then applies that of the variable FAILPOINTS. Returns 0 or an error.
#[unsafe(no_mangle)]
pub extern "C" fn jumplabel_fail_setup() -> c_int {
    done(c::setup())
}

/// Removes all configurations.
#[unsafe(no_mangle)]
pub extern "C" fn jumplabel_fail_teardown() {
    c::teardown();
}

/// The same as [`jumplabel_fail::cfg`]. Returns 0 or an error.
///
/// # Safety
/// `name` and `actions` are null or strings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_fail_cfg(name: *const c_char, actions: *const c_char) -> c_int {
    // SAFETY: the caller passes null or strings.
    let (name, actions) = unsafe { (text(name), text(actions)) };
    done(name.and_then(|name| c::cfg(name, actions?)))
}

/// The pointer that the program passed with its function.
struct Data(*mut c_void);

impl Data {
    fn get(&self) -> *mut c_void {
        self.0
    }
}

// SAFETY: the header warns that any thread that reaches the point calls the function with this pointer.
unsafe impl Send for Data {}
// SAFETY: the header warns that several threads may call the function at a time.
unsafe impl Sync for Data {}

/// The same as [`jumplabel_fail::cfg_callback`]. Returns 0 or an error.
///
/// # Safety
/// `name` is null or a string. `callback` may be called with `data`, in any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_fail_cfg_callback(
    name: *const c_char,
    callback: Callback,
    data: *mut c_void,
) -> c_int {
    // SAFETY: the caller passes null or a string.
    let name = unsafe { text(name) };
    let data = Data(data);
    let configure = |name: &str| {
        let callback = callback.ok_or_else(|| Refused::Text("NULL is no function".to_owned()))?;
        // SAFETY: the caller guarantees that `callback` accepts `data`, in any thread.
        c::cfg_callback(name, move || unsafe { callback(data.get()) })
    };
    done(name.and_then(configure))
}

/// The same as [`jumplabel_fail::remove`].
///
/// # Safety
/// `name` is null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_fail_remove(name: *const c_char) {
    // SAFETY: the caller passes null or a string.
    if let Ok(name) = unsafe { text(name) } {
        jumplabel_fail::remove(name);
    }
}

/// Calls `visit` for each item of [`jumplabel_fail::list`]. Returns the number of configured points.
///
/// # Safety
/// `visit` is null, or accepts `data`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_fail_list(visit: Visit, data: *mut c_void) -> c_long {
    let mut all = jumplabel_fail::list();
    all.sort();
    if let Some(visit) = visit {
        for (name, actions) in &all {
            let (name, actions) = (c_string(name), c_string(actions));
            // SAFETY: the strings live as long as the call, and the caller guarantees that `visit` accepts `data`.
            unsafe { visit(name.as_ptr(), actions.as_ptr(), data) };
        }
    }
    all.len().try_into().unwrap_or(c_long::MAX)
}

/// The same as [`jumplabel_fail::sync`]. Returns 0 or an error.
#[unsafe(no_mangle)]
pub extern "C" fn jumplabel_fail_sync() -> c_int {
    done(jumplabel_fail::sync().map_err(|error| Refused::Keys(error.to_string())))
}

/// The reason why this thread's last failed call failed. The text lives until another call of this thread fails, or the thread ends.
#[unsafe(no_mangle)]
pub extern "C" fn jumplabel_fail_error() -> *const c_char {
    WHY.with_borrow(|why| why.as_ptr())
}

/// The layer of fail points, for `jumplabel_agent_serve`.
#[unsafe(no_mangle)]
pub extern "C" fn jumplabel_fail_layer() -> *const c_void {
    c::layer()
}
