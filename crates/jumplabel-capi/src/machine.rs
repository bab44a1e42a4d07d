//! The machine of a kernel in C: implements [`jumplabel_kernel::Machine`] by the kernel's C functions. include/jumplabel/kernel.h says what each
//! function does.

use core::ffi::c_int;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering};
use core::time::Duration;

use jumplabel::Refusal;
use jumplabel_kernel::Machine;

/// C's `struct jumplabel_machine`: the functions of a kernel.
#[repr(C)]
pub struct Functions {
    pub(crate) cpu: Option<extern "C" fn() -> usize>,
    pub(crate) interrupts_off: Option<extern "C" fn() -> u64>,
    pub(crate) restore: Option<extern "C" fn(u64)>,
    pub(crate) interrupt: Option<extern "C" fn(usize)>,
    pub(crate) serialise: Option<extern "C" fn()>,
    pub(crate) map: Option<extern "C" fn(usize, &mut usize) -> c_int>,
    pub(crate) nanoseconds: Option<extern "C" fn() -> u64>,
    pub(crate) wait: Option<extern "C" fn()>,
    pub(crate) relax: Option<extern "C" fn()>,
    pub(crate) unmap: Option<extern "C" fn(usize)>,
    pub(crate) clean: Option<extern "C" fn(usize, usize, usize)>,
    patience: u64,
}

/// The functions that the kernel passed to `jumplabel_kernel_start`.
pub(crate) struct Given(AtomicPtr<Functions>);

impl Given {
    pub(crate) const fn none() -> Given {
        Given(AtomicPtr::new(null_mut()))
    }

    /// Sets the functions. Returns false if there are functions already; these stay.
    pub(crate) fn give(&self, functions: &'static Functions) -> bool {
        let functions = core::ptr::from_ref(functions).cast_mut();
        self.0.compare_exchange(null_mut(), functions, Ordering::Release, Ordering::Relaxed).is_ok()
    }

    pub(crate) fn functions(&self) -> Option<&'static Functions> {
        // SAFETY: the address is null, or that of a `&'static Functions` that `give` has stored.
        unsafe { self.0.load(Ordering::Acquire).as_ref() }
    }

    fn call<T>(&self, which: impl FnOnce(&Functions) -> Option<T>) -> Option<T> {
        self.functions().and_then(which)
    }
}

// SAFETY: the caller of `jumplabel_kernel_start` guarantees that the functions do what kernel.h says, which is what `Machine` demands.
// `jumplabel_kernel_start` has checked that the required functions are there.
unsafe impl Machine for Given {
    fn cpu(&self) -> usize {
        self.call(|of| of.cpu).map_or(0, |cpu| cpu())
    }

    fn interrupts_off(&self) -> u64 {
        self.call(|of| of.interrupts_off).map_or(0, |off| off())
    }

    #[inline(never)]
    fn restore(&self, interrupts: u64) {
        if let Some(restore) = self.call(|of| of.restore) {
            restore(interrupts);
        }
    }

    fn interrupt(&self, cpu: usize) {
        if let Some(interrupt) = self.call(|of| of.interrupt) {
            interrupt(cpu);
        }
    }

    fn wait(&self) {
        self.call(|of| of.wait).map_or_else(|| self.relax(), |wait| wait());
    }

    #[inline(never)]
    fn relax(&self) {
        self.call(|of| of.relax).map_or_else(core::hint::spin_loop, |relax| relax());
    }

    fn serialise(&self) {
        if let Some(serialise) = self.call(|of| of.serialise) {
            serialise();
        }
    }

    fn map(&self, address: usize) -> Result<usize, Refusal> {
        let mut alias = 0;
        match self.call(|of| of.map).map_or(NO_SYSTEM, |map| map(address, &mut alias)) {
            0 => Ok(alias),
            error => Err(Refusal::errno(error.abs())),
        }
    }

    fn unmap(&self, alias: usize) {
        if let Some(unmap) = self.call(|of| of.unmap) {
            unmap(alias);
        }
    }

    fn clean(&self, address: usize, alias: usize, bytes: usize) {
        if let Some(clean) = self.call(|of| of.clean) {
            clean(address, alias, bytes);
        }
    }

    #[inline(never)]
    fn now(&self) -> Duration {
        Duration::from_nanos(self.call(|of| of.nanoseconds).map_or(0, |nanoseconds| nanoseconds()))
    }

    fn patience(&self) -> Duration {
        let given = self.functions().map_or(0, |of| of.patience);
        Duration::from_nanos(if given == 0 { 1_000_000_000 } else { given })
    }
}

/// The error number ENOSYS.
pub(crate) const NO_SYSTEM: c_int = 38;

/// The function that [`set_cpu`] has set, or null.
static CPU: AtomicPtr<()> = AtomicPtr::new(null_mut());

/// Sets the function that returns the number of the calling CPU. `jump_label_lock()` needs this function to tell CPUs apart. Call `set_cpu` in a
/// kernel that has a [`jumplabel_kernel::Kernel`] of its own, in Rust, and also C code. (`jumplabel_kernel_start` calls it for kernels in C.)
pub fn set_cpu(cpu: extern "C" fn() -> usize) {
    CPU.store(cpu as *mut (), Ordering::Release);
}

#[cfg_attr(not(target_os = "none"), allow(dead_code))] // Used only in kernels.
pub(crate) fn cpu() -> usize {
    // SAFETY: the word is null, which is `None`, or the address of a function of this type, which `set_cpu` has stored.
    let cpu = unsafe { core::mem::transmute::<*mut (), Option<extern "C" fn() -> usize>>(CPU.load(Ordering::Acquire)) };
    cpu.map_or(0, |cpu| cpu())
}

#[cfg(test)]
pub(crate) mod tests {
    use core::sync::atomic::AtomicUsize;

    use super::*;

    extern "C" fn zero() -> usize {
        0
    }
    extern "C" fn off() -> u64 {
        0
    }
    extern "C" fn restore(_: u64) {}
    extern "C" fn interrupt(_: usize) {}
    extern "C" fn serialise() {}
    extern "C" fn map(_: usize, _: &mut usize) -> c_int {
        -5
    }

    pub(crate) const fn whole() -> Functions {
        Functions {
            cpu: Some(zero),
            interrupts_off: Some(off),
            restore: Some(restore),
            interrupt: Some(interrupt),
            serialise: Some(serialise),
            map: Some(map),
            nanoseconds: Some(off),
            wait: None,
            relax: None,
            unmap: None,
            clean: None,
            patience: 0,
        }
    }

    /// The machine calls the kernel's functions, and works without the optional ones.
    #[test]
    fn given() {
        let functions = whole();
        let given = Given(AtomicPtr::new((&raw const functions).cast_mut()));
        assert_eq!(given.map(1), Err(Refusal::errno(5)));
        assert_eq!((given.cpu(), given.patience()), (0, Duration::from_secs(1)));
        given.wait();
        static RELAXED: AtomicUsize = AtomicUsize::new(0);
        extern "C" fn relax() {
            RELAXED.fetch_add(1, Ordering::Relaxed);
        }
        extern "C" fn wait() {}
        let relaxing = Functions { relax: Some(relax), ..whole() };
        let given = |functions: &Functions| Given(AtomicPtr::new(core::ptr::from_ref(functions).cast_mut()));
        given(&relaxing).relax();
        // The kernel has no `wait`, so the machine calls `relax` instead.
        given(&relaxing).wait();
        assert_eq!(RELAXED.load(Ordering::Relaxed), 2);
        given(&Functions { wait: Some(wait), ..relaxing }).wait();
        assert_eq!(RELAXED.load(Ordering::Relaxed), 2);
        let none = Given::none();
        assert_eq!((none.map(1), none.now()), (Err(Refusal::errno(NO_SYSTEM)), Duration::ZERO));
        // The functions that are set first stay.
        static FIRST: Functions = whole();
        static SECOND: Functions = Functions { patience: 5, ..whole() };
        assert_eq!([&FIRST, &SECOND, &FIRST].map(|functions| none.give(functions)), [true, false, false]);
        assert!(none.functions().is_some_and(|functions| core::ptr::eq(functions, &FIRST)));
    }
}
