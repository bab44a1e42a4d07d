//! Broken twins: writers that do what the real ones must not do. The suite has to find each of them out. All have pages
//! opened by `mprotect`, and write on their own.
//!
//! | twin | what it does | found out by |
//! |---|---|---|
//! | `STEPS` | all that the engine asks for: not broken, the control | nothing |
//! | `FORGETS` | leaves the last site out | readers, to whom its arm was promised |
//! | with a store | see `torn` | a trap |

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use jumplabel::patch::plan::{Edit, Summary};
use jumplabel::patch::{EditList, Failure, Step};
use jumplabel::text::{Text, Writer, Written, builtin, set_text};
use jumplabel::{Errno, WriterKind};

use crate::wrapped::{Body, Opens, Wrapped};

#[derive(Clone, Copy)]
pub struct Twin {
    /// Leaves the last site out.
    pub forgets: bool,
    /// Writes like this, whatever the step.
    pub store: Option<fn(&Edit)>,
}

static TEXT: OnceLock<&dyn Text> = OnceLock::new();

impl Twin {
    pub const STEPS: Twin = Twin { forgets: false, store: None };
    pub const FORGETS: Twin = Twin { forgets: true, store: None };

    /// Makes all flips from now on go through this writer.
    pub fn install(self) {
        FORGETS.store(self.forgets, Ordering::Relaxed);
        let text = TEXT.get_or_init(|| Box::leak(Box::new(Wrapped(self))));
        // SAFETY: before the first flip. The contract is broken on purpose, in a process of its own.
        unsafe { set_text(text) };
    }
}

static FORGETS: AtomicBool = AtomicBool::new(false);

/// Whether the flipper, which would see from the outcomes that sites were left out, is to leave it to the readers.
pub fn is_for_readers() -> bool {
    FORGETS.load(Ordering::Relaxed)
}

impl Opens for Twin {
    fn choose(&self, _: &Summary, attempt: u32) -> Option<WriterKind> {
        (attempt == 0).then_some(WriterKind::Custom)
    }

    unsafe fn open(&self, _: WriterKind, edits: &EditList, body: Body<'_>) -> Result<Written, Failure> {
        let body = &mut |real: &mut dyn Writer| body(&mut Own { twin: *self, real });
        // SAFETY: passed on.
        unsafe { builtin().open(WriterKind::Mprotect, edits, body) }
    }
}

/// The writer of one transaction.
struct Own<'a> {
    twin: Twin,
    real: &'a mut dyn Writer,
}

impl Writer for Own<'_> {
    unsafe fn write(&mut self, edits: &EditList, step: Step) -> Result<(), (usize, Errno)> {
        let edits = if self.twin.forgets { &edits[..edits.len() - 1] } else { edits };
        if let Some(store) = self.twin.store {
            edits.iter().for_each(store);
            return Ok(());
        }
        // SAFETY: a part of what was asked for.
        unsafe { self.real.write(edits, step) }
    }

    fn sync(&mut self) -> Result<(), Errno> {
        self.real.sync()
    }
}
