//! The lock that lets one CPU flip at a time. The CPU that has the lock has its interrupts off, so its own interrupt handlers cannot find the lock
//! taken. Handlers of faults and NMIs can; they get an error.
//!
//! A CPU that waits for the lock answers the CPU that flips, which may be waiting for that answer. Between two tries, it restores its interrupts.

use core::sync::atomic::{AtomicUsize, Ordering};

use jumplabel::Error;
use jumplabel::platform::Token;

use crate::Machine;

/// The number of the CPU that has the lock, plus 1; 0 if no CPU has it.
pub(crate) struct Lock(AtomicUsize);

impl Lock {
    pub(crate) const fn new() -> Self {
        Lock(AtomicUsize::new(0))
    }

    /// Takes the lock. While another CPU has it, calls `answer` after each try, with interrupts off. Refuses a CPU whose number is not below `cpus`.
    pub(crate) fn take(&self, machine: &impl Machine, cpus: usize, answer: impl Fn()) -> Result<Token, Error> {
        loop {
            // Interrupts go off before `cpu` is called: otherwise a scheduler could move the caller to another CPU after the call.
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

    /// Releases the lock and restores interrupts. Called by the CPU that has the lock.
    pub(crate) fn release(&self, [interrupts, _]: Token, machine: &impl Machine) {
        self.0.store(0, Ordering::Release);
        machine.restore(interrupts);
    }
}
