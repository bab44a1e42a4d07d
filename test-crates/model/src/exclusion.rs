//! The process-wide lock, over a model of the futex call: one queue for all sleepers.

#[path = "../../../crates/jumplabel/src/platform/linux/instance/mutex.rs"]
#[allow(dead_code)] // Nobody gives up here.
mod mutex;

use loom::cell::UnsafeCell;

/// What the lock is built from.
mod futex {
    pub(super) use loom::sync::atomic::{AtomicU32, Ordering};
    use loom::sync::{Condvar, Mutex};

    loom::lazy_static! {
        static ref QUEUE: (Mutex<()>, Condvar) = (Mutex::new(()), Condvar::new());
    }

    /// Compares and goes to sleep in one step, as the kernel does: a waker is before or after. Who waits for an owner that may
    /// never let go is woken by the clock, at once: false.
    pub(super) fn wait(word: &AtomicU32, expected: u32) -> bool {
        let queue = QUEUE.0.lock().unwrap();
        // A swap for the sake of `atomic`: loom shall try all orders.
        if word.fetch_or(0, Ordering::Relaxed) == expected {
            if super::may_be_taken_over(expected) {
                return false;
            }
            drop(QUEUE.1.wait(queue).unwrap());
        }
        true
    }

    pub(super) fn wake_one(_word: &AtomicU32) {
        let queue = QUEUE.0.lock().unwrap();
        QUEUE.1.notify_one();
        drop(queue);
    }
}

/// The thread that was killed while it had the lock.
pub const KILLED: u32 = 9;

/// Added to the number of a thread that forks.
pub const FORKING: u32 = mutex::FORKING;

fn may_be_taken_over(word: u32) -> bool {
    mutex::owner(word) == KILLED || word & FORKING != 0
}

/// A thread that waits; it has no signals.
struct Thread;

impl mutex::Waiter for Thread {
    fn block(&mut self) -> bool {
        true
    }
    fn unblock(&mut self) {}
    fn judge(&mut self, word: u32) -> mutex::Decision {
        if may_be_taken_over(word) { mutex::Decision::TakeOver } else { mutex::Decision::Wait }
    }
}

/// A lock as the process has it: the core's, or one with a fault.
pub trait Exclusion: Send + Sync + 'static {
    /// Free.
    fn new() -> Self;
    /// False where thread `me` holds it.
    fn acquire(&self, me: u32) -> bool;
    /// By thread `me`, which took it.
    fn release(&self, me: u32);
}

/// The core's lock.
pub struct Core(mutex::Lock);

impl Exclusion for Core {
    fn new() -> Self {
        Core(mutex::Lock(futex::AtomicU32::new(0)))
    }
    fn acquire(&self, me: u32) -> bool {
        self.0.acquire(me, &mut Thread).is_ok()
    }
    fn release(&self, me: u32) {
        self.0.release(me);
    }
}

impl Core {
    /// As a child of fork does it.
    pub fn reset(&self) {
        self.0.reset();
        assert!(self.0.is_free());
    }
}

/// The core's lock, released whoever has it now.
pub struct Unnamed(Core);

impl Exclusion for Unnamed {
    fn new() -> Self {
        Unnamed(Core::new())
    }
    fn acquire(&self, me: u32) -> bool {
        self.0.acquire(me)
    }
    fn release(&self, _me: u32) {
        self.0.reset();
    }
}

/// What may go wrong in a lock like this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    None,
    /// Release without `Ordering::Release`.
    Unordered,
    /// Whoever has slept takes the lock without the mark: the next sleeper is forgotten.
    MarkLost,
    /// Sleeps without having marked the word.
    Unmarked,
    /// Sleeps although the word has changed.
    Unchecked,
}

/// The same protocol with the fault number `FAULT` of [`FAULTS`].
pub struct Broken<const FAULT: usize>(futex::AtomicU32);

/// All of them.
pub const FAULTS: [Fault; 5] = [Fault::None, Fault::Unordered, Fault::MarkLost, Fault::Unmarked, Fault::Unchecked];

impl<const FAULT: usize> Exclusion for Broken<FAULT> {
    fn new() -> Self {
        Broken(futex::AtomicU32::new(0))
    }

    fn acquire(&self, me: u32) -> bool {
        use futex::Ordering::{Acquire, Relaxed};
        const MARK: u32 = 1 << 31;
        let mut mine = me;
        while let Err(now) = self.0.compare_exchange(0, mine, Acquire, Relaxed) {
            if now & !MARK == me {
                return false;
            }
            let marked = if FAULTS[FAULT] == Fault::Unmarked { now } else { now | MARK };
            if self.0.compare_exchange(now, marked, Relaxed, Relaxed).is_ok() {
                let expected = if FAULTS[FAULT] == Fault::Unchecked { self.0.load(Relaxed) } else { marked };
                futex::wait(&self.0, expected);
                if FAULTS[FAULT] != Fault::MarkLost {
                    mine = me | MARK;
                }
            }
        }
        true
    }

    fn release(&self, _me: u32) {
        use futex::Ordering::{Relaxed, Release};
        let order = if FAULTS[FAULT] == Fault::Unordered { Relaxed } else { Release };
        if self.0.swap(0, order) >> 31 != 0 {
            futex::wake_one(&self.0);
        }
    }
}

/// A lock and what it guards.
struct Process<L> {
    lock: L,
    guarded: UnsafeCell<u32>,
}

// SAFETY: what is checked; loom reports where it does not hold.
unsafe impl<L: Sync> Sync for Process<L> {}

impl<L: Exclusion> Process<L> {
    fn new() -> loom::sync::Arc<Self> {
        loom::sync::Arc::new(Process { lock: L::new(), guarded: UnsafeCell::new(0) })
    }

    /// Thread `me` takes the lock `rounds` times.
    fn run(&self, me: u32, rounds: u32) {
        for _ in 0..rounds {
            assert!(self.lock.acquire(me));
            // SAFETY: as above.
            self.guarded.with_mut(|guarded| unsafe { *guarded += 1 });
            self.lock.release(me);
        }
    }

    /// All that were expected have been there.
    fn expect(&self, count: u32) {
        assert!(self.lock.acquire(1));
        // SAFETY: as above.
        self.guarded.with(|guarded| assert_eq!(unsafe { *guarded }, count));
        self.lock.release(1);
    }
}

/// `threads` threads take the lock `rounds` times each and change what it guards. Loom reports two in it at once as a
/// data race, and a sleeper that nobody wakes as a deadlock. At most `preemptions` times in a run, a thread is interrupted
/// that could go on. How many interleavings there were.
pub fn check<L: Exclusion>(threads: u32, rounds: u32, preemptions: Option<usize>) -> u64 {
    crate::explore(preemptions, move || {
        let process = Process::<L>::new();
        let others: Vec<_> = (2..=threads)
            .map(|me| {
                let process = process.clone();
                loom::thread::spawn(move || process.run(me, rounds))
            })
            .collect();
        process.run(1, rounds);
        others.into_iter().for_each(|other| other.join().unwrap());
        process.expect(threads * rounds);
    })
}

/// Thread 1 takes the lock under the name `first` and does not touch what it guards: it forks, and then lets go, or was killed,
/// and does not. Two others take the lock, and may take it over. How many interleavings there were.
pub fn check_takeover<L: Exclusion>(first: u32, preemptions: Option<usize>) -> u64 {
    crate::explore(preemptions, move || {
        let process = Process::<L>::new();
        assert!(process.lock.acquire(first));
        let others: Vec<_> = (2..=3)
            .map(|me| {
                let process = process.clone();
                loom::thread::spawn(move || process.run(me, 1))
            })
            .collect();
        if first != KILLED {
            process.lock.release(first);
        }
        others.into_iter().for_each(|other| other.join().unwrap());
        process.expect(2);
    })
}
