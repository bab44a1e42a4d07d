//! Fail points for C and C++: `JUMPLABEL_FAIL_POINT` of `<jumplabel/fail.h>`, whose header and tests are those of jumplabel-capi.
//!
//! ```text
//!   libjumplabel-fail.so    beside libjumplabel.so: an instance of its own, which turns points of others on and off
//!   libjumplabel-fail.a     in place of libjumplabel.a: all of that, and fail points
//!   this crate              in a Rust program with C code: one registry for both
//! ```
//!
//! They are libraries of their own, so that a program without fail points stays as it is.

mod archive;

#[cfg(feature = "capi")]
extern crate jumplabel_capi as _;

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int, c_long, c_void};
use std::io::Write;

use jumplabel_fail::c::{self, OwnerOfC, Refused};

/// `jumplabel_fail_fn`: what a point does, and what the program gave.
type Callback = Option<unsafe extern "C" fn(*mut c_void)>;
type Visit = Option<unsafe extern "C" fn(*const c_char, *const c_char, *mut c_void)>;

/// What points of objects that are linked with this library lead to.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)] // a name of C
pub static jumplabel_fail_owner_: OwnerOfC = OwnerOfC::THIS;

thread_local! {
    /// Why the last call of this thread failed.
    static WHY: RefCell<CString> = RefCell::new(CString::default());
}

/// # Safety
/// Null or a string.
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

/// 0; or the error's number, once the thread can ask what it means.
fn done(result: Result<(), Refused>) -> c_int {
    let (errno, why) = match result {
        Ok(()) => return 0,
        Err(Refused::Text(why)) => (libc::EINVAL, why),
        Err(Refused::Keys(why)) => (libc::EACCES, why),
    };
    WHY.set(c_string(&why));
    -errno
}

/// As a program in C does it: a line on standard error, and its end.
fn panic(text: &str) -> ! {
    print(text);
    std::process::abort();
}

/// A line on standard error, unless the program has a logger of Rust's.
fn print(text: &str) {
    if log::log_enabled!(log::Level::Info) {
        log::info!("{text}");
    } else {
        let _ = writeln!(std::io::stderr(), "{text}");
    }
}

/// A point that is on. Whether its function is to return; then `*to` is the text, of this library, or null.
///
/// # Safety
/// A text of this length; `to` is null, or a place for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_fail_reach_(name: *const c_char, length: usize, to: *mut *mut c_char) -> bool {
    // SAFETY: the macro's literal.
    let name = unsafe { std::slice::from_raw_parts(name.cast(), length) };
    let name = String::from_utf8_lossy(name);
    let Some(argument) = c::reach(&name, panic, print) else { return false };
    if to.is_null() {
        panic(&format!("Return is not supported for the fail point \"{name}\""));
    }
    // SAFETY: the macro's variable.
    unsafe { *to = argument.map_or(std::ptr::null_mut(), |text| c_string(&text).into_raw()) };
    true
}

/// Frees what `jumplabel_fail_reach_` has given.
///
/// # Safety
/// Null, or from there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_fail_free_(text: *mut c_char) {
    if !text.is_null() {
        // SAFETY: from `into_raw`.
        drop(unsafe { CString::from_raw(text) });
    }
}

/// Whether anything is configured: for points of files without sites.
#[unsafe(no_mangle)]
pub extern "C" fn jumplabel_fail_is_any_() -> bool {
    c::is_any()
}

/// Takes away all that is configured, then configures what FAILPOINTS says; 0 or an error.
#[unsafe(no_mangle)]
pub extern "C" fn jumplabel_fail_setup() -> c_int {
    done(c::setup())
}

/// Takes away all that is configured.
#[unsafe(no_mangle)]
pub extern "C" fn jumplabel_fail_teardown() {
    c::teardown();
}

/// [`jumplabel_fail::cfg`]; 0 or an error.
///
/// # Safety
/// Null or strings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_fail_cfg(name: *const c_char, actions: *const c_char) -> c_int {
    // SAFETY: the caller passes null or strings.
    let (name, actions) = unsafe { (text(name), text(actions)) };
    done(name.and_then(|name| c::cfg(name, actions?)))
}

/// What the program gave.
struct Data(*mut c_void);

impl Data {
    fn get(&self) -> *mut c_void {
        self.0
    }
}

// SAFETY: the header says that the function is called in any thread that comes to the point.
unsafe impl Send for Data {}
// SAFETY: the header says that several threads may call it at a time.
unsafe impl Sync for Data {}

/// [`jumplabel_fail::cfg_callback`]; 0 or an error.
///
/// # Safety
/// `name` is null or a string; `callback` takes what `data` is, in any thread.
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
        // SAFETY: the caller's function and its data.
        c::cfg_callback(name, move || unsafe { callback(data.get()) })
    };
    done(name.and_then(configure))
}

/// [`jumplabel_fail::remove`].
///
/// # Safety
/// Null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_fail_remove(name: *const c_char) {
    // SAFETY: the caller passes null or a string.
    if let Ok(name) = unsafe { text(name) } {
        jumplabel_fail::remove(name);
    }
}

/// [`jumplabel_fail::list`]: how many there are.
///
/// # Safety
/// `visit` is null, or takes what `data` is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_fail_list(visit: Visit, data: *mut c_void) -> c_long {
    let mut all = jumplabel_fail::list();
    all.sort();
    if let Some(visit) = visit {
        for (name, actions) in &all {
            let (name, actions) = (c_string(name), c_string(actions));
            // SAFETY: strings that live as long as the call, and the caller's data.
            unsafe { visit(name.as_ptr(), actions.as_ptr(), data) };
        }
    }
    all.len().try_into().unwrap_or(c_long::MAX)
}

/// [`jumplabel_fail::sync`]; 0 or an error.
#[unsafe(no_mangle)]
pub extern "C" fn jumplabel_fail_sync() -> c_int {
    done(jumplabel_fail::sync().map_err(|error| Refused::Keys(error.to_string())))
}

/// Why the last call of this thread that has failed did so; it lives until the next one that does.
#[unsafe(no_mangle)]
pub extern "C" fn jumplabel_fail_error() -> *const c_char {
    WHY.with_borrow(|why| why.as_ptr())
}

/// For `jumplabel_agent_serve`.
#[unsafe(no_mangle)]
pub extern "C" fn jumplabel_fail_layer() -> *const c_void {
    c::layer()
}
