//! The interrupt flag. Natively a word that says whether interrupts are on; a guest has a mask that its host reads, and looks for what came
//! in while it was off (Xen: `evtchn_upcall_mask` and `_pending`).

use std::sync::atomic::{AtomicU32, Ordering};

jumplabel::ops! {
    /// How interrupts are switched off and on.
    pub static IRQ: Interrupts = {
        /// By the flag.
        Native,
        /// By the mask, as closed arms.
        Masked,
        /// The same, as functions.
        Called
    };

    /// Whether interrupts are on: 1 or 0.
    ///
    /// # Safety
    /// `cpu` is a processor.
    pub unsafe fn save(cpu: *const Words) -> u64 {
        Native => native_save, x86_64 unsafe { "{{disp32}} mov {ret:e}, dword ptr [{cpu}]" };
        Masked => masked_save, x86_64 unsafe { "mov {ret:e}, dword ptr [{cpu} + 4]\nxor {ret:e}, 1" };
        Called => masked_save;
    }

    /// Switches interrupts off.
    ///
    /// # Safety
    /// `cpu` is a processor.
    pub unsafe fn disable(cpu: *const Words) {
        Native => native_disable, x86_64 unsafe { "{{disp32}} mov dword ptr [{cpu}], 0" };
        Masked => masked_disable, x86_64 unsafe { "mov dword ptr [{cpu} + 4], 1" };
        Called => masked_disable;
    }

    /// Switches interrupts on.
    ///
    /// # Safety
    /// `cpu` is a processor.
    pub unsafe fn enable(cpu: *const Words) {
        Native => native_enable, x86_64 unsafe { "{{disp32}} mov dword ptr [{cpu}], 1" };
        Masked => masked_enable, x86_64 unsafe { "mov dword ptr [{cpu} + 4], 0\ncmp dword ptr [{cpu} + 8], 0\njne {call}f" } else call;
        Called => masked_enable;
    }

    /// Switches interrupts to what `save` has returned.
    ///
    /// # Safety
    /// `cpu` is a processor, `flags` 1 or 0.
    pub unsafe fn restore(cpu: *const Words, flags: u64) {
        Native => native_restore, x86_64 unsafe { "{{disp32}} mov dword ptr [{cpu}], {flags:e}" };
        Masked => masked_restore,
            x86_64 unsafe { "mov dword ptr [{cpu} + 4], 1\nsub dword ptr [{cpu} + 4], {flags:e}\ncmp dword ptr [{cpu} + 8], 0\njne {call}f" } else call;
        Called => masked_restore;
    }
}

/// What the operations read and write.
#[derive(Debug)]
#[repr(C)]
pub struct Words {
    on: AtomicU32,
    mask: AtomicU32,
    pending: AtomicU32,
    taken: AtomicU32,
}

/// A processor: one thread's.
#[derive(Debug)]
#[repr(transparent)]
pub struct Cpu(Words);

impl Default for Cpu {
    fn default() -> Cpu {
        Cpu::new()
    }
}

impl Cpu {
    /// Interrupts are on.
    #[must_use]
    pub const fn new() -> Cpu {
        let [mask, pending, taken] = [const { AtomicU32::new(0) }; 3];
        Cpu(Words { on: AtomicU32::new(1), mask, pending, taken })
    }

    /// For the operations.
    #[must_use]
    pub const fn as_ptr(&self) -> *const Words {
        &raw const self.0
    }

    /// As the host: an interrupt comes in, which a guest sees when it switches them on.
    pub fn send(&self) {
        self.0.pending.store(1, Ordering::Relaxed);
    }

    /// How many interrupts the guest has seen.
    #[must_use]
    pub fn taken(&self) -> u32 {
        self.0.taken.load(Ordering::Relaxed)
    }
}

/// # Safety
/// A processor, for as long as the caller looks at it.
unsafe fn words<'a>(cpu: *const Words) -> &'a Words {
    // SAFETY: the caller passes the words of a processor.
    unsafe { &*cpu }
}

/// `save` by the flag.
///
/// # Safety
/// A processor.
pub unsafe extern "C" fn native_save(cpu: *const Words) -> u64 {
    // SAFETY: the caller passes the words of a processor.
    u64::from(unsafe { words(cpu) }.on.load(Ordering::Relaxed))
}

/// `disable` by the flag.
///
/// # Safety
/// A processor.
pub unsafe extern "C" fn native_disable(cpu: *const Words) {
    // SAFETY: the caller passes the words of a processor.
    unsafe { words(cpu) }.on.store(0, Ordering::Relaxed);
}

unsafe extern "C" fn native_enable(cpu: *const Words) {
    // SAFETY: the caller passes the words of a processor.
    unsafe { words(cpu) }.on.store(1, Ordering::Relaxed);
}

/// `restore` by the flag.
///
/// # Safety
/// A processor.
pub unsafe extern "C" fn native_restore(cpu: *const Words, flags: u64) {
    // SAFETY: the caller passes the words of a processor.
    unsafe { words(cpu) }.on.store(flags as u32, Ordering::Relaxed);
}

/// `save` by the mask.
///
/// # Safety
/// A processor.
pub unsafe extern "C" fn masked_save(cpu: *const Words) -> u64 {
    // SAFETY: the caller passes the words of a processor.
    u64::from(unsafe { words(cpu) }.mask.load(Ordering::Relaxed) ^ 1)
}

/// `disable` by the mask.
///
/// # Safety
/// A processor.
pub unsafe extern "C" fn masked_disable(cpu: *const Words) {
    // SAFETY: the caller passes the words of a processor.
    unsafe { words(cpu) }.mask.store(1, Ordering::Relaxed);
}

unsafe extern "C" fn masked_enable(cpu: *const Words) {
    // SAFETY: the caller passes the words of a processor.
    unsafe { masked_restore(cpu, 1) };
}

/// `restore` by the mask.
///
/// # Safety
/// A processor.
pub unsafe extern "C" fn masked_restore(cpu: *const Words, flags: u64) {
    // SAFETY: the caller passes the words of a processor.
    let words = unsafe { words(cpu) };
    words.mask.store(1 - flags as u32, Ordering::Relaxed);
    if flags == 1 && words.pending.load(Ordering::Relaxed) != 0 {
        words.pending.store(0, Ordering::Relaxed);
        words.taken.store(words.taken.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }
}
