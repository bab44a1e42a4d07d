//! Tells whether two threads ran at the same time. A test needs this if its broken twin must lose a race, because no race is lost on one processor.
//!
//! A thread reads a number twice in a row, while other threads change it all the time. If the two values differ, another thread ran in between: at
//! the same time on another processor, or because this thread was stopped there. The system counts how often this thread was stopped. Each stop
//! explains at most one difference. Each further difference shows a thread that ran at the same time. No clock is needed.

/// A number of differences after which a broken twin must have lost its race, if the race is possible for as long a time as the two reads take. For a
/// rarer race, a test takes a multiple of this number.
pub const ENOUGH: u64 = 1000;

/// The differences that a thread has seen.
#[derive(Debug)]
pub struct Watch {
    seen: u64,
    switches: u64,
}

impl Watch {
    /// Begins to watch, for the calling thread.
    pub fn begin() -> Watch {
        Watch { seen: 0, switches: switches() }
    }

    /// Reads the number twice, and counts a difference if there is one.
    pub fn look(&mut self, number: impl Fn() -> usize) {
        self.seen += u64::from(number() != number());
    }

    /// The number of times that another thread certainly ran at the same time.
    pub fn end(&self) -> u64 {
        self.seen.saturating_sub(switches() - self.switches)
    }
}

/// The number of times that the calling thread was stopped.
fn switches() -> u64 {
    // SAFETY: `getrusage` fills plain numbers, which outlive the call.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage), 0);
        usage
    };
    (usage.ru_nvcsw + usage.ru_nivcsw) as u64
}
