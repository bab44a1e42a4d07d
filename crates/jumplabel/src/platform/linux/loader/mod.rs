//! Asks the dynamic loader for information, and makes it keep objects loaded. A static program has no loader, and unloads nothing.

#[cfg(jumplabel_short_engine)]
pub(super) mod abort;
#[cfg(any(target_arch = "aarch64", test))]
mod guarded;
pub(super) mod segments;

use core::ffi::CStr;

use crate::platform::Place;
use crate::platform::linux::libc;
use segments::Segments;

/// Keeps the object at `address` loaded for ever, by loading it once more. Returns false if that is impossible. The caller ensures that the object
/// is not the program.
#[cfg(not(target_feature = "crt-static"))]
#[inline(never)]
pub(super) fn keep_loaded(address: usize) -> bool {
    use crate::platform::linux::libc::{RTLD_LAZY, RTLD_NODELETE, RTLD_NOLOAD, dlopen};
    // SAFETY: the loader itself has returned this name.
    info(address).is_some_and(|info| unsafe { !dlopen(info.file, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE).is_null() })
}

/// The name of the function at `address`. The name is valid as long as the function's object is loaded.
#[cfg(not(target_feature = "crt-static"))]
pub(super) fn symbol(address: usize) -> Option<&'static CStr> {
    let info = info(address).filter(|info| info.address == address && !info.symbol.is_null())?;
    // SAFETY: the loader has returned this string.
    Some(unsafe { CStr::from_ptr(info.symbol) })
}

/// The name of the file of the object at `address`. The name is valid as long as the object is loaded.
#[cfg(all(jumplabel_short_engine, not(target_feature = "crt-static")))]
pub(super) fn file(address: usize) -> Option<&'static CStr> {
    let info = info(address).filter(|info| !info.file.is_null())?;
    // SAFETY: the loader has returned this string.
    Some(unsafe { CStr::from_ptr(info.file) })
}

#[cfg(not(target_feature = "crt-static"))]
fn info(address: usize) -> Option<libc::DlInfo> {
    let mut info = libc::DlInfo { file: core::ptr::null(), base: 0, symbol: core::ptr::null(), address: 0 };
    // SAFETY: any address is allowed. The loader finds out whether it knows the address.
    unsafe { libc::dladdr(address as *const core::ffi::c_void, &raw mut info) != 0 }.then_some(info)
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

/// The position of the object that contains `address`. Calls the dynamic loader or, in a static program, the C library.
pub(super) fn place(address: usize) -> Place {
    use core::ffi::{c_int, c_void};

    struct Search {
        address: usize,
        first: bool,
        found: Place,
    }

    unsafe extern "C" fn look(info: *const libc::DlPhdrInfo, _size: usize, data: *mut c_void) -> c_int {
        // SAFETY: `info` comes from the loader, and `data` is the argument of the call below.
        let (info, search) = unsafe { (&*info, &mut *data.cast::<Search>()) };
        // SAFETY: `info` is used only during this call.
        let segments = unsafe { Segments::of(info) };
        let first = core::mem::take(&mut search.first);
        if !segments.holds(search.address, 1) {
            return 0;
        }
        // The C library lists the program first. In a namespace that was made by `dlmopen`, the first object is not the program. With glibc, the
        // name distinguishes the two: the program's name is empty, and the other object's name is not. SAFETY: the name is a string, or null.
        let nameless = info.name.is_null() || unsafe { info.name.read() } == 0;
        let in_program = first && (cfg!(target_env = "musl") || nameless);
        #[cfg(target_arch = "aarch64")]
        let guarded = guarded::is_guarded(segments);
        #[cfg(not(target_arch = "aarch64"))]
        let guarded = false;
        let words = [info.addr, info.headers as usize, usize::from(info.count)];
        search.found = Place { words, in_program, guarded };
        1
    }

    let mut search = Search { address, first: true, found: Place { words: [0; 3], in_program: false, guarded: false } };
    // SAFETY: the callback uses only its arguments. The loader's lock is recursive, and this library's lock is not held.
    unsafe { libc::dl_iterate_phdr(look, (&raw mut search).cast()) };
    search.found
}
