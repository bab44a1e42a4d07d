//! The functions that a kernel gives.

use core::time::Duration;

use jumplabel::Refusal;

/// The parts of a kernel that flips use. No function here must have sites, or take a lock that can be held by somebody who flips.
///
/// # Safety
/// Each function does what it says. `cpu` tells CPUs apart. (A number that is not below the `CPUS` of the [`Kernel`](crate::Kernel) is an
/// error: [`Kernel::online`](crate::Kernel::online).)
pub unsafe trait Machine: Sync {
    /// The number of the CPU that calls.
    fn cpu(&self) -> usize;

    /// Turns interrupts off on this CPU. Returns the value that [`restore`](Self::restore) needs.
    fn interrupts_off(&self) -> u64;

    /// Restores interrupts as they were.
    fn restore(&self, interrupts: u64);

    /// Interrupts another CPU: its handler calls [`Kernel::answer`](crate::Kernel::answer). Also ends its [`wait`](Self::wait).
    fn interrupt(&self, cpu: usize);

    /// A CPU that stands still calls this, with interrupts off: waits a little, or until another CPU interrupts this one.
    fn wait(&self) {
        self.relax();
    }

    /// A CPU calls this in each turn of a loop in which it waits for others: the CPU that flips waits until they stand still, and another CPU that
    /// wants to flip waits until it has the lock. Let others have the processor meanwhile. A CPU of a hypervisor gives up the rest of its time here:
    /// if the hypervisor has fewer processors than this kernel has CPUs, a flip may otherwise wait for whole slices of time.
    ///
    /// It must return by itself, because nobody interrupts a CPU that waits here: `pause`, a call of the hypervisor that yields, `wfe` only if
    /// a stream of events ends it. Interrupts may be off.
    fn relax(&self) {
        core::hint::spin_loop();
    }

    /// Makes this CPU forget instructions that it has fetched ahead: `fence.i`, `isb`, `cpuid`.
    fn serialise(&self);

    /// An address through which this CPU can write the byte of text at `address`, and the rest of its page, until [`unmap`](Self::unmap).
    /// Two such addresses can be in use at a time, for two pages that follow each other: a kernel that maps pages for this needs two
    /// places. A kernel with a direct map of physical memory adds a number. The bytes there are compared with those at `address`: if they
    /// differ, nothing is written, and the flip is refused as [`NO_EFFECT`](Refusal::NO_EFFECT).
    ///
    /// # Errors
    /// There is no such address: the flip is undone.
    fn map(&self, address: usize) -> Result<usize, Refusal>;

    /// Called when the address is no longer used.
    fn unmap(&self, _alias: usize) {}

    /// Makes sure that all CPUs that serialise from now on fetch what was written to the text at `address`, through `alias`. So it cleans
    /// caches on machines on which they do not agree by themselves.
    fn clean(&self, _address: usize, _alias: usize, _bytes: usize) {}

    /// A running clock. It tells when a rendezvous is given up.
    fn now(&self) -> Duration;

    /// How long a rendezvous waits for a CPU: longer than any CPU keeps its interrupts off.
    fn patience(&self) -> Duration {
        Duration::from_secs(1)
    }
}
