//! Kernels in C: [`jumplabel_kernel`]'s platform, whose parts are functions of the kernel's. include/jumplabel/kernel.h says what each is.

use core::ffi::{c_int, c_void};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering};
use core::time::Duration;

use jumplabel::Errno;
use jumplabel::text::Text;
use jumplabel_kernel::{Kernel, Machine};

use crate::lock;
use crate::result::{Refusal, code};

/// `struct jumplabel_machine`.
#[repr(C)]
pub struct Functions {
    cpu: Option<extern "C" fn() -> usize>,
    interrupts_off: Option<extern "C" fn() -> u64>,
    restore: Option<extern "C" fn(u64)>,
    interrupt: Option<extern "C" fn(usize)>,
    serialise: Option<extern "C" fn()>,
    map: Option<extern "C" fn(usize, &mut usize) -> c_int>,
    nanoseconds: Option<extern "C" fn() -> u64>,
    wait: Option<extern "C" fn()>,
    unmap: Option<extern "C" fn(usize)>,
    clean: Option<extern "C" fn(usize, usize, usize)>,
    patience: u64,
}

/// `struct jumplabel_bounds`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Bounds {
    code: usize,
    code_end: usize,
    start: usize,
    end: usize,
}

impl Bounds {
    fn all(self) -> Option<jumplabel_kernel::Bounds> {
        let is_sound = self.start <= self.code && self.code < self.code_end && self.code_end <= self.end;
        is_sound.then_some(jumplabel_kernel::Bounds { code: self.code..self.code_end, all: self.start..self.end })
    }
}

/// The functions that `jumplabel_kernel_start` was given.
struct Given(AtomicPtr<Functions>);

impl Given {
    fn functions(&self) -> Option<&'static Functions> {
        // SAFETY: null, or a static of the kernel's.
        unsafe { self.0.load(Ordering::Acquire).as_ref() }
    }

    fn call<T>(&self, which: impl FnOnce(&Functions) -> Option<T>) -> Option<T> {
        self.functions().and_then(which)
    }
}

// SAFETY: what the kernel promises of its functions. Those that must be there were looked at.
unsafe impl Machine for Given {
    fn cpu(&self) -> usize {
        self.call(|of| of.cpu).map_or(0, |cpu| cpu())
    }

    fn interrupts_off(&self) -> u64 {
        self.call(|of| of.interrupts_off).map_or(0, |off| off())
    }

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
        self.call(|of| of.wait).map_or_else(core::hint::spin_loop, |wait| wait());
    }

    fn serialise(&self) {
        if let Some(serialise) = self.call(|of| of.serialise) {
            serialise();
        }
    }

    fn map(&self, address: usize) -> Result<usize, Errno> {
        let mut alias = 0;
        match self.call(|of| of.map).map_or(NO_SYSTEM, |map| map(address, &mut alias)) {
            0 => Ok(alias),
            error => Err(Errno(error.abs())),
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

    fn now(&self) -> Duration {
        Duration::from_nanos(self.call(|of| of.nanoseconds).map_or(0, |nanoseconds| nanoseconds()))
    }

    fn patience(&self) -> Duration {
        let given = self.functions().map_or(0, |of| of.patience);
        Duration::from_nanos(if given == 0 { 1_000_000_000 } else { given })
    }
}

/// ENOSYS.
const NO_SYSTEM: c_int = 38;
const EINVAL: c_int = -22;

/// As `JUMPLABEL_KERNEL_CPUS` and `JUMPLABEL_KERNEL_PAGES` say while this is built.
const CPUS: usize = number(option_env!("JUMPLABEL_KERNEL_CPUS"), 64);
const PAGES: usize = number(option_env!("JUMPLABEL_KERNEL_PAGES"), 16);

const fn number(text: Option<&str>, default: usize) -> usize {
    let Some(text) = text else { return default };
    match usize::from_str_radix(text, 10) {
        Ok(number) if number > 0 => number,
        _ => panic!("JUMPLABEL_KERNEL_CPUS and JUMPLABEL_KERNEL_PAGES are numbers"),
    }
}

static KERNEL: Kernel<Given, CPUS, PAGES> = Kernel::new(Given(AtomicPtr::new(null_mut())));
static TEXT: &dyn Text = &KERNEL;

/// What tells CPUs apart.
static CPU: AtomicPtr<()> = AtomicPtr::new(null_mut());

/// For a kernel in Rust that has a [`Kernel`] of its own, and C code: `jump_label_lock()` has to tell CPUs apart.
pub fn set_cpu(cpu: extern "C" fn() -> usize) {
    CPU.store(cpu as *mut (), Ordering::Release);
}

pub(crate) fn cpu() -> usize {
    // SAFETY: null, or from `set_cpu`.
    let cpu = unsafe { core::mem::transmute::<*mut (), Option<extern "C" fn() -> usize>>(CPU.load(Ordering::Acquire)) };
    cpu.map_or(0, |cpu| cpu())
}

/// On the boot CPU, before the first flip: from now on flips write.
///
/// # Safety
/// Null, or a `struct jumplabel_machine` that stays, whose functions do what kernel.h says; the kernel's bounds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_kernel_start(machine: *const Functions, bounds: *const Bounds) -> c_int {
    // SAFETY: by the contract.
    let (Some(functions), Some(bounds)) = (unsafe { machine.as_ref() }, unsafe { bounds.as_ref() }) else {
        return EINVAL;
    };
    let Functions { cpu: Some(cpu), interrupts_off: Some(_), restore: Some(_), interrupt: Some(_), .. } = functions
    else {
        return EINVAL;
    };
    let is_whole = functions.serialise.is_some() && functions.map.is_some() && functions.nanoseconds.is_some();
    let (true, Some(bounds)) = (is_whole && cpu() < CPUS, bounds.all()) else { return EINVAL };
    KERNEL.machine().0.store(machine.cast_mut(), Ordering::Release);
    set_cpu(*cpu);
    // SAFETY: by the contract.
    unsafe { KERNEL.start(&TEXT, &bounds) };
    0
}

/// A CPU comes; `notify` flips with the lock held.
///
/// # Safety
/// `notify` may be called with `data`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_kernel_online(
    notify: Option<unsafe extern "C" fn(*mut c_void)>,
    data: *mut c_void,
) -> c_int {
    if cpu() >= CPUS {
        return EINVAL;
    }
    let online = KERNEL.online(|lock| {
        if let Some(notify) = notify {
            // SAFETY: by the contract.
            lock::lend(lock, || unsafe { notify(data) });
        }
    });
    code(online.map_err(Refusal::Core))
}

/// A CPU goes.
#[unsafe(no_mangle)]
pub extern "C" fn jumplabel_kernel_offline() -> c_int {
    code(KERNEL.offline().map_err(Refusal::Core))
}

/// Before code is freed.
#[unsafe(no_mangle)]
pub extern "C" fn jumplabel_kernel_free(start: usize, end: usize) -> c_int {
    match KERNEL.free(&(start..end)) {
        Ok(true) => 0,
        Ok(false) => EINVAL,
        Err(error) => Refusal::Core(error).code(),
    }
}

/// What the handler of `interrupt` calls.
#[unsafe(no_mangle)]
pub extern "C" fn jumplabel_kernel_answer() {
    KERNEL.answer();
}

/// No flip may write any more.
#[unsafe(no_mangle)]
pub extern "C" fn jumplabel_kernel_end() {
    KERNEL.end();
}

/// The CPU that a flip waited for in vain last, or -1.
#[unsafe(no_mangle)]
pub extern "C" fn jumplabel_kernel_late() -> isize {
    KERNEL.late().map_or(-1, usize::cast_signed)
}

/// Before the constructors of a module run: where it lies.
///
/// # Safety
/// Null, or a module's, until `jumplabel_kernel_unload`. One CPU at a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_kernel_load(bounds: *const Bounds) -> c_int {
    // SAFETY: by the contract.
    let Some(bounds) = unsafe { bounds.as_ref() }.and_then(|bounds| bounds.all()) else { return EINVAL };
    // SAFETY: the same.
    if unsafe { KERNEL.load(&bounds) } { 0 } else { code::<()>(Err(Refusal::Core(jumplabel::Error::OutOfMemory))) }
}

/// After the destructors of a module have run.
///
/// # Safety
/// As for [`jumplabel_kernel_load`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_kernel_unload(bounds: *const Bounds) {
    // SAFETY: by the contract.
    if let Some(bounds) = unsafe { bounds.as_ref() }.and_then(|bounds| bounds.all()) {
        // SAFETY: the same.
        unsafe { KERNEL.unload(&bounds) };
    }
}

#[cfg(test)]
mod tests {
    use core::ptr::null;

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

    fn whole() -> Functions {
        Functions {
            cpu: Some(zero),
            interrupts_off: Some(off),
            restore: Some(restore),
            interrupt: Some(interrupt),
            serialise: Some(serialise),
            map: Some(map),
            nanoseconds: Some(off),
            wait: None,
            unmap: None,
            clean: None,
            patience: 0,
        }
    }

    /// What is not whole is refused. (A start that succeeds would give this process a kernel's platform.)
    #[test]
    fn refused() {
        let sound = Bounds { code: 0x1000, code_end: 0x2000, start: 0x1000, end: 0x3000 };
        // SAFETY: all of them are refused.
        let start = |machine: &Functions, bounds: &Bounds| unsafe { jumplabel_kernel_start(machine, bounds) };
        // SAFETY: the same.
        assert_eq!(unsafe { jumplabel_kernel_start(null(), &raw const sound) }, EINVAL);
        // SAFETY: the same.
        assert_eq!(unsafe { jumplabel_kernel_start(&whole(), null()) }, EINVAL);
        for bounds in
            [Bounds { code_end: 0x1000, ..sound }, Bounds { start: 0x1001, ..sound }, Bounds { end: 0x1fff, ..sound }]
        {
            assert_eq!(start(&whole(), &bounds), EINVAL);
        }
        extern "C" fn many() -> usize {
            CPUS
        }
        let broken: [fn(&mut Functions); 8] = [
            |of| of.cpu = None,
            |of| of.cpu = Some(many),
            |of| of.interrupts_off = None,
            |of| of.restore = None,
            |of| of.interrupt = None,
            |of| of.serialise = None,
            |of| of.map = None,
            |of| of.nanoseconds = None,
        ];
        for change in broken {
            let mut functions = whole();
            change(&mut functions);
            assert_eq!(start(&functions, &sound), EINVAL);
        }
        assert!(KERNEL.machine().functions().is_none() && jumplabel_kernel_late() == -1);
    }

    /// What the functions say, and what stands for those that are not there.
    #[test]
    fn given() {
        let functions = whole();
        let given = Given(AtomicPtr::new((&raw const functions).cast_mut()));
        assert_eq!(given.map(1), Err(Errno(5)));
        assert_eq!((given.cpu(), given.patience()), (0, Duration::from_secs(1)));
        given.wait();
        let none = Given(AtomicPtr::new(null_mut()));
        assert_eq!((none.map(1), none.now()), (Err(Errno(NO_SYSTEM)), Duration::ZERO));
    }
}

/// Nobody else has one. The library panics nowhere; it stands still, if it does.
#[cfg(feature = "kernel-alone")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {
        core::hint::spin_loop();
    }
}
