//! The lock that lets one CPU flip at a time. While a CPU waits for it, interrupts are on again between two tries if they were on before, and the CPU
//! answers the one that flips, which may be waiting for it. The CPU that has the lock has interrupts off, so its own handlers cannot find the lock
//! taken. The exceptions are handlers of faults and NMIs, which get an error.

use core::sync::atomic::{AtomicUsize, Ordering};

use jumplabel::Error;
use jumplabel::platform::Token;

use crate::Machine;

/// The number of the CPU that has the lock, plus 1; or 0.
pub(crate) struct Lock(AtomicUsize);

impl Lock {
    pub(crate) const fn new() -> Self {
        Lock(AtomicUsize::new(0))
    }

    /// Waits for the lock. Meanwhile it calls `answer`, with interrupts off. Refuses CPUs whose numbers are not below `cpus`.
    pub(crate) fn take(&self, machine: &impl Machine, cpus: usize, answer: impl Fn()) -> Result<Token, Error> {
        loop {
            // Interrupts go off before this CPU's number is asked for, because a scheduler could move the caller to another CPU.
            let interrupts = machine.interrupts_off();
            let cpu = machine.cpu();
            if cpu >= cpus {
                machine.restore(interrupts);
                return Err(Error::NoSuchCpu { cpu });
            }
            let me = cpu + 1;
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
