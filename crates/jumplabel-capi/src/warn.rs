//! The warning hook: for what Linux says with a WARN, and for the errors of functions without a result.

use core::ffi::{c_char, c_void};
use core::fmt::{self, Write};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use jumplabel::{Lock, Outcome, RawKey};

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

/// Sets the hook. Null: one line on standard error; in a kernel, nothing.
#[unsafe(no_mangle)]
pub extern "C" fn jumplabel_set_warn(hook: Option<Hook>, data: *mut c_void) {
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

/// Warns that `function` was refused.
#[cold]
pub(crate) fn warn(function: &str, key: *const RawKey, refusal: impl fmt::Display) {
    say(format_args!("jumplabel: {function}({key:p}): {refusal}"));
}

/// What a change that succeeded may leave, and C has no result for.
pub(crate) trait Heed {
    /// Warns of it.
    fn heed(&self) {}
}

impl Heed for () {}

impl Heed for Outcome {
    fn heed(&self) {
        if self.warnings.left_writable {
            say(format_args!(
                "jumplabel: the sites have changed, and code is still writable, because the system refuses to take that back: allow \
                 mprotect; the next change, and jumplabel_verify(), try again"
            ));
        }
    }
}

#[cold]
fn say(line: fmt::Arguments<'_>) {
    let mut message = Message { bytes: [0; 320], len: 0 };
    let _ = message.write_fmt(line);
    match chosen() {
        // SAFETY: the program says so. The message is terminated: `Message` leaves the last byte alone.
        (Some(hook), data) => unsafe { hook(message.bytes.as_ptr().cast(), data) },
        (None, _) => {
            message.bytes[message.len] = b'\n';
            crate::system::print(&message.bytes[..=message.len]);
        }
    }
}

/// A line in a buffer: nothing is allocated.
struct Message {
    bytes: [u8; 320],
    len: usize,
}

impl Write for Message {
    /// Cuts off what does not fit.
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = self.bytes.len() - 1 - self.len;
        let fits = text.len().min(room);
        self.bytes[self.len..self.len + fits].copy_from_slice(&text.as_bytes()[..fits]);
        self.len += fits;
        Ok(())
    }
}
