//! Two threads with real-time priorities on one processor. The upper thread runs as long as it does not sleep. So if the upper thread waits for the
//! lower one, and only yields, it waits for ever.
//!
//! ```text
//!   lower   begins something ── wakes the upper one          goes on ── both are done
//!   upper                       waits for the lower one ── sleeps
//!                                                       └─ yields: SIGXCPU, because RLIMIT_RTTIME ends a thread that does not sleep
//! ```
//!
//! The limit counts the time for which the thread runs, so other processes do not change the result.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Thread};
use std::time::Duration;

/// The upper thread, which waits in [`Upper::new`] until it is woken.
pub struct Upper(thread::JoinHandle<()>);

impl Upper {
    /// Makes this thread the lower one, and starts the upper one, which waits for [`wake`] and then runs `body`. `None` if the system does not allow
    /// that. Only for a scenario, because the process keeps its limits and its processor.
    pub fn new(body: impl FnOnce() + Send + 'static) -> Option<Upper> {
        // SAFETY: these calls concern only this process, and get structures of the right types.
        unsafe {
            let mut all = std::mem::zeroed::<libc::cpu_set_t>();
            let size = size_of::<libc::cpu_set_t>();
            assert_eq!(libc::sched_getaffinity(0, size, &raw mut all), 0);
            let first = (0..libc::CPU_SETSIZE as usize).find(|&number| libc::CPU_ISSET(number, &all)).unwrap();
            let mut one = std::mem::zeroed::<libc::cpu_set_t>();
            libc::CPU_SET(first, &mut one);
            let no_core = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
            let mut limit = no_core;
            assert_eq!(libc::getrlimit(libc::RLIMIT_RTTIME, &raw mut limit), 0);
            limit.rlim_cur = limit.rlim_max.min(200_000);
            assert_eq!(libc::setrlimit(libc::RLIMIT_CORE, &raw const no_core), 0);
            assert_eq!(libc::setrlimit(libc::RLIMIT_RTTIME, &raw const limit), 0);
            assert_eq!(libc::sched_setaffinity(0, size, &raw const one), 0);
        }
        if !set_priority(1) {
            println!("skipped: no right to real-time priorities");
            return None;
        }
        // The upper thread inherits the processor and the priority of this one.
        let upper = thread::spawn(move || {
            assert!(set_priority(2));
            READY.store(true, Ordering::Relaxed);
            while !WOKEN.load(Ordering::Relaxed) {
                thread::park();
            }
            body();
        });
        while !READY.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(1));
        }
        Some(Upper(upper))
    }

    /// The thread, for [`wake`].
    pub fn thread(&self) -> Thread {
        self.0.thread().clone()
    }

    /// Waits until the upper thread has ended.
    pub fn join(self) {
        self.0.join().unwrap();
    }
}

static READY: AtomicBool = AtomicBool::new(false);
static WOKEN: AtomicBool = AtomicBool::new(false);

/// Wakes the upper thread, which then runs at once, until it sleeps.
pub fn wake(upper: &Thread) {
    WOKEN.store(true, Ordering::Relaxed);
    upper.unpark();
}

fn set_priority(priority: i32) -> bool {
    // SAFETY: the structure consists of numbers. 0 is the calling thread.
    unsafe {
        let mut parameters = std::mem::zeroed::<libc::sched_param>();
        parameters.sched_priority = priority;
        libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) == 0
    }
}
