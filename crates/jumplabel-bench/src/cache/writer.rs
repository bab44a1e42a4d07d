//! A flag on a cache line with a number that another thread writes all the time.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

use jumplabel_testing::clock::move_to;

/// The cache line with the flag and the number.
#[repr(align(128))]
pub struct Written {
    pub flag: AtomicBool,
    number: AtomicU64,
    stop: AtomicBool,
}

pub static WRITTEN: Written =
    Written { flag: AtomicBool::new(false), number: AtomicU64::new(0), stop: AtomicBool::new(false) };

/// The writing thread, on a processor of its own. It stops when this is dropped.
pub struct Writer(Option<JoinHandle<()>>);

impl Writer {
    pub fn start(processor: usize) -> Writer {
        WRITTEN.flag.store(std::hint::black_box(false), Ordering::Relaxed);
        WRITTEN.stop.store(false, Ordering::Relaxed);
        Writer(Some(std::thread::spawn(move || {
            move_to(&[processor]);
            while !WRITTEN.stop.load(Ordering::Relaxed) {
                WRITTEN.number.fetch_add(1, Ordering::Relaxed);
            }
        })))
    }

    /// The number of writes that the thread has made.
    pub fn writes(&self) -> u64 {
        WRITTEN.number.load(Ordering::Relaxed)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        WRITTEN.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.0.take() {
            let _ = thread.join();
        }
    }
}
