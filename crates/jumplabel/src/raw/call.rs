//! A static call as tables and transactions see it: where it leads, without a type.

use core::sync::atomic::{AtomicUsize, Ordering};

use super::flags::Flags;

/// Tells a transaction that the target goes with its object. No address of code, so nobody else uses it.
pub(crate) const UNLOADED: usize = usize::MAX;

/// A static call without its type: what table entries and batches refer to.
#[repr(C, align(8))]
pub struct RawCall {
    /// Where the trampoline goes while it does not jump itself. 0 as long as it always has.
    slot: AtomicUsize,
    /// Where the call leads; 0 for the default.
    target: AtomicUsize,
    /// The address of the default, from the trampoline's entry.
    default: AtomicUsize,
    flags: Flags,
}

impl RawCall {
    const SEALED: u32 = 1 << 0;
    const EVENTUAL: u32 = 1 << 1;
    /// In what C emits: it may lead nowhere.
    const OPTIONAL: u32 = 1 << 2;
    /// In what C emits. It loads the function itself where there are no trampolines.
    const OF_C: u32 = 1 << 3;

    #[allow(clippy::new_without_default)] // `Default` is not const, and a call must be a static.
    pub(crate) const fn new() -> RawCall {
        let [slot, target, default] = [const { AtomicUsize::new(0) }; 3];
        RawCall { slot, target, default, flags: Flags::new(0) }
    }

    /// Address of the call: what table entries point to.
    #[must_use]
    pub fn address(&self) -> usize {
        core::ptr::from_ref(self) as usize
    }

    /// Where it leads; 0 for the default.
    pub(crate) fn target(&self) -> usize {
        self.target.load(Ordering::Acquire)
    }

    /// The address of the function that `target` stands for; 0 for the default.
    pub(crate) fn function(&self, target: usize) -> usize {
        if cfg!(jumplabel_trampolines) || target == 0 || self.is_of_c() {
            return target;
        }
        // SAFETY: a word of `pointers`, which stays as it is.
        unsafe { *(target as *const usize) }
    }

    /// Whether C has defined it.
    pub(crate) fn is_of_c(&self) -> bool {
        self.flags.has(Self::OF_C)
    }

    /// The address of the default; 0 until it was asked for, or if nobody calls.
    pub(crate) fn default(&self) -> usize {
        self.default.load(Ordering::Relaxed)
    }

    /// Under the lock: says what the default is, which is always the same.
    #[cfg(jumplabel_sites)]
    pub(crate) fn set_default(&self, default: usize) {
        self.default.store(default, Ordering::Relaxed);
    }

    /// Under the lock: a thread that comes to the trampoline while that changes goes to `target`.
    pub(crate) fn expose(&self, target: usize) {
        let address = if target == 0 { self.default() } else { target };
        self.slot.store(address, Ordering::SeqCst);
    }

    /// Under the lock: the trampoline leads there.
    pub(crate) fn publish(&self, target: usize) {
        self.target.store(target, Ordering::Release);
    }

    /// Whether the call was sealed.
    #[must_use]
    pub fn is_sealed(&self) -> bool {
        self.flags.has(Self::SEALED)
    }

    /// Under the lock.
    pub(crate) fn set_sealed(&self) {
        self.flags.set(Self::SEALED, true);
    }

    /// Whether C has defined the call as one that may lead nowhere.
    #[must_use]
    pub fn is_optional(&self) -> bool {
        self.flags.has(Self::OPTIONAL)
    }

    /// Whether other threads may still go to the target before the last update.
    pub(crate) fn is_eventual(&self) -> bool {
        self.flags.has(Self::EVENTUAL)
    }

    /// Under the lock.
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
