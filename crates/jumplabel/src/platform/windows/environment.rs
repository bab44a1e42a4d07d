//! The choice of the writer. The program makes it with [`set_writer`](crate::platform::set_writer), or its user makes it with the environment
//! variable `JUMPLABEL_WRITER`. Windows has only one writer, `mprotect`, so a choice can only forbid that one.

use core::sync::atomic::{AtomicU8, Ordering};

use super::kernel32;
use crate::platform::{Summary, WriterKind, WriterList};

const UNREAD: u8 = 0;
const AUTOMATIC: u8 = 1;
const OTHER: u8 = 2;
const UNKNOWN: u8 = 3;
static ASKED: AtomicU8 = AtomicU8::new(UNREAD);

/// The writers to try.
pub(super) fn writers(summary: &Summary) -> WriterList {
    match ASKED.load(Ordering::Relaxed) {
        UNKNOWN => WriterList::unknown(),
        // The only writer writes to code that other threads run.
        _ if summary.unsynced => WriterList::default(),
        OTHER => WriterList::default(),
        _ => WriterList::of(&[WriterKind::Mprotect]),
    }
}

/// Sets the writer to use from now on. `None` and `Custom` stand for the automatic choice.
pub(super) fn set(kind: Option<WriterKind>) {
    let is_here = matches!(kind, None | Some(WriterKind::Mprotect | WriterKind::Custom));
    ASKED.store(if is_here { AUTOMATIC } else { OTHER }, Ordering::Relaxed);
}

/// Reads the environment, unless the program has already asked for a writer.
pub(super) fn read() {
    if ASKED.load(Ordering::Relaxed) != UNREAD {
        return;
    }
    let mut value = [0_u8; 16];
    // SAFETY: the call fills a local variable.
    let len = unsafe {
        kernel32::GetEnvironmentVariableA(c"JUMPLABEL_WRITER".as_ptr().cast(), value.as_mut_ptr(), value.len() as u32)
    };
    // A value that does not fit is longer than each name.
    match value.get(..len as usize).map(WriterKind::named_by) {
        Some(_) if len == 0 => set(None),
        Some(Ok(kind)) => set(kind),
        _ => ASKED.store(UNKNOWN, Ordering::Relaxed),
    }
}
