//! One CPU flips. The other CPUs wait with their interrupts as they were, and answer the CPU that flips, because it may be waiting for
//! them. The CPU that has the lock has interrupts off, so no handler on this CPU finds the lock taken. Some handlers cannot be turned off
//! (a fault, an NMI); they get an error.

use core::sync::atomic::{AtomicUsize, Ordering};

use jumplabel::Error;
use jumplabel::platform::Token;

use crate::Machine;

/// 1 more than the number of the CPU that has the lock; or 0.
pub(crate) struct Lock(AtomicUsize);

impl Lock {
    pub(crate) const fn new() -> Self {
        Lock(AtomicUsize::new(0))
    }

    /// Waits for the lock. Meanwhile it calls `answer`, with interrupts off.
    pub(crate) fn take(&self, machine: &impl Machine, answer: impl Fn()) -> Result<Token, Error> {
        loop {
            // Interrupts go off before this CPU's number is asked for, because a scheduler could move the caller to another CPU.
            let interrupts = machine.interrupts_off();
            let me = machine.cpu() + 1;
            match self.0.compare_exchange(0, me, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Ok([interrupts, 0]),
                Err(owner) if owner == me => {
                    machine.restore(interrupts);
                    return Err(Error::Reentrant);
                }
                Err(_) => answer(),
            }
            machine.restore(interrupts);
            machine.relax();
        }
    }

    pub(crate) fn is_of(&self, cpu: usize) -> bool {
        self.0.load(Ordering::Relaxed) == cpu + 1
    }

    /// Called by the CPU that has the lock.
    pub(crate) fn release(&self, [interrupts, _]: Token, machine: &impl Machine) {
        self.0.store(0, Ordering::Release);
        machine.restore(interrupts);
    }
}
