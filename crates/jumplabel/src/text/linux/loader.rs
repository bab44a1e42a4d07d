//! What the dynamic loader knows, and keeps. A static program has no loader, and unloads nothing.

use core::ffi::CStr;

/// Loads the object at `address`, which is not the program, once more, and for ever. False if it cannot be kept.
#[cfg(not(target_feature = "crt-static"))]
pub(super) fn keep_loaded(address: usize) -> bool {
    use super::libc::{RTLD_LAZY, RTLD_NODELETE, RTLD_NOLOAD, dlopen};
    // SAFETY: the name is the loader's own.
    info(address).is_some_and(|info| unsafe { !dlopen(info.file, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE).is_null() })
}

/// The name of the function at `address`. It goes with the object that the function is in.
#[cfg(not(target_feature = "crt-static"))]
pub(super) fn symbol(address: usize) -> Option<&'static CStr> {
    let info = info(address).filter(|info| info.address == address && !info.symbol.is_null())?;
    // SAFETY: the loader's own.
    Some(unsafe { CStr::from_ptr(info.symbol) })
}

/// The file of the object at `address`, which it goes with.
#[cfg(all(jumplabel_short_engine, not(target_feature = "crt-static")))]
pub(super) fn file(address: usize) -> Option<&'static CStr> {
    let info = info(address).filter(|info| !info.file.is_null())?;
    // SAFETY: the loader's own.
    Some(unsafe { CStr::from_ptr(info.file) })
}

#[cfg(not(target_feature = "crt-static"))]
fn info(address: usize) -> Option<super::libc::DlInfo> {
    let mut info = super::libc::DlInfo { file: core::ptr::null(), base: 0, symbol: core::ptr::null(), address: 0 };
    // SAFETY: the loader finds out whether it knows the address.
    unsafe { super::libc::dladdr(address as *const core::ffi::c_void, &raw mut info) != 0 }.then_some(info)
}

#[cfg(target_feature = "crt-static")]
pub(super) const fn keep_loaded(_address: usize) -> bool {
    true
}

#[cfg(all(jumplabel_short_engine, target_feature = "crt-static"))]
pub(super) const fn file(_address: usize) -> Option<&'static CStr> {
    None
}

#[cfg(target_feature = "crt-static")]
pub(super) const fn symbol(_address: usize) -> Option<&'static CStr> {
    None
}
