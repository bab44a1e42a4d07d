//! Tells whether two threads ran at the same time. A broken twin that must lose a race cannot lose it on one processor.
//!
//! A thread reads a number twice in a row, while other threads change it all the time. If the two values differ, another thread ran in between: at
//! the same time on another processor, or because this thread was stopped there. The system counts how often this thread was stopped, which explains
//! as many differences. Each further one shows a thread that ran at the same time. No clock is needed.

/// The number of differences that is enough. A broken twin must lose a race that is possible for an equally long time, so it also loses it often.
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
