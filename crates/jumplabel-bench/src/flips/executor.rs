//! A thread that executes the sites while they are flipped, and a test that the thread really ran during the flip.
//!
//! ```text
//!   flipping thread      set aim ── wait: aimed, 64 more calls ── read c0 ── flip ── read c1     overlapped: c1 > c0
//!   executor             call, count, call, count, call, count, call, count, call, ...
//! ```
//!
//! A flip is cheaper if the executor sleeps, because then there is no processor to interrupt. So a sample counts only if the executor ran right
//! before the flip and made calls during the flip.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::sites::Functions;

/// The number of calls after which the thread looks for a new target.
const CALLS: usize = 64;

#[repr(align(128))]
struct Padded<T>(T);

struct Shared {
    targets: Vec<Functions>,
    /// The number of the target to execute.
    aim: AtomicUsize,
    /// The number of the target that the thread executes.
    aimed: AtomicUsize,
    stop: AtomicBool,
    calls: Padded<AtomicU64>,
}

/// The executing thread. It stops when this value is dropped.
pub struct Executor {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// The time of one flip.
pub struct Sample {
    pub nanoseconds: f64,
    pub overlapped: bool,
}

impl Executor {
    /// Starts to execute the first of `targets`.
    pub fn start(targets: Vec<Functions>) -> Executor {
        let shared = Arc::new(Shared {
            targets,
            aim: AtomicUsize::new(0),
            aimed: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
            calls: Padded(AtomicU64::new(0)),
        });
        let theirs = Arc::clone(&shared);
        Executor { shared, thread: Some(std::thread::spawn(move || theirs.execute())) }
    }

    /// Times `flip` while the executor runs target number `target`.
    pub fn time(&self, target: usize, flip: impl FnOnce()) -> Sample {
        let running = self.run(target);
        let before = self.calls();
        let start = Instant::now();
        flip();
        let nanoseconds = start.elapsed().as_nanos() as f64;
        Sample { nanoseconds, overlapped: running && self.calls() > before }
    }

    /// Sets the aim to `target`, and waits until the thread executes that target. Returns false if the thread gets no processor for a while.
    fn run(&self, target: usize) -> bool {
        const PATIENCE: Duration = Duration::from_millis(10);
        let start = Instant::now();
        self.shared.aim.store(target, Ordering::Relaxed);
        let mut calls = None;
        while start.elapsed() < PATIENCE {
            if self.shared.aimed.load(Ordering::Acquire) == target {
                let now = self.calls();
                if now >= *calls.get_or_insert(now) + CALLS as u64 {
                    return true;
                }
            }
            std::hint::spin_loop();
        }
        false
    }

    fn calls(&self) -> u64 {
        self.shared.calls.0.load(Ordering::Relaxed)
    }
}

impl Drop for Executor {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn execute(&self) {
        let (mut at, mut calls) = (0, 0);
        while !self.stop.load(Ordering::Relaxed) {
            let aim = self.aim.load(Ordering::Relaxed);
            self.aimed.store(aim, Ordering::Release);
            let target = &self.targets[aim];
            for _ in 0..CALLS {
                at = if at + 1 < target.count { at + 1 } else { 0 };
                std::hint::black_box(target.call(at));
                calls += 1;
                self.calls.0.store(calls, Ordering::Relaxed);
            }
        }
    }
}
