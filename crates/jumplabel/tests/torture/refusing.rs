//! A writer that refuses in the middle of a transaction: it carries out so many pieces, at however many sites and steps
//! that is, and refuses the next. Taking back what was written is left to the engine and the real writer below.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use jumplabel::patch::{EditList, Failure, Step};
use jumplabel::text::{Text, Writer, Written, builtin, set_text};
use jumplabel::{Errno, WriterKind};

use crate::wrapped::{Body, Opens, Wrapped};

/// Pieces that are still carried out.
static LEFT: AtomicI64 = AtomicI64::new(i64::MAX);

/// The broken twin: what was written is not taken back, although the engine asks for it.
pub static DROPS_UNDO: AtomicBool = AtomicBool::new(false);

static REFUSING: &dyn Text = &Wrapped(Refusing);
static BUILTIN: LazyLock<&dyn Text> = LazyLock::new(builtin);

/// Refuses after so many pieces from now on.
pub fn after(pieces: i64) {
    LEFT.store(pieces, Ordering::Relaxed);
}

/// Calls `flip`, the only one who flips, with this writer in place.
pub fn during(flip: impl FnOnce()) {
    // SAFETY: nobody else flips; it keeps the contract, unless it is asked to break it.
    unsafe { set_text(&REFUSING) };
    flip();
    // SAFETY: as above.
    unsafe { set_text(&BUILTIN) };
}

struct Refusing;

impl Opens for Refusing {
    unsafe fn open(&self, kind: WriterKind, edits: &EditList, body: Body<'_>) -> Result<Written, Failure> {
        // SAFETY: passed on.
        unsafe { builtin().open(kind, edits, &mut |real| body(&mut Over(real))) }
    }
}

struct Over<'a>(&'a mut dyn Writer);

impl Writer for Over<'_> {
    unsafe fn write(&mut self, edits: &EditList, step: Step) -> Result<(), (usize, Errno)> {
        if step.undo {
            if DROPS_UNDO.load(Ordering::Relaxed) {
                return Ok(());
            }
            // SAFETY: passed on.
            return unsafe { self.0.write(edits, step) };
        }
        let refused =
            edits.iter().position(|edit| step.piece(edit).is_some() && LEFT.fetch_sub(1, Ordering::Relaxed) <= 0);
        // SAFETY: a part of what was asked for.
        unsafe { self.0.write(&edits[..refused.unwrap_or(edits.len())], step) }?;
        refused.map_or(Ok(()), |at| Err((at, Errno(libc::EPERM))))
    }

    fn sync(&mut self) -> Result<(), Errno> {
        self.0.sync()
    }
}
