//! The table of the interrupt flag. In the native backend, a word says whether interrupts are on. The other backends are for guests: a guest has a
//! mask that its host reads. When the guest clears the mask, it looks for interrupts that the host has sent meanwhile (Xen: `evtchn_upcall_mask` and
//! `evtchn_upcall_pending`).

use std::sync::atomic::{AtomicU32, Ordering};

jumplabel::ops! {
    /// How interrupts are switched off and on.
    pub static IRQ: Interrupts = {
        /// By the flag `on`.
        Native,
        /// By the mask; the operations are closed arms.
        Masked,
        /// By the mask; the operations are functions.
        Called
    };

    /// Returns 1 if interrupts are on, and 0 if not.
    ///
    /// # Safety
    /// `cpu` points to the words of a processor.
    pub unsafe fn save(cpu: *const Words) -> u64 {
        Native => native_save, x86_64 unsafe { "{{disp32}} mov {ret:e}, dword ptr [{cpu}]" };
        Masked => masked_save, x86_64 unsafe { "mov {ret:e}, dword ptr [{cpu} + 4]\nxor {ret:e}, 1" };
        Called => masked_save;
    }

    /// Switches interrupts off.
    ///
    /// # Safety
    /// `cpu` points to the words of a processor.
    pub unsafe fn disable(cpu: *const Words) {
        Native => native_disable, x86_64 unsafe { "{{disp32}} mov dword ptr [{cpu}], 0" };
        Masked => masked_disable, x86_64 unsafe { "mov dword ptr [{cpu} + 4], 1" };
        Called => masked_disable;
    }

    /// Switches interrupts on.
    ///
    /// # Safety
    /// `cpu` points to the words of a processor.
    pub unsafe fn enable(cpu: *const Words) {
        Native => native_enable, x86_64 unsafe { "{{disp32}} mov dword ptr [{cpu}], 1" };
        Masked => masked_enable, x86_64 unsafe { "mov dword ptr [{cpu} + 4], 0\ncmp dword ptr [{cpu} + 8], 0\njne {call}f" } else call;
        Called => masked_enable;
    }

    /// Switches interrupts on or off, as they were when `save` returned `flags`.
    ///
    /// # Safety
    /// `cpu` points to the words of a processor; `flags` is 1 or 0.
    pub unsafe fn restore(cpu: *const Words, flags: u64) {
        Native => native_restore, x86_64 unsafe { "{{disp32}} mov dword ptr [{cpu}], {flags:e}" };
        Masked => masked_restore,
            x86_64 unsafe { "mov dword ptr [{cpu} + 4], 1\nsub dword ptr [{cpu} + 4], {flags:e}\ncmp dword ptr [{cpu} + 8], 0\njne {call}f" } else call;
        Called => masked_restore;
    }
}

/// The words of a processor that the operations read and write: the flag `on`, the mask (1: interrupts are off), whether an interrupt is pending, and
/// the number of interrupts that the guest has taken.
#[derive(Debug)]
#[repr(C)]
pub struct Words {
    on: AtomicU32,
    mask: AtomicU32,
    pending: AtomicU32,
    taken: AtomicU32,
}

/// A processor, which belongs to one thread.
#[derive(Debug)]
#[repr(transparent)]
pub struct Cpu(Words);

impl Default for Cpu {
    fn default() -> Cpu {
        Cpu::new()
    }
}

impl Cpu {
    /// A processor whose interrupts are on.
    #[must_use]
    pub const fn new() -> Cpu {
        let [mask, pending, taken] = [const { AtomicU32::new(0) }; 3];
        Cpu(Words { on: AtomicU32::new(1), mask, pending, taken })
    }

    /// The pointer to the processor's words that the operations take.
    #[must_use]
    pub const fn as_ptr(&self) -> *const Words {
        &raw const self.0
    }

    /// Sends an interrupt, as a host does. The guest takes the interrupt when it switches interrupts on.
    pub fn send(&self) {
        self.0.pending.store(1, Ordering::Relaxed);
    }

    /// The number of interrupts that the guest has taken.
    #[must_use]
    pub fn taken(&self) -> u32 {
        self.0.taken.load(Ordering::Relaxed)
    }
}

/// The words at `cpu`.
///
/// # Safety
/// `cpu` points to the words of a processor, which live as long as the caller uses them.
unsafe fn words<'a>(cpu: *const Words) -> &'a Words {
    // SAFETY: the caller guarantees that `cpu` points to the words of a processor.
    unsafe { &*cpu }
}

/// `save` by the flag.
///
/// # Safety
/// `cpu` points to the words of a processor.
pub unsafe extern "C" fn native_save(cpu: *const Words) -> u64 {
    // SAFETY: the caller guarantees that `cpu` points to the words of a processor.
    u64::from(unsafe { words(cpu) }.on.load(Ordering::Relaxed))
}

/// `disable` by the flag.
///
/// # Safety
/// `cpu` points to the words of a processor.
pub unsafe extern "C" fn native_disable(cpu: *const Words) {
    // SAFETY: the caller guarantees that `cpu` points to the words of a processor.
    unsafe { words(cpu) }.on.store(0, Ordering::Relaxed);
}

unsafe extern "C" fn native_enable(cpu: *const Words) {
    // SAFETY: the caller guarantees that `cpu` points to the words of a processor.
    unsafe { words(cpu) }.on.store(1, Ordering::Relaxed);
}

/// `restore` by the flag.
///
/// # Safety
/// `cpu` points to the words of a processor.
pub unsafe extern "C" fn native_restore(cpu: *const Words, flags: u64) {
    // SAFETY: the caller guarantees that `cpu` points to the words of a processor.
    unsafe { words(cpu) }.on.store(flags as u32, Ordering::Relaxed);
}

/// `save` by the mask.
///
/// # Safety
/// `cpu` points to the words of a processor.
pub unsafe extern "C" fn masked_save(cpu: *const Words) -> u64 {
    // SAFETY: the caller guarantees that `cpu` points to the words of a processor.
    u64::from(unsafe { words(cpu) }.mask.load(Ordering::Relaxed) ^ 1)
}

/// `disable` by the mask.
///
/// # Safety
/// `cpu` points to the words of a processor.
pub unsafe extern "C" fn masked_disable(cpu: *const Words) {
    // SAFETY: the caller guarantees that `cpu` points to the words of a processor.
    unsafe { words(cpu) }.mask.store(1, Ordering::Relaxed);
}

unsafe extern "C" fn masked_enable(cpu: *const Words) {
    // SAFETY: the caller guarantees that `cpu` points to the words of a processor.
    unsafe { masked_restore(cpu, 1) };
}

/// `restore` by the mask.
///
/// # Safety
/// `cpu` points to the words of a processor.
pub unsafe extern "C" fn masked_restore(cpu: *const Words, flags: u64) {
    // SAFETY: the caller guarantees that `cpu` points to the words of a processor.
    let words = unsafe { words(cpu) };
    words.mask.store(1 - flags as u32, Ordering::Relaxed);
    if flags == 1 && words.pending.load(Ordering::Relaxed) != 0 {
        words.pending.store(0, Ordering::Relaxed);
        words.taken.store(words.taken.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }
}
