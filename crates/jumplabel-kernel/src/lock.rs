//! One CPU flips. The others wait with their interrupts as they were, and answer the one that flips: it may be waiting for them. Who has
//! the lock has interrupts off, so that no handler on this CPU finds it taken; one that cannot be turned off (a fault, an NMI) is told.

use core::sync::atomic::{AtomicUsize, Ordering};

use jumplabel::Error;
use jumplabel::platform::Token;

use crate::Machine;

/// The number of the CPU that has it, and 1; or 0.
pub(crate) struct Lock(AtomicUsize);

impl Lock {
    pub(crate) const fn new() -> Self {
        Lock(AtomicUsize::new(0))
    }

    /// Waits for it; `answer` is called meanwhile, with interrupts off.
    pub(crate) fn take(&self, machine: &impl Machine, answer: impl Fn()) -> Result<Token, Error> {
        loop {
            // Off before this CPU's number is asked for: a scheduler may move who asks.
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
            core::hint::spin_loop();
        }
    }

    pub(crate) fn is_of(&self, cpu: usize) -> bool {
        self.0.load(Ordering::Relaxed) == cpu + 1
    }

    /// By who has it.
    pub(crate) fn release(&self, [interrupts, _]: Token, machine: &impl Machine) {
        self.0.store(0, Ordering::Release);
        machine.restore(interrupts);
    }
}
