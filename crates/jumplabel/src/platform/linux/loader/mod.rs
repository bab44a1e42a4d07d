//! Asks the dynamic loader about loaded objects, and makes the loader keep objects loaded. A static program has no loader and unloads nothing, so its
//! functions here have fixed answers, except [`place`].

#[cfg(jumplabel_short_engine)]
pub(super) mod abort;
#[cfg(any(target_arch = "aarch64", test))]
mod guarded;
pub(super) mod segments;

use core::ffi::CStr;

use crate::platform::Place;
use crate::platform::linux::libc;
use segments::Segments;

/// Keeps the object at `address` loaded until the process ends: `dlopen` loads it once more, with `RTLD_NODELETE`. Returns false if that fails. The
/// object must not be the program.
#[cfg(not(target_feature = "crt-static"))]
#[inline(never)]
pub(super) fn keep_loaded(address: usize) -> bool {
    use crate::platform::linux::libc::{RTLD_LAZY, RTLD_NODELETE, RTLD_NOLOAD, dlopen};
    // SAFETY: `info` returned the name of the file of a loaded object, and `RTLD_NOLOAD` loads nothing new.
    info(address).is_some_and(|info| unsafe { !dlopen(info.file, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE).is_null() })
}

/// The name of the function that begins at `address`. The name is valid as long as the function's object is loaded. `None` if the loader knows no
/// such function.
#[cfg(not(target_feature = "crt-static"))]
pub(super) fn symbol(address: usize) -> Option<&'static CStr> {
    let info = info(address).filter(|info| info.address == address && !info.symbol.is_null())?;
    // SAFETY: `dladdr` has returned this string, which the loader keeps as long as the object is loaded.
    Some(unsafe { CStr::from_ptr(info.symbol) })
}

/// The path of the file of the object at `address`. The path is valid as long as the object is loaded. `None` if the loader does not know it.
#[cfg(all(jumplabel_short_engine, not(target_feature = "crt-static")))]
pub(super) fn file(address: usize) -> Option<&'static CStr> {
    let info = info(address).filter(|info| !info.file.is_null())?;
    // SAFETY: `dladdr` has returned this string, which the loader keeps as long as the object is loaded.
    Some(unsafe { CStr::from_ptr(info.file) })
}

#[cfg(not(target_feature = "crt-static"))]
fn info(address: usize) -> Option<libc::DlInfo> {
    let mut info = libc::DlInfo { file: core::ptr::null(), base: 0, symbol: core::ptr::null(), address: 0 };
    // SAFETY: `dladdr` accepts any address, and `info` has the layout that it fills.
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

/// The position in memory of the object that contains `address`. The words are 0 if there is no such object. Calls the dynamic loader or, in a static
/// program, the C library.
pub(super) fn place(address: usize) -> Place {
    use core::ffi::{c_int, c_void};

    struct Search {
        address: usize,
        first: bool,
        found: Place,
    }

    unsafe extern "C" fn look(info: *const libc::DlPhdrInfo, _size: usize, data: *mut c_void) -> c_int {
        // SAFETY: the loader passes a valid `info`. `data` points to `search`, which the call below passes and nothing else uses meanwhile.
        let (info, search) = unsafe { (&*info, &mut *data.cast::<Search>()) };
        // SAFETY: `info` is the argument of this callback of `dl_iterate_phdr`, and the segments are used only before it returns.
        let segments = unsafe { Segments::of(info) };
        let first = core::mem::take(&mut search.first);
        if !segments.holds(search.address, 1) {
            return 0;
        }
        // SAFETY: the loader passes a string or null.
        //
        // The C library lists the program first. But if the caller is in a namespace that `dlmopen` made, glibc lists that namespace, and its first
        // object is not the program. With glibc, only the program has an empty name.
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
    // SAFETY: the callback has the type that `dl_iterate_phdr` expects, and `data` is the `Search` that it expects. The call cannot deadlock: this
    // library's lock is not held, and the loader's lock is recursive.
    unsafe { libc::dl_iterate_phdr(look, (&raw mut search).cast()) };
    search.found
}
