//! The writer that someone has asked for: the program, by [`set_writer`](crate::platform::set_writer), or the program's user, by the environment
//! variable `JUMPLABEL_WRITER`. Windows has only one writer, `mprotect`. A request for another one leaves no writer, so no site can be written.

use core::sync::atomic::{AtomicU8, Ordering};

use super::kernel32;
use crate::platform::{Summary, WriterKind, WriterList};

const UNREAD: u8 = 0;
const AUTOMATIC: u8 = 1;
const OTHER: u8 = 2;
const UNKNOWN: u8 = 3;
static ASKED: AtomicU8 = AtomicU8::new(UNREAD);

/// The writers to try for a transaction with this summary: `mprotect`, or none.
pub(super) fn writers(summary: &Summary) -> WriterList {
    match ASKED.load(Ordering::Relaxed) {
        UNKNOWN => WriterList::unknown(),
        // `mprotect` writes to code that other threads may run.
        _ if summary.unsynced => WriterList::default(),
        OTHER => WriterList::default(),
        _ => WriterList::of(&[WriterKind::Mprotect]),
    }
}

/// Makes `kind` the only writer from now on. `None` and `Custom` stand for the automatic choice.
pub(super) fn set(kind: Option<WriterKind>) {
    let is_here = matches!(kind, None | Some(WriterKind::Mprotect | WriterKind::Custom));
    ASKED.store(if is_here { AUTOMATIC } else { OTHER }, Ordering::Relaxed);
}

/// Reads the environment, unless it was read before or the program has already asked for a writer.
pub(super) fn read() {
    if ASKED.load(Ordering::Relaxed) != UNREAD {
        return;
    }
    let mut value = [0_u8; 16];
    // SAFETY: the name ends with a zero. The call writes at most `value.len()` bytes to `value`.
    let len = unsafe {
        kernel32::GetEnvironmentVariableA(c"JUMPLABEL_WRITER".as_ptr().cast(), value.as_mut_ptr(), value.len() as u32)
    };
    // If the value does not fit, `len` is larger than the buffer. No writer has such a long name.
    match value.get(..len as usize).map(WriterKind::named_by) {
        Some(_) if len == 0 => set(None),
        Some(Ok(kind)) => set(kind),
        _ => ASKED.store(UNKNOWN, Ordering::Relaxed),
    }
}
