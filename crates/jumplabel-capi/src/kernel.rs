//! The platform of kernels in C: that of [`jumplabel_kernel`], with a machine that calls the kernel's C functions. include/jumplabel/kernel.h says
//! what each function does.

use core::ffi::{c_int, c_void};

use jumplabel::platform::Platform;
use jumplabel_kernel::Kernel;

use crate::lock;
pub use crate::machine::set_cpu;
use crate::machine::{Functions, Given};
use crate::result::{Refusal, code};

/// C's `struct jumplabel_bounds`: the addresses of the kernel or of a module.
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

const ENOMEM: c_int = -12;
const EBUSY: c_int = -16;
const EINVAL: c_int = -22;

/// The largest number of CPUs. The variable `JUMPLABEL_KERNEL_CPUS` sets it when the library is built; the default is the number of bits of a word,
/// which is the limit.
const CPUS: usize = number(option_env!("JUMPLABEL_KERNEL_CPUS"), usize::BITS as usize);
const PAGES: usize = number(option_env!("JUMPLABEL_KERNEL_PAGES"), 16);

const fn number(text: Option<&str>, default: usize) -> usize {
    let Some(text) = text else { return default };
    match usize::from_str_radix(text, 10) {
        Ok(number) if number > 0 => number,
        _ => panic!("JUMPLABEL_KERNEL_CPUS and JUMPLABEL_KERNEL_PAGES are numbers"),
    }
}

static KERNEL: Kernel<Given, CPUS, PAGES> = Kernel::new(Given::none());
static PLATFORM: &dyn Platform = &KERNEL;

/// Makes flips possible. The boot CPU calls this before the first flip. A second call is refused, and changes nothing. Returns 0 or an error.
///
/// # Safety
/// `machine` is null, or the address of a `struct jumplabel_machine` that lives for ever, with functions that do what kernel.h says. `bounds` is
/// null, or the address of the kernel's bounds. No other CPU runs yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_kernel_start(machine: *const Functions, bounds: *const Bounds) -> c_int {
    // SAFETY: the caller guarantees that each address is null, or that of a machine that lives for ever or of bounds.
    let (Some(functions), Some(bounds)) = (unsafe { machine.as_ref() }, unsafe { bounds.as_ref() }) else {
        return EINVAL;
    };
    let Functions { cpu: Some(cpu), interrupts_off: Some(_), restore: Some(_), interrupt: Some(_), .. } = functions
    else {
        return EINVAL;
    };
    let is_whole = functions.serialise.is_some() && functions.map.is_some() && functions.nanoseconds.is_some();
    let (true, Some(bounds)) = (is_whole && cpu() < CPUS, bounds.all()) else { return EINVAL };
    if !KERNEL.machine().give(functions) {
        return EBUSY;
    }
    set_cpu(*cpu);
    // SAFETY: the caller guarantees that these are the kernel's own bounds, and that no other CPU runs yet.
    code(unsafe { KERNEL.start(&PLATFORM, &bounds) }.map_err(Refusal::Core))
}

/// Brings the calling CPU online. Then calls `notify`, if it is not NULL, with the lock held: `notify` must flip by the `*_cpuslocked` functions.
/// Returns 0 or an error.
///
/// # Safety
/// `notify` can be called with `data`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_kernel_online(
    notify: Option<unsafe extern "C" fn(*mut c_void)>,
    data: *mut c_void,
) -> c_int {
    let online = KERNEL.online(|lock| {
        if let Some(notify) = notify {
            // SAFETY: the caller guarantees that `notify` can be called with `data`.
            lock::lend(lock, || unsafe { notify(data) });
        }
    });
    code(online.map_err(Refusal::Core))
}

/// Takes the calling CPU offline. Returns 0 or an error.
#[unsafe(no_mangle)]
pub extern "C" fn jumplabel_kernel_offline() -> c_int {
    code(KERNEL.offline().map_err(Refusal::Core))
}

/// Tells the library that the code from `start` to `end` is about to be freed, so that flips do not write there any more. Returns 0 or an error.
#[unsafe(no_mangle)]
pub extern "C" fn jumplabel_kernel_free(start: usize, end: usize) -> c_int {
    match KERNEL.free(&(start..end)) {
        Ok(true) => 0,
        Ok(false) => EINVAL,
        Err(error) => Refusal::Core(error).code(),
    }
}

/// Carries out the orders of the CPU that flips. The kernel's handler of `interrupt` calls this.
#[unsafe(no_mangle)]
pub extern "C" fn jumplabel_kernel_answer() {
    KERNEL.answer();
}

/// Ends flips: from now on, none can begin.
#[unsafe(no_mangle)]
pub extern "C" fn jumplabel_kernel_end() {
    KERNEL.end();
}

/// Returns the number of the last CPU that did not answer a flip in time; -1 if there was none.
#[unsafe(no_mangle)]
pub extern "C" fn jumplabel_kernel_late() -> isize {
    KERNEL.late().map_or(-1, usize::cast_signed)
}

/// Tells the library where a module lies. The kernel calls this before the module's constructors run. Returns 0; `-EINVAL` if the bounds make no
/// sense or overlap others; `-ENOMEM` if there are too many modules.
///
/// # Safety
/// `bounds` is null, or the address of the bounds of a module that stays there until `jumplabel_kernel_unload`. Only one CPU at a time loads or
/// unloads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_kernel_load(bounds: *const Bounds) -> c_int {
    // SAFETY: the caller guarantees that `bounds` is null or the address of a module's bounds.
    let Some(bounds) = unsafe { bounds.as_ref() }.and_then(|bounds| bounds.all()) else { return EINVAL };
    // SAFETY: the caller guarantees that the module stays there until it is unloaded, and that only one CPU at a time loads or unloads.
    match unsafe { KERNEL.load(&bounds) } {
        true => 0,
        false if KERNEL.overlaps(&bounds) => EINVAL,
        false => ENOMEM,
    }
}

/// Forgets a module. The kernel calls this after the module's destructors have run.
///
/// # Safety
/// The conditions of [`jumplabel_kernel_load`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_kernel_unload(bounds: *const Bounds) {
    // SAFETY: the caller guarantees that `bounds` is null or the address of a module's bounds.
    if let Some(bounds) = unsafe { bounds.as_ref() }.and_then(|bounds| bounds.all()) {
        // SAFETY: the caller guarantees that the module's destructors have run, and that only one CPU at a time loads or unloads.
        unsafe { KERNEL.unload(&bounds) };
    }
}

#[cfg(test)]
mod tests {
    use core::ptr::null;

    use super::*;
    use crate::machine::tests::whole;

    /// `jumplabel_kernel_start` refuses incomplete machines and bounds. (No start succeeds here: it would give this process the platform of a
    /// kernel.)
    #[test]
    fn refused() {
        let sound = Bounds { code: 0x1000, code_end: 0x2000, start: 0x1000, end: 0x3000 };
        // SAFETY: each call is refused before it keeps the machine or the bounds. At most it calls `cpu`, which is a function of this test.
        let start = |machine: &Functions, bounds: &Bounds| unsafe { jumplabel_kernel_start(machine, bounds) };
        // SAFETY: the machine is null, and the bounds live during the call.
        assert_eq!(unsafe { jumplabel_kernel_start(null(), &raw const sound) }, EINVAL);
        // SAFETY: the bounds are null, and the call is refused before it keeps the machine.
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
}

/// The panic handler, because a kernel in C has none. The library never panics. If it did, this CPU would spin here for ever.
#[cfg(feature = "kernel-alone")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {
        core::hint::spin_loop();
    }
}
