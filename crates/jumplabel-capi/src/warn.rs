//! The warning hook: what Linux says with a WARN, and what a function without a result has to say.

use core::ffi::{c_char, c_int, c_void};
use core::fmt::{self, Write};
use std::sync::Mutex;

use crate::result::{Key, Refusal};

/// The hook's type.
pub type Hook = unsafe extern "C" fn(message: *const c_char, data: *mut c_void);

#[derive(Clone, Copy)]
struct Chosen {
    hook: Hook,
    data: *mut c_void,
}

// SAFETY: the pointer is only handed back to the program's hook.
unsafe impl Send for Chosen {}

static CHOSEN: Mutex<Option<Chosen>> = Mutex::new(None);

/// Sets the hook. Null: one line on standard error.
#[unsafe(no_mangle)]
pub extern "C" fn jumplabel_set_warn(hook: Option<Hook>, data: *mut c_void) {
    let chosen = hook.map(|hook| Chosen { hook, data });
    *CHOSEN.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = chosen;
}

/// Warns that `function` was refused.
#[cold]
pub(crate) fn warn(function: &str, key: Key, refusal: Refusal) {
    let mut message = Message { bytes: [0; 320], len: 0 };
    let _ = write!(message, "jumplabel: {function}({key:p}): {refusal}");
    // Not waited for: the hook may be changed by the thread that a signal handler has interrupted.
    let chosen = CHOSEN.try_lock().ok().and_then(|chosen| *chosen);
    match chosen {
        // SAFETY: the program says so. The message is terminated: `Message` leaves the last byte alone.
        Some(Chosen { hook, data }) => unsafe { hook(message.bytes.as_ptr().cast(), data) },
        None => message.print(),
    }
}

/// A line in a buffer: nothing is allocated.
struct Message {
    bytes: [u8; 320],
    len: usize,
}

impl Message {
    fn print(&mut self) {
        unsafe extern "C" {
            fn write(descriptor: c_int, bytes: *const c_void, count: usize) -> isize;
        }
        self.bytes[self.len] = b'\n';
        // SAFETY: inside of the buffer. Nothing can be done where standard error is closed.
        unsafe { write(2, self.bytes.as_ptr().cast(), self.len + 1) };
    }
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
