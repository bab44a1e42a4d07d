//! One word in each callsite says who wants its events besides subscribers. `cargo jumplabel tracing` has written this file; upstream does not have
//! it.
//!
//! An event that is on loads this word once, and so learns of all who want the event. The word lies next to the callsite's interest, which the event
//! loads, too. If the word is 0, upstream's checks alone decide.
//!
//! ```text
//!   16 bits   the semaphore of the callsite's note: the number of tracers, counted by the kernel or by the tracers themselves
//!   MARKED    somebody forces or follows the callsite
//!   REACHED   somebody listens to the tracepoint `reached`
//!   KNOWN     the last look for tracers (tracers.rs) saw one
//! ```

use std::mem::offset_of;
use std::sync::atomic::{AtomicU32, Ordering};

use super::marks::Marks;
use super::{reached, Keyed};

/// The word. Its lower half is the semaphore, which only tracers write.
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

    /// True if the last look for tracers saw one. Then the key has to be on.
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

    /// Notes that the callsite may have got a mark. Called after each change of marks.
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
        // Another thread may have made a mark after the first question, and called `marked` before the bit was cleared.
        if is_so() {
            self.0.fetch_or(bit, Ordering::SeqCst);
        }
    }
}
