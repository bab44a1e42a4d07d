//! A static call as tables and transactions see it: its target, without a type.

use core::sync::atomic::{AtomicUsize, Ordering};

use super::flags::Flags;

/// The number that a transaction gets instead of a new target if the present target is about to be unloaded. No code has this number as its address.
pub(crate) const UNLOADED: usize = usize::MAX;

/// A static call without its type, as table entries and batches refer to it.
#[repr(C, align(8))]
pub struct RawCall {
    /// The address to which the trampoline leads while its jump is changed, and also while the target is out of reach of that jump. 0 until the
    /// first update.
    slot: AtomicUsize,
    /// The address to which the call leads. 0 for the default.
    target: AtomicUsize,
    /// The address of the default, which the trampoline's table entry names.
    default: AtomicUsize,
    flags: Flags,
}

impl RawCall {
    const SEALED: u32 = 1 << 0;
    const EVENTUAL: u32 = 1 << 1;
    /// A flag that only C sets: C may update the call to NULL.
    const OPTIONAL: u32 = 1 << 2;
    /// A flag that only C sets: the call was defined in C. In a build without trampolines, the target of a call of C is the address of the function,
    /// and the target of a call of Rust is the address of a word that holds the function's address.
    const OF_C: u32 = 1 << 3;

    #[allow(clippy::new_without_default)] // `Default` is not const, and a call must be a static.
    pub(crate) const fn new() -> RawCall {
        let [slot, target, default] = [const { AtomicUsize::new(0) }; 3];
        RawCall { slot, target, default, flags: Flags::new(0) }
    }

    /// The address of the call, to which table entries lead.
    #[must_use]
    pub fn address(&self) -> usize {
        core::ptr::from_ref(self) as usize
    }

    /// The address to which the call leads. 0 for the default.
    pub(crate) fn target(&self) -> usize {
        self.target.load(Ordering::Acquire)
    }

    /// The address of the function that `target` stands for. 0 for the default.
    pub(crate) fn function(&self, target: usize) -> usize {
        if cfg!(jumplabel_trampolines) || target == 0 || self.is_of_c() {
            return target;
        }
        // SAFETY: in a build without trampolines, the target of a call of Rust is the address of a word (`call::pointers`), and that word never
        // changes.
        unsafe { *(target as *const usize) }
    }

    /// Whether the call was defined in C.
    pub(crate) fn is_of_c(&self) -> bool {
        self.flags.has(Self::OF_C)
    }

    /// The address of the default. 0 until `set_default` was called, which never happens for a call without a trampoline.
    pub(crate) fn default(&self) -> usize {
        self.default.load(Ordering::Relaxed)
    }

    /// Stores the address of the default. All calls of this function for one static call pass the same address. Called under the lock.
    #[cfg(jumplabel_sites)]
    pub(crate) fn set_default(&self, default: usize) {
        self.default.store(default, Ordering::Relaxed);
    }

    /// From now on, a thread that comes to the trampoline while the trampoline is changed goes to `target`. Called under the lock.
    pub(crate) fn expose(&self, target: usize) {
        let address = if target == 0 { self.default() } else { target };
        self.slot.store(address, Ordering::SeqCst);
    }

    /// Publishes `target`. Called under the lock, when the trampoline leads to `target`.
    pub(crate) fn publish(&self, target: usize) {
        self.target.store(target, Ordering::Release);
    }

    /// Whether the call was sealed.
    #[must_use]
    pub fn is_sealed(&self) -> bool {
        self.flags.has(Self::SEALED)
    }

    /// Seals the call. Called under the lock.
    pub(crate) fn set_sealed(&self) {
        self.flags.set(Self::SEALED, true);
    }

    /// Whether the call was defined in C, as one that may be updated to NULL.
    #[must_use]
    pub fn is_optional(&self) -> bool {
        self.flags.has(Self::OPTIONAL)
    }

    /// Whether other threads may still go to the target that the call had before its last update.
    pub(crate) fn is_eventual(&self) -> bool {
        self.flags.has(Self::EVENTUAL)
    }

    /// Sets the answer of [`is_eventual`](Self::is_eventual). Called under the lock.
    pub(crate) fn set_eventual(&self, eventual: bool) {
        self.flags.set(Self::EVENTUAL, eventual);
    }
}

impl core::fmt::Debug for RawCall {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.target() {
            0 => f.write_str("StaticCall(default)"),
            target => write!(f, "StaticCall({target:#x})"),
        }
    }
}
