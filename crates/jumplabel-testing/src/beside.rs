//! Whether two threads ran at the same time: a twin that must lose a race can lose none if the machine gave it one processor.
//!
//! A thread reads a number twice in a row, which others change all the time. If the two values differ, another thread ran in between: on
//! another processor, or because this thread had to stop there. It stops as often as the system counts its switches. So what it saw
//! beyond that number, it saw of a thread that ran beside it. No clock is asked.

/// So many times are enough: a read and a write with as much time between them were torn apart as often.
pub const ENOUGH: u64 = 1000;

/// What a thread sees of others.
#[derive(Debug)]
pub struct Watch {
    seen: u64,
    switches: u64,
}

impl Watch {
    /// Of the calling thread.
    pub fn begin() -> Watch {
        Watch { seen: 0, switches: switches() }
    }

    /// Reads twice.
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
    // SAFETY: plain numbers, which outlive the call.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage), 0);
        usage
    };
    (usage.ru_nvcsw + usage.ru_nivcsw) as u64
}
