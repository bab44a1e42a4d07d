//! Prints a table of CPU time per operation and of operations per second. It compares a ticket lock with this lock, whose waiters spin or sleep, for
//! 1, 2, 4 and 8 threads per processor. An operation takes the lock, adds to four words that it guards, gives it back, and does as much work without
//! it.
#![allow(clippy::print_stdout, clippy::cast_precision_loss, reason = "a table of figures")]

use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use jumplabel_lock::{Lock, Slow, set};

const ROUND: Duration = Duration::from_millis(300);
static LOCK: Lock<[u64; 4]> = Lock::new([0; 4]);
static NEXT: AtomicU32 = AtomicU32::new(0);
static NOW: AtomicU32 = AtomicU32::new(0);

fn work(words: &mut [u64; 4]) {
    for word in words {
        *word = black_box(*word + 1);
    }
}

fn ours() {
    work(&mut LOCK.lock());
}

fn ticket() {
    let mine = NEXT.fetch_add(1, Ordering::Relaxed);
    while NOW.load(Ordering::Acquire) != mine {
        spin_loop();
    }
    work(&mut [0; 4]);
    NOW.store(mine.wrapping_add(1), Ordering::Release);
}

/// The CPU time of this process, with all its threads.
fn cpu() -> f64 {
    // SAFETY: `getrusage` only writes the structure.
    let usage = unsafe {
        let mut usage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

/// Measures microseconds of CPU time per operation, and millions of operations per second.
fn measure(threads: usize, operation: fn()) -> (f64, f64) {
    let (stop, total) = (AtomicBool::new(false), AtomicU64::new(0));
    let (start, before) = (Instant::now(), cpu());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut own = 0;
                while !stop.load(Ordering::Relaxed) {
                    operation();
                    work(&mut [0; 4]);
                    own += 1;
                }
                total.fetch_add(own, Ordering::Relaxed);
            });
        }
        std::thread::sleep(ROUND);
        stop.store(true, Ordering::Relaxed);
    });
    let total = total.into_inner() as f64;
    ((cpu() - before) * 1e6 / total, total / 1e6 / start.elapsed().as_secs_f64())
}

fn main() {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    println!("threads   ticket: us, M/s      spin: us, M/s      block: us, M/s      ({processors} processors)");
    for threads in [1, 2, 4, 8].map(|each| each * processors) {
        print!("{threads:7}");
        for (operation, waiters) in [(ticket as fn(), Slow::Spin), (ours, Slow::Spin), (ours, Slow::Block)] {
            set(waiters).expect("nobody has the lock");
            let (cpu, rate) = measure(threads, operation);
            print!("  {cpu:9.3} {rate:8.3}");
        }
        println!();
    }
}
