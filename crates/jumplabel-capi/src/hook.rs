//! The hook that warnings go to, and what a change that succeeded may leave to warn of.

use core::ffi::{c_char, c_void};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use jumplabel::text::{Line, Pieces};
use jumplabel::{Lock, Outcome};

/// The hook's type.
pub type Hook = unsafe extern "C" fn(message: *const c_char, data: *mut c_void);

/// The hook and its data, in two slots: that of the generation is the one that counts, and the next hook goes to the other.
/// Whoever warns never waits, nor is turned away by others that warn: not on another thread, not in a signal handler that
/// interrupts a change of the hook, not in a child of fork.
static SLOTS: [Slot; 2] = [const { Slot { hook: AtomicPtr::new(null_mut()), data: AtomicPtr::new(null_mut()) } }; 2];
static GENERATION: AtomicUsize = AtomicUsize::new(0);

struct Slot {
    hook: AtomicPtr<()>,
    data: AtomicPtr<c_void>,
}

/// Sets the hook.
pub(crate) fn set(hook: Option<Hook>, data: *mut c_void) {
    // One at a time. Where this thread holds the lock already, it is the one.
    let _lock = Lock::take();
    let generation = GENERATION.load(Ordering::SeqCst).wrapping_add(1);
    let slot = &SLOTS[generation % 2];
    slot.hook.store(hook.map_or(null_mut(), |hook| hook as *mut ()), Ordering::SeqCst);
    slot.data.store(data, Ordering::SeqCst);
    GENERATION.store(generation, Ordering::SeqCst);
}

/// The hook, with the data that belongs to it.
fn chosen() -> (Option<Hook>, *mut c_void) {
    loop {
        let generation = GENERATION.load(Ordering::SeqCst);
        let slot = &SLOTS[generation % 2];
        let (hook, data) = (slot.hook.load(Ordering::SeqCst), slot.data.load(Ordering::SeqCst));
        // Else the slot may have been given to the hook after the next.
        if GENERATION.load(Ordering::SeqCst) == generation {
            // SAFETY: what `jumplabel_set_warn` stored; null is None.
            return (unsafe { core::mem::transmute::<*mut (), Option<Hook>>(hook) }, data);
        }
    }
}

/// What a change that succeeded may leave, and C has no result for.
pub(crate) trait Heed {
    /// Warns of it.
    fn heed(&self) {}
}

impl Heed for () {}

impl Heed for Outcome {
    fn heed(&self) {
        // A kernel's platform leaves nothing writable.
        if cfg!(feature = "hosted") && self.warnings.left_writable {
            say(&|pieces| {
                pieces(
                    "jumplabel: the sites have changed, and code is still writable, because the system refuses to take that back: allow \
                     mprotect; the next change, and jumplabel_verify(), try again",
                );
            });
        }
    }
}

/// Tells the hook. Without one: one line on standard error; in a kernel, nothing.
#[cold]
pub(crate) fn say(tell: &dyn Fn(Pieces<'_>)) {
    let (hook, data) = chosen();
    let line = Line::<320>::new(if hook.is_some() { 0 } else { b'\n' }, tell);
    match hook {
        // SAFETY: the program says so. The line ends with a 0.
        Some(hook) => unsafe { hook(line.bytes().as_ptr().cast(), data) },
        None => crate::system::print(line.bytes()),
    }
}
