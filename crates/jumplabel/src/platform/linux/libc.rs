//! Functions and types of the C library and of ELF that the library declares itself, most of them because the stable API of `rustix` does not have
//! them. Two functions (the clock and the size of a page) are declared because `rustix` asks the dynamic loader for them at their first call, and a
//! flip must neither call the loader nor wait for a thread that calls it. Comments at other functions give other reasons.

use crate::error::Refusal;
use core::ffi::{c_char, c_int, c_long, c_ulong, c_void};
use core::num::NonZeroU32;
use core::time::Duration;

/// The number of the system call `tgkill` (include/uapi/asm-generic/unistd.h; older instruction sets have their own numbers).
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

/// The number of this process. If a seccomp filter refuses `getpid`, returns a number that no process has. This function does not use `rustix`, which
/// expects that `getpid` never fails.
pub(super) fn process() -> u32 {
    // SAFETY: `getpid` has no arguments.
    unsafe { getpid() as u32 }
}

/// The number of the system call `gettid`. 0 for instruction sets on which the library has no sites, because the numbers there are untested.
const SYS_GETTID: c_long = if cfg!(target_arch = "x86_64") {
    186
} else if cfg!(any(target_arch = "x86", target_arch = "arm")) {
    224
} else if cfg!(target_arch = "powerpc64") {
    207
} else if cfg!(target_arch = "s390x") {
    236
} else if cfg!(any(target_arch = "aarch64", target_arch = "riscv64", target_arch = "loongarch64")) {
    178
} else {
    0
};

/// The number of the calling thread, from `gettid`. `None` if a seccomp filter refuses `gettid`. Leaves `errno` as it is.
pub(super) fn gettid() -> Option<NonZeroU32> {
    if SYS_GETTID == 0 {
        return NonZeroU32::new(rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs());
    }
    // SAFETY: `gettid` has no arguments. `errno` belongs to this thread.
    let number = unsafe {
        let errno = __errno_location();
        let before = errno.read();
        let number = syscall(SYS_GETTID);
        errno.write(before);
        number
    };
    u32::try_from(number).ok().and_then(NonZeroU32::new)
}

/// The number of the system call `rt_sigprocmask`.
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

/// Calls `dlopen`, or returns null if the program has no `dlopen`, as in a static program. The function is looked up by its name, because a direct
/// reference would make the linker warn: this library's archive for C is also linked into static programs, and with glibc the linker warns of each
/// reference to `dlopen` there.
///
/// # Safety
/// The contract of `dlopen`.
#[cfg(not(target_feature = "crt-static"))]
pub(super) unsafe fn dlopen(file: *const c_char, flags: c_int) -> *mut c_void {
    type Dlopen = unsafe extern "C" fn(*const c_char, c_int) -> *mut c_void;
    // SAFETY: the C library's function of this name has this type. Null becomes `None`. The caller keeps the contract of `dlopen`.
    unsafe {
        let found = core::mem::transmute::<*mut c_void, Option<Dlopen>>(dlsym(RTLD_DEFAULT, c"dlopen".as_ptr()));
        found.map_or(core::ptr::null_mut(), |dlopen| dlopen(file, flags))
    }
}

/// Calls glibc's `__cxa_thread_atexit_impl`: at the end of this thread, the C library calls `function` with a null pointer. Does nothing if glibc
/// does not have that function. The function is looked up by its name, because glibc has it since 2.18, and programs in Rust must also start with
/// 2.17.
///
/// # Safety
/// `function` may be called with a null pointer at the end of this thread. `object` is an address in the object that contains `function`.
#[cfg(all(target_env = "gnu", not(target_feature = "crt-static")))]
pub(super) unsafe fn thread_atexit(function: extern "C" fn(*mut c_void), object: *mut c_void) {
    type Register = unsafe extern "C" fn(extern "C" fn(*mut c_void), *mut c_void, *mut c_void) -> c_int;
    // SAFETY: the C library's function of this name has this type. Null becomes `None`. The caller allows the call of `function`.
    unsafe {
        let found = dlsym(RTLD_DEFAULT, c"__cxa_thread_atexit_impl".as_ptr());
        if let Some(register) = core::mem::transmute::<*mut c_void, Option<Register>>(found) {
            register(function, core::ptr::null_mut(), object);
        }
    }
}

/// Does nothing. A static program does not need the call, because it has no instance of this library in a shared library. The musl C library has no
/// function for it.
///
/// # Safety
/// None.
#[cfg(not(all(target_env = "gnu", not(target_feature = "crt-static"))))]
pub(super) const unsafe fn thread_atexit(_: extern "C" fn(*mut c_void), _: *mut c_void) {}

/// `sigset_t` of glibc and musl, which is 128 bytes.
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

/// The type of the two numbers in a `struct timespec`. On x32, where a pointer has 32 bits, the numbers also have 64 bits.
#[cfg(any(target_pointer_width = "64", target_arch = "x86_64"))]
type Number = i64;
#[cfg(not(any(target_pointer_width = "64", target_arch = "x86_64")))]
type Number = c_long;

#[repr(C)]
struct Timespec {
    seconds: Number,
    nanoseconds: Number,
}

/// The time of the monotonic clock.
pub(super) fn now() -> Duration {
    const CLOCK_MONOTONIC: c_int = 1;
    let mut time = Timespec { seconds: 0, nanoseconds: 0 };
    // SAFETY: `time` has the layout of a `struct timespec`, which the call fills.
    unsafe { clock_gettime(CLOCK_MONOTONIC, &raw mut time) };
    Duration::new(time.seconds as u64, time.nanoseconds as u32 % 1_000_000_000)
}

/// The number of bytes of a page.
pub(super) fn page_size() -> usize {
    const AT_PAGESZ: c_ulong = 6;
    // SAFETY: the call only reads the auxiliary vector.
    unsafe { getauxval(AT_PAGESZ) as usize }
}

/// A number that only the calling thread has, which is never 0. In a forked child, the thread that forked keeps its number.
pub(super) fn this_thread() -> usize {
    // SAFETY: `pthread_self` can be called at any time, and changes nothing.
    unsafe { pthread_self() }
}

/// Moves the mapping at `old` over the mapping at `new`. Leaves `errno` as it is, because the caller can be in a signal handler. This function does
/// not use `rustix`: if `rustix` 1.1.6 is built on the C library, it passes `MAP_FIXED` instead of `MREMAP_FIXED`.
///
/// # Safety
/// The mapping at `old` may be moved, and the mapping at `new` may be replaced.
pub(super) unsafe fn mremap_fixed(old: *mut c_void, bytes: usize, new: *mut c_void) -> Result<(), Refusal> {
    const MREMAP_MAYMOVE: c_int = 1;
    const MREMAP_FIXED: c_int = 2;
    // SAFETY: the caller guarantees that the mapping at `old` may be moved, and that the one at `new` may be replaced. `errno` belongs to this
    // thread.
    unsafe {
        let errno = __errno_location();
        let before = errno.read();
        if mremap(old, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, new) == new {
            return Ok(());
        }
        Err(Refusal::errno(errno.replace(before)))
    }
}

/// Makes the system call `rt_sigprocmask` with an operation that the kernel does not know, and with the eight bytes at `mask` as the mask. So the
/// call always fails, and its error tells whether the kernel can read these bytes: EINVAL if it can, EFAULT if not. The function makes the system
/// call itself, because the C library's function would read the mask. Leaves `errno` as it is.
#[inline(never)]
pub(super) fn rt_sigprocmask(mask: usize) -> Result<(), Refusal> {
    const UNKNOWN: c_int = -1;
    const NONE: *mut c_void = core::ptr::null_mut();
    // SAFETY: the kernel checks whether it can read the mask, and refuses the unknown operation without a change. `errno` belongs to this thread.
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
    fn getpid() -> c_int;
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
    #[cfg(jumplabel_threads)]
    pub(super) fn pthread_create(
        thread: *mut usize,
        attributes: *const c_void,
        function: extern "C" fn(*mut c_void) -> *mut c_void,
        argument: *mut c_void,
    ) -> c_int;
    #[cfg(jumplabel_threads)]
    pub(super) fn pthread_detach(thread: usize) -> c_int;
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
