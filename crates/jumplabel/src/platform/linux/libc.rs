//! The few functions and types of the C library and of ELF that `rustix` has no stable name for, or looks up by the dynamic loader at
//! their first call (its clock and its size of a page). A flip must not call the loader, nor wait for a thread that does.

use crate::error::Refusal;
use core::ffi::{c_char, c_int, c_long, c_ulong, c_void};
use core::time::Duration;

/// The number of `tgkill` (include/uapi/asm-generic/unistd.h; older instruction sets have their own).
pub(super) const SYS_TGKILL: c_long = if cfg!(target_arch = "x86_64") {
    234
} else if cfg!(target_arch = "x86") {
    270
} else if cfg!(target_arch = "arm") {
    268
} else if cfg!(target_arch = "powerpc64") {
    250
} else if cfg!(target_arch = "s390x") {
    241
} else {
    131
};

/// The number of `rt_sigprocmask`.
const SYS_RT_SIGPROCMASK: c_long = if cfg!(target_arch = "x86_64") {
    14
} else if cfg!(any(target_arch = "x86", target_arch = "arm", target_arch = "s390x")) {
    175
} else if cfg!(target_arch = "powerpc64") {
    174
} else {
    135
};

/// `Dl_info`.
#[cfg(not(target_feature = "crt-static"))]
#[repr(C)]
pub(super) struct DlInfo {
    pub(super) file: *const c_char,
    pub(super) base: usize,
    pub(super) symbol: *const c_char,
    pub(super) address: usize,
}

#[cfg(not(target_feature = "crt-static"))]
pub(super) const RTLD_LAZY: c_int = 1;
#[cfg(not(target_feature = "crt-static"))]
pub(super) const RTLD_NOLOAD: c_int = 4;
#[cfg(not(target_feature = "crt-static"))]
pub(super) const RTLD_NODELETE: c_int = 0x1000;

#[cfg(not(target_feature = "crt-static"))]
unsafe extern "C" {
    pub(super) fn dladdr(address: *const c_void, info: *mut DlInfo) -> c_int;
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
}

#[cfg(not(target_feature = "crt-static"))]
const RTLD_DEFAULT: *mut c_void = core::ptr::null_mut();

/// `dlopen`, looked up by its name: with glibc, the linker warns of each reference to it in a static program, and our archive for C is
/// linked into such programs, too. They have no use for it; there it returns null.
///
/// # Safety
/// As `dlopen`.
#[cfg(not(target_feature = "crt-static"))]
pub(super) unsafe fn dlopen(file: *const c_char, flags: c_int) -> *mut c_void {
    type Dlopen = unsafe extern "C" fn(*const c_char, c_int) -> *mut c_void;
    // SAFETY: the C library's function of this name has this type; null is none. The rest by the contract.
    unsafe {
        let found = core::mem::transmute::<*mut c_void, Option<Dlopen>>(dlsym(RTLD_DEFAULT, c"dlopen".as_ptr()));
        found.map_or(core::ptr::null_mut(), |dlopen| dlopen(file, flags))
    }
}

/// glibc's `__cxa_thread_atexit_impl`, looked up by its name: it came with 2.18, and Rust links programs with 2.17.
///
/// # Safety
/// Some code of `object` runs at the end of this thread.
#[cfg(all(target_env = "gnu", not(target_feature = "crt-static")))]
pub(super) unsafe fn thread_atexit(function: extern "C" fn(*mut c_void), object: *mut c_void) {
    type Register = unsafe extern "C" fn(extern "C" fn(*mut c_void), *mut c_void, *mut c_void) -> c_int;
    // SAFETY: the C library's function of this name has this type; null is none. The rest by the contract.
    unsafe {
        let found = dlsym(RTLD_DEFAULT, c"__cxa_thread_atexit_impl".as_ptr());
        if let Some(register) = core::mem::transmute::<*mut c_void, Option<Register>>(found) {
            register(function, core::ptr::null_mut(), object);
        }
    }
}

/// A static program has no instance in a library, and musl has no such function.
///
/// # Safety
/// None.
#[cfg(not(all(target_env = "gnu", not(target_feature = "crt-static"))))]
pub(super) const unsafe fn thread_atexit(_: extern "C" fn(*mut c_void), _: *mut c_void) {}

/// `sigset_t` of glibc and musl: 128 bytes.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
pub(super) struct SigSet(pub(super) [u64; 16]);

pub(super) const SIG_SETMASK: c_int = 2;
pub(super) const SIGSYS: c_int = 31;

#[repr(C)]
pub(super) struct DlPhdrInfo {
    pub(super) addr: usize,
    pub(super) name: *const c_char,
    pub(super) headers: *const Phdr,
    pub(super) count: u16,
}

/// `Elf32_Phdr` or `Elf64_Phdr`, which differ in the place of the flags.
#[repr(C)]
pub(super) struct Phdr {
    pub(super) p_type: u32,
    #[cfg(target_pointer_width = "64")]
    pub(super) p_flags: u32,
    pub(super) p_offset: usize,
    pub(super) p_vaddr: usize,
    pub(super) p_paddr: usize,
    pub(super) p_filesz: usize,
    pub(super) p_memsz: usize,
    #[cfg(target_pointer_width = "32")]
    pub(super) p_flags: u32,
    pub(super) p_align: usize,
}

/// Each of the two numbers of a `struct timespec`: x32 has 64 bits, too.
#[cfg(any(target_pointer_width = "64", target_arch = "x86_64"))]
type Number = i64;
#[cfg(not(any(target_pointer_width = "64", target_arch = "x86_64")))]
type Number = c_long;

#[repr(C)]
struct Timespec {
    seconds: Number,
    nanoseconds: Number,
}

/// The monotonic clock.
pub(super) fn now() -> Duration {
    const CLOCK_MONOTONIC: c_int = 1;
    let mut time = Timespec { seconds: 0, nanoseconds: 0 };
    // SAFETY: writes two numbers to a place of ours.
    unsafe { clock_gettime(CLOCK_MONOTONIC, &raw mut time) };
    Duration::new(time.seconds as u64, time.nanoseconds as u32 % 1_000_000_000)
}

/// Bytes of a page.
pub(super) fn page_size() -> usize {
    const AT_PAGESZ: c_ulong = 6;
    // SAFETY: a read of the auxiliary vector.
    unsafe { getauxval(AT_PAGESZ) as usize }
}

/// A name of the calling thread, which its copy in a child of fork bears, too. Never 0.
pub(super) fn this_thread() -> usize {
    // SAFETY: no conditions.
    unsafe { pthread_self() }
}

/// Moves a mapping over another. On instruction sets for which `rustix` calls the C library, it passes `MAP_FIXED` for `MREMAP_FIXED`
/// (1.1.6). Leaves `errno` as it is: the caller may be in a signal handler.
///
/// # Safety
/// As `mremap`.
pub(super) unsafe fn mremap_fixed(old: *mut c_void, bytes: usize, new: *mut c_void) -> Result<(), Refusal> {
    const MREMAP_MAYMOVE: c_int = 1;
    const MREMAP_FIXED: c_int = 2;
    // SAFETY: the caller may move `old` and replace what is at `new`; `errno` is this thread's own.
    unsafe {
        let errno = __errno_location();
        let before = errno.read();
        if mremap(old, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, new) == new {
            return Ok(());
        }
        Err(Refusal::errno(errno.replace(before)))
    }
}

/// Asks the kernel to do something unknown with the mask of eight bytes at `mask`, which need not be readable. The C library's function
/// reads the mask by itself. Leaves `errno` as it is.
#[inline(never)]
pub(super) fn rt_sigprocmask(mask: usize) -> Result<(), Refusal> {
    const UNKNOWN: c_int = -1;
    const NONE: *mut c_void = core::ptr::null_mut();
    // SAFETY: the kernel looks whether it can read the mask, and changes nothing; `errno` is this thread's own.
    unsafe {
        let errno = __errno_location();
        let before = errno.read();
        if syscall(SYS_RT_SIGPROCMASK, UNKNOWN, mask as *const c_void, NONE, size_of::<u64>()) == 0 {
            return Ok(());
        }
        Err(Refusal::errno(errno.replace(before)))
    }
}

unsafe extern "C" {
    fn __errno_location() -> *mut c_int;
    fn mremap(old: *mut c_void, old_bytes: usize, new_bytes: usize, flags: c_int, ...) -> *mut c_void;
    pub(super) fn sigfillset(set: *mut SigSet) -> c_int;
    pub(super) fn pthread_sigmask(how: c_int, set: *const SigSet, old: *mut SigSet) -> c_int;
    pub(super) fn pthread_setcancelstate(state: c_int, old: *mut c_int) -> c_int;
    pub(super) fn pthread_atfork(
        prepare: Option<extern "C" fn()>,
        parent: Option<extern "C" fn()>,
        child: Option<extern "C" fn()>,
    ) -> c_int;
    pub(super) fn __cxa_atexit(
        function: Option<extern "C" fn(*mut c_void)>,
        argument: *mut c_void,
        object: *mut c_void,
    ) -> c_int;
    fn pthread_self() -> usize; // `pthread_t`: an integer or a pointer
    pub(super) fn getauxval(kind: c_ulong) -> c_ulong;
    fn clock_gettime(clock: c_int, time: *mut Timespec) -> c_int;
    pub(super) fn getenv(name: *const c_char) -> *const c_char;
    pub(super) fn dl_iterate_phdr(
        callback: unsafe extern "C" fn(*const DlPhdrInfo, usize, *mut c_void) -> c_int,
        data: *mut c_void,
    ) -> c_int;
    #[cfg(jumplabel_short_engine)]
    pub(super) fn write(file: c_int, bytes: *const c_void, count: usize) -> isize;
    #[cfg(jumplabel_short_engine)]
    pub(super) fn abort() -> !;
    pub(super) fn syscall(number: c_long, ...) -> c_long;
}
