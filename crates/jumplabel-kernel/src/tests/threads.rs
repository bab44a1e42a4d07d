//! A [`Machine`] for tests, in which threads stand for CPUs.

use core::cell::Cell;
use core::sync::atomic::{AtomicU32, Ordering::SeqCst};
use core::time::Duration;
use std::sync::OnceLock;
use std::thread::yield_now;
use std::thread_local;
use std::time::Instant;

use jumplabel::Refusal;

use crate::Machine;

thread_local! {
    pub static CPU: Cell<usize> = const { Cell::new(0) };
    /// The CPU to which a scheduler moves this thread after it has asked for its CPU's number while interrupts are on.
    pub static NEXT: Cell<Option<usize>> = const { Cell::new(None) };
    /// How often this thread has turned interrupts off without restoring them: 0 if interrupts are on.
    pub static OFF: Cell<u32> = const { Cell::new(0) };
}

pub struct Threads {
    pub patience: Duration,
    pub serialised: [AtomicU32; 3],
    pub interrupts: AtomicU32,
    pub while_interrupting: fn(),
    pub relaxed: AtomicU32,
    /// The address of a page. An address in this page has its alias in the page `wrong`; if `wrong` is `None`, `map` refuses the address. Any other
    /// address is its own alias.
    pub refused: usize,
    pub wrong: Option<usize>,
    pub mapped: AtomicU32,
}

impl Threads {
    pub fn new(patience: Duration) -> Threads {
        let (serialised, interrupts, relaxed, mapped) = Default::default();
        Threads {
            patience,
            serialised,
            interrupts,
            while_interrupting: || (),
            relaxed,
            refused: 0,
            wrong: None,
            mapped,
        }
    }

    pub fn counts(&self) -> [u32; 3] {
        self.serialised.each_ref().map(|count| count.load(SeqCst))
    }
}

// SAFETY: each thread stands for a CPU with its own number. No interrupt reaches it; it looks for orders by itself. Each alias can be written.
unsafe impl Machine for Threads {
    fn cpu(&self) -> usize {
        let cpu = CPU.get();
        if OFF.get() == 0 {
            CPU.set(NEXT.take().unwrap_or(cpu));
        }
        cpu
    }

    fn interrupts_off(&self) -> u64 {
        OFF.set(OFF.get() + 1);
        7
    }

    fn restore(&self, interrupts: u64) {
        OFF.set(OFF.get() - 1);
        assert_eq!(interrupts, 7);
    }

    fn interrupt(&self, _: usize) {
        self.interrupts.fetch_add(1, SeqCst);
        (self.while_interrupting)();
    }

    fn wait(&self) {
        yield_now();
    }

    fn relax(&self) {
        self.relaxed.fetch_add(1, SeqCst);
        yield_now();
    }

    fn serialise(&self) {
        // This takes long, so that a test notices a CPU that acknowledges an order before it has serialised.
        (0..20).for_each(|_| yield_now());
        self.serialised[CPU.get()].fetch_add(1, SeqCst);
    }

    fn map(&self, address: usize) -> Result<usize, Refusal> {
        self.mapped.fetch_add(1, SeqCst);
        if address & !0xfff == self.refused {
            return self.wrong.map(|page| page + address % 4096).ok_or(Refusal::errno(5));
        }
        Ok(address)
    }

    fn unmap(&self, _: usize) {
        self.mapped.fetch_sub(1, SeqCst);
    }

    fn now(&self) -> Duration {
        yield_now();
        static START: OnceLock<Instant> = OnceLock::new();
        START.get_or_init(Instant::now).elapsed()
    }

    fn patience(&self) -> Duration {
        self.patience
    }
}
