//! A word of each callsite: who wants its events besides subscribers. `cargo jumplabel tracing` has written this file; upstream does not have it.
//!
//! It is one word for all of them, next to the callsite's interest, so that an event which is on loads it once. If the word is 0, nobody else wants
//! events: then upstream's checks alone decide.
//!
//! ```text
//!   16 bits   the semaphore of the callsite's note: the kernel counts tracers here, or they do so themselves
//!   MARKED    somebody forces or follows the callsite
//!   REACHED   somebody listens to the tracepoint `reached`
//!   KNOWN     the last look saw a tracer
//! ```

use std::mem::offset_of;
use std::sync::atomic::{AtomicU32, Ordering};

use super::marks::Marks;
use super::{reached, Keyed};

/// The lower half of this word is the semaphore. Only tracers write that half.
#[derive(Debug)]
pub(super) struct Others(AtomicU32);

/// The offset of the semaphore in a callsite.
pub const SEMAPHORE: usize = offset_of!(Keyed, others) + if cfg!(target_endian = "big") { 2 } else { 0 };

const MARKED: u32 = 1 << 16;
const REACHED: u32 = 1 << 17;
const KNOWN: u32 = 1 << 18;

impl Others {
    pub(super) const fn new() -> Others {
        Others(AtomicU32::new(0))
    }

    /// True if subscribers alone decide.
    #[inline(always)]
    pub(super) fn is_nobody(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }

    /// True if a tracer is attached to the callsite's note.
    pub(super) fn any_tracer(&self) -> bool {
        self.0.load(Ordering::Relaxed) as u16 != 0
    }

    /// True if the last look saw a tracer. Then the key has to be on.
    pub(super) fn is_tracer_known(&self) -> bool {
        self.0.load(Ordering::SeqCst) & KNOWN != 0
    }

    pub(super) fn set_tracer_known(&self, is_known: bool) {
        if is_known {
            self.0.fetch_or(KNOWN, Ordering::SeqCst);
        } else {
            self.0.fetch_and(!KNOWN, Ordering::SeqCst);
        }
    }

    /// Called after each change by which the callsite may have got a mark.
    pub(super) fn marked(&self) {
        self.0.fetch_or(MARKED, Ordering::SeqCst);
    }

    /// Makes the word agree with the marks and with `reached`. At most one thread at a time does so.
    pub(super) fn refresh(&self, marks: &Marks) {
        self.refresh_one(MARKED, || marks.any());
        self.refresh_one(REACHED, || reached.key().is_enabled());
    }

    fn refresh_one(&self, bit: u32, is_so: impl Fn() -> bool) {
        if !is_so() && self.0.load(Ordering::SeqCst) & bit != 0 {
            self.0.fetch_and(!bit, Ordering::SeqCst);
        }
        // Another thread may have made a mark since then, and called `marked` before the bit was cleared.
        if is_so() {
            self.0.fetch_or(bit, Ordering::SeqCst);
        }
    }
}
