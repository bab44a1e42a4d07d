//! Spinlocks that are held with interrupts off. A hart that waits for one also has interrupts off. It answers in each turn of its wait, because the
//! holder may be flipping.

use core::sync::atomic::{
    AtomicBool,
    Ordering::{Acquire, Release},
};

use jumplabel_kernel::Machine;

use crate::machine::{self, Here};

/// A lock of this kernel.
pub struct Spin(AtomicBool);

impl Spin {
    pub const fn new() -> Spin {
        Spin(AtomicBool::new(false))
    }

    pub fn with<T>(&self, work: impl FnOnce() -> T) -> T {
        let interrupts = Here.interrupts_off();
        while self.0.swap(true, Acquire) {
            machine::answer();
            Here.relax();
        }
        let done = work();
        self.0.store(false, Release);
        Here.restore(interrupts);
        done
    }
}

/// Takes a lock of a foreign crate. The crate's own `lock` would wait without answering, so this calls `try_lock` and answers, in a loop.
pub fn with_foreign<T>(lock: &foreign::Lock, work: impl FnOnce() -> T) -> T {
    let interrupts = Here.interrupts_off();
    let guard = loop {
        match lock.try_lock() {
            Some(guard) => break guard,
            None => machine::answer(),
        }
        Here.relax();
    };
    let done = work();
    drop(guard);
    Here.restore(interrupts);
    done
}

/// Stands for a foreign crate, whose locks know nothing of flips.
pub mod foreign {
    use super::{Acquire, AtomicBool, Release};

    pub struct Lock(AtomicBool);
    pub struct Guard<'a>(&'a Lock);

    impl Lock {
        pub const fn new() -> Lock {
            Lock(AtomicBool::new(false))
        }

        pub fn try_lock(&self) -> Option<Guard<'_>> {
            (!self.0.swap(true, Acquire)).then_some(Guard(self))
        }
    }

    impl Drop for Guard<'_> {
        fn drop(&mut self) {
            self.0.0.store(false, Release);
        }
    }
}
