//! The rendezvous: the CPU that flips stops all other CPUs while it writes code. It gives them *orders*, which are numbers.
//!
//! ```text
//!   order   odd: stand still; even: go on. Each number is given once.
//!
//!   the CPU that flips                       each other CPU, in its handler or while it waits for the lock
//!     order += 1 (odd), interrupts them        serialise, acknowledge
//!     waits until all have acknowledged        waits for the next order
//!     writes
//!     order += 2 (odd), waits for all          serialise, acknowledge        for each step
//!     order += 1 (even)                        serialise, acknowledge, go on
//! ```
//!
//! A CPU acknowledges an order by storing its number. So an acknowledgement that comes after the flip was refused has no effect on a later order. A
//! CPU that looks for its order too late finds an even one, and goes on.

use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use jumplabel::Refusal;

use crate::{Machine, TIMED_OUT};

pub(crate) struct Rendezvous<const CPUS: usize> {
    order: AtomicU32,
    /// The CPUs that flips stop, with one bit for each.
    online: AtomicUsize,
    acknowledged: [AtomicU32; CPUS],
    /// The number of the last CPU that did not acknowledge an order in time, plus 1; 0 if there was none.
    late: AtomicU32,
    /// The number of a CPU that called [`Kernel::answer`](crate::Kernel::answer) although its number is not below `CPUS`; 0 if there is none.
    unknown: AtomicUsize,
}

impl<const CPUS: usize> Rendezvous<CPUS> {
    pub(crate) const fn new() -> Self {
        const { assert!(CPUS > 0 && CPUS <= usize::BITS as usize, "a bit for each CPU") };
        Rendezvous {
            order: AtomicU32::new(0),
            online: AtomicUsize::new(0),
            acknowledged: [const { AtomicU32::new(0) }; CPUS],
            late: AtomicU32::new(0),
            unknown: AtomicUsize::new(0),
        }
    }

    /// Sets whether flips must stop the CPU `cpu`. Called with the lock held, or by [`Kernel::start`](crate::Kernel::start) before any other CPU
    /// runs.
    pub(crate) fn set_online(&self, cpu: usize, is_online: bool) {
        let bit = 1 << cpu;
        let _ = if is_online {
            self.online.fetch_or(bit, Ordering::Release)
        } else {
            self.online.fetch_and(!bit, Ordering::Release)
        };
    }

    pub(crate) fn late(&self) -> Option<usize> {
        (self.late.load(Ordering::Relaxed) as usize).checked_sub(1)
    }

    /// Notes that a CPU has called [`Kernel::answer`](crate::Kernel::answer) although its number is not below `CPUS`.
    pub(crate) fn note_unknown(&self, cpu: usize) {
        self.unknown.store(cpu, Ordering::Relaxed);
    }

    /// The CPU that [`note_unknown`](Self::note_unknown) was last called for. Flips cannot stop it.
    pub(crate) fn unknown(&self) -> Option<usize> {
        Some(self.unknown.load(Ordering::Relaxed)).filter(|&cpu| cpu != 0)
    }

    fn others(&self, machine: &impl Machine) -> impl Iterator<Item = (usize, &AtomicU32)> {
        let online = self.online.load(Ordering::Acquire) & !(1 << machine.cpu());
        self.acknowledged.iter().enumerate().filter(move |(cpu, _)| online & 1 << cpu != 0)
    }

    /// Interrupts all other CPUs that flips stop.
    #[inline(never)]
    fn interrupt_others(&self, machine: &impl Machine) {
        self.others(machine).for_each(|(cpu, _)| machine.interrupt(cpu));
    }

    /// Gives an order, whose number is that of the last order plus `steps`, and waits until all other CPUs have acknowledged it.
    #[inline(never)]
    fn give(&self, steps: u32, machine: &impl Machine) -> Result<(), Refusal> {
        let order = self.order.fetch_add(steps, Ordering::AcqRel).wrapping_add(steps);
        self.interrupt_others(machine);
        let start = machine.now();
        for (cpu, acknowledged) in self.others(machine) {
            while acknowledged.load(Ordering::Acquire) != order {
                if machine.now() > start.saturating_add(machine.patience()) {
                    self.late.store(cpu as u32 + 1, Ordering::Relaxed);
                    return Err(Refusal::errno(TIMED_OUT));
                }
                machine.relax();
            }
        }
        Ok(())
    }

    /// Stops all other CPUs. If one of them does not acknowledge in time, lets the others go on, and returns an error.
    #[inline(never)]
    pub(crate) fn stop(&self, machine: &impl Machine) -> Result<(), Refusal> {
        let stopped = self.give(1, machine);
        if stopped.is_err() {
            self.order.fetch_add(1, Ordering::AcqRel);
            self.interrupt_others(machine);
        }
        stopped
    }

    /// Makes this CPU and all others serialise. Called while the others are stopped.
    pub(crate) fn serialise(&self, machine: &impl Machine) -> Result<(), Refusal> {
        machine.serialise();
        self.give(2, machine)
    }

    /// Lets the other CPUs go on, and waits until they have acknowledged that.
    pub(crate) fn go(&self, machine: &impl Machine) -> Result<(), Refusal> {
        self.give(1, machine)
    }

    /// Carries out the orders of the CPU that flips, until this CPU may go on. Called with interrupts off.
    pub(crate) fn answer(&self, machine: &impl Machine) {
        let cpu = machine.cpu();
        let Some(acknowledged) = self.acknowledged.get(cpu) else { return };
        let mut order = self.order.load(Ordering::Acquire);
        if order & 1 == 0 || self.online.load(Ordering::Acquire) & 1 << cpu == 0 {
            return;
        }
        loop {
            machine.serialise();
            acknowledged.store(order, Ordering::Release);
            if order & 1 == 0 {
                return;
            }
            let given = order;
            while order == given {
                machine.wait();
                order = self.order.load(Ordering::Acquire);
            }
        }
    }
}
