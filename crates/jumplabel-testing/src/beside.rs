//! Tells whether two threads ran at the same time. A twin that must lose a race cannot lose it if the machine gave it only one processor.
//!
//! A thread reads a number twice in a row, while others change it all the time. If the two values differ, another thread ran in between: on
//! another processor, or because this thread had to stop there. The system counts how often this thread had to stop. Each further difference
//! shows a thread that ran beside it. No clock is needed.

/// The number of differences that is enough. A read and a write with as much time between them would have been torn apart that often, too.
pub const ENOUGH: u64 = 1000;

/// A thread's observations of others.
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

    /// Reads the number twice, and counts a difference.
    pub fn look(&mut self, number: impl Fn() -> usize) {
        self.seen += u64::from(number() != number());
    }

    /// How often another thread ran at the same time, at least.
    pub fn end(&self) -> u64 {
        self.seen.saturating_sub(switches() - self.switches)
    }
}

/// How often the calling thread had to stop.
fn switches() -> u64 {
    // SAFETY: `getrusage` fills plain numbers, which outlive the call.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage), 0);
        usage
    };
    (usage.ru_nvcsw + usage.ru_nivcsw) as u64
}
