//! Lists of keys, calls, modes and sites for C: each function calls a function of the caller for each element.

use core::ffi::{CStr, c_char, c_int, c_long, c_uchar, c_uint, c_void};
use core::ptr::null;

use jumplabel::{
    CallInfo, Error, KeyInfo, ModeInfo, Outcome, RawCall, RawKey, RawMode, Site, WriterKind, for_each_call,
    for_each_key, for_each_mode, for_each_site, set_writer,
};
use jumplabel_format::State;

use crate::result::{Key, Refusal, code, key};
use crate::say::Heed;

/// C's `struct jumplabel_site`: a site of a key.
#[repr(C)]
pub struct CSite {
    address: usize,
    target: usize,
    arm: bool,
    size: c_uchar,
    bytes: [u8; 14],
    state: *const c_char,
}

impl From<Site> for CSite {
    fn from(site: Site) -> CSite {
        let mut bytes = [0; 14];
        bytes[..site.bytes.len()].copy_from_slice(&site.bytes);
        let state = site.state.map_or(null(), |state| name(state).as_ptr());
        let size = site.bytes.len() as c_uchar;
        CSite { address: site.address, target: site.target, arm: site.arm, size, bytes, state }
    }
}

/// The name of a state ([`State::name`]) as a C string.
fn name(state: State) -> &'static CStr {
    match state.name() {
        "nop" => c"nop",
        "test" => c"test",
        "priming" => c"priming",
        "torn" => c"torn",
        "jump" => c"jump",
        "load" => c"load",
        "false" => c"false",
        "true" => c"true",
        _ => c"none",
    }
}

/// C's `struct jumplabel_key_info`: a key and its declaration.
#[repr(C)]
pub struct CKeyInfo {
    key: *const RawKey,
    name: *const u8,
    name_length: usize,
    path: *const u8,
    path_length: usize,
    module: *const u8,
    module_length: usize,
    file: *const u8,
    file_length: usize,
    line: c_uint,
    column: c_uint,
    element: c_int,
    sites: usize,
}

impl From<KeyInfo> for CKeyInfo {
    fn from(info: KeyInfo) -> CKeyInfo {
        CKeyInfo {
            key: info.key,
            name: info.name.as_ptr(),
            name_length: info.name.len(),
            path: info.path.as_ptr(),
            path_length: info.path.len(),
            module: info.module.as_ptr(),
            module_length: info.module.len(),
            file: info.file.as_ptr(),
            file_length: info.file.len(),
            line: info.line,
            column: info.column,
            element: info.element.and_then(|element| c_int::try_from(element).ok()).unwrap_or(-1),
            sites: info.sites,
        }
    }
}

/// Calls `visit`, if it is not null, for each site of the key. Returns the number of sites, or an error.
///
/// # Safety
/// `at` meets the conditions of [`key`]. `visit` can be called with `data`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_for_each_site(
    at: Key,
    visit: Option<unsafe extern "C" fn(*const CSite, *mut c_void)>,
    data: *mut c_void,
) -> c_long {
    // SAFETY: the caller guarantees that `at` is a key that lives, or an address that `key` refuses.
    let visited = unsafe { key(at) }.and_then(|key| {
        let visit = |site| {
            if let Some(visit) = visit {
                // SAFETY: the caller guarantees that `visit` can be called with `data`. The site lives as long as the call.
                unsafe { visit(&CSite::from(site), data) };
            }
        };
        Ok(for_each_site(key, visit)?)
    });
    visited.map_or_else(|refusal| refusal.long_code(), |count| count as c_long)
}

/// Calls `visit`, if it is not null, for each key that has a record. Returns the number of keys, or an error.
///
/// # Safety
/// `visit` can be called with `data`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_for_each_key(
    visit: Option<unsafe extern "C" fn(*const CKeyInfo, *mut c_void)>,
    data: *mut c_void,
) -> c_long {
    // SAFETY: the caller guarantees that `visit` can be called with `data`. The info lives as long as the call.
    counted(|one| for_each_key(|info| one(&|| visit.map_or((), |visit| unsafe { visit(&info.into(), data) }))))
}

/// Calls `each`. Returns the number of times that `each` has called its visitor, or an error.
fn counted(each: impl FnOnce(&mut dyn FnMut(&dyn Fn())) -> Result<(), Error>) -> c_long {
    let mut count = 0;
    let visited = each(&mut |visit| {
        count += 1;
        visit();
    });
    visited.map_or_else(|error| Refusal::from(error).long_code(), |()| count)
}

/// C's `struct jumplabel_call_info`: a static call and its declaration.
#[repr(C)]
pub struct CCallInfo {
    call: *const RawCall,
    target: usize,
    path: *const u8,
    path_length: usize,
    module: *const u8,
    module_length: usize,
    file: *const u8,
    file_length: usize,
    line: c_uint,
    column: c_uint,
    sites: usize,
}

impl From<CallInfo> for CCallInfo {
    fn from(info: CallInfo) -> CCallInfo {
        CCallInfo {
            call: info.call,
            target: info.target.unwrap_or(0),
            path: info.path.as_ptr(),
            path_length: info.path.len(),
            module: info.module.as_ptr(),
            module_length: info.module.len(),
            file: info.file.as_ptr(),
            file_length: info.file.len(),
            line: info.line,
            column: info.column,
            sites: info.sites,
        }
    }
}

/// C's `struct jumplabel_mode_info`: a mode and its declaration.
#[repr(C)]
pub struct CModeInfo {
    mode: *const RawMode,
    path: *const u8,
    path_length: usize,
    module: *const u8,
    module_length: usize,
    file: *const u8,
    file_length: usize,
    line: c_uint,
    column: c_uint,
    number: c_int,
    arms: c_int,
    sites: usize,
}

impl From<ModeInfo> for CModeInfo {
    fn from(info: ModeInfo) -> CModeInfo {
        CModeInfo {
            mode: info.mode,
            path: info.path.as_ptr(),
            path_length: info.path.len(),
            module: info.module.as_ptr(),
            module_length: info.module.len(),
            file: info.file.as_ptr(),
            file_length: info.file.len(),
            line: info.line,
            column: info.column,
            number: info.number.into(),
            arms: info.arms.into(),
            sites: info.sites,
        }
    }
}

/// Calls `visit`, if it is not null, for each static call that has a record. Returns the number of calls, or an error.
///
/// # Safety
/// `visit` can be called with `data`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_for_each_call(
    visit: Option<unsafe extern "C" fn(*const CCallInfo, *mut c_void)>,
    data: *mut c_void,
) -> c_long {
    // SAFETY: the caller guarantees that `visit` can be called with `data`. The info lives as long as the call.
    counted(|one| for_each_call(|info| one(&|| visit.map_or((), |visit| unsafe { visit(&info.into(), data) }))))
}

/// Calls `visit`, if it is not null, for each mode that has a record. Returns the number of modes, or an error.
///
/// # Safety
/// `visit` can be called with `data`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_for_each_mode(
    visit: Option<unsafe extern "C" fn(*const CModeInfo, *mut c_void)>,
    data: *mut c_void,
) -> c_long {
    // SAFETY: the caller guarantees that `visit` can be called with `data`. The info lives as long as the call.
    counted(|one| for_each_mode(|info| one(&|| visit.map_or((), |visit| unsafe { visit(&info.into(), data) }))))
}

/// Does in advance the work that the first flip of a process does besides flipping. Also patches the sites that load and shall fall through. Returns
/// 0 or an error.
#[unsafe(no_mangle)]
pub extern "C" fn jumplabel_prepare() -> c_int {
    code(jumplabel::prepare().map_err(Refusal::from))
}

/// Does what [`jumplabel_prepare`] does, but patches only sites of one key. Returns the number of patched sites, or an error.
///
/// # Safety
/// `at` meets the conditions of [`key`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_prepare_key(at: Key) -> c_long {
    // SAFETY: the caller guarantees that `at` is a key that lives, or an address that `key` refuses.
    changed(unsafe { key(at) }.and_then(|key| Ok(jumplabel::prepare_keys([key])?)))
}

/// Returns the number of sites that load their keys now, or an error.
#[unsafe(no_mangle)]
pub extern "C" fn jumplabel_loading() -> c_long {
    match jumplabel::loading() {
        Ok(sites) => c_long::try_from(sites).unwrap_or(c_long::MAX),
        Err(error) => Refusal::from(error).long_code(),
    }
}

/// Checks all sites, and repairs those that something outside the library has changed. Returns the number of repaired sites, or an error.
#[unsafe(no_mangle)]
pub extern "C" fn jumplabel_verify() -> c_long {
    changed(jumplabel::verify().map_err(Refusal::from))
}

/// Checks the sites of one key, and repairs those that something outside the library has changed. Returns the number of repaired sites, or an error.
///
/// # Safety
/// `at` meets the conditions of [`key`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_verify_key(at: Key) -> c_long {
    // SAFETY: the caller guarantees that `at` is a key that lives, or an address that `key` refuses.
    changed(unsafe { key(at) }.and_then(|key| Ok(key.verify()?)))
}

fn changed(outcome: Result<Outcome, Refusal>) -> c_long {
    match outcome.inspect(Heed::heed) {
        Ok(outcome) => c_long::try_from(outcome.sites).unwrap_or(c_long::MAX),
        Err(refusal) => refusal.long_code(),
    }
}

/// Sets the writer that writes code from now on, by its name; `auto` or NULL lets the library choose. Returns 0 or an error.
///
/// # Safety
/// `name` is null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_set_writer(name: *const c_char) -> c_int {
    // SAFETY: the caller guarantees that `name` is null or a string that ends with a 0.
    let name = if name.is_null() { c"auto" } else { unsafe { CStr::from_ptr(name) } };
    code(WriterKind::named_by(name.to_bytes()).map(set_writer).map_err(Refusal::from))
}
