//! The functions that a kernel gives to the library.

use core::time::Duration;

use jumplabel::Refusal;

/// The functions of a kernel that flips call. None of them may have sites, or take a lock that a CPU may hold while it flips.
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

    /// Interrupts another CPU, whose handler then calls [`Kernel::answer`](crate::Kernel::answer). It also ends that CPU's [`wait`](Self::wait).
    fn interrupt(&self, cpu: usize);

    /// Waits a little, or until another CPU interrupts this one. A CPU that stands still calls it, with interrupts off.
    fn wait(&self) {
        self.relax();
    }

    /// Lets others have the processor. A CPU calls it in each turn of a loop in which it waits for others: the CPU that flips waits until they stand
    /// still, and another CPU that wants to flip waits for the lock. In a guest, call the hypervisor to yield: if it has fewer processors than this
    /// kernel has CPUs, a flip may otherwise wait for whole slices of time.
    ///
    /// It must return by itself, because nobody interrupts a CPU that waits here: use `pause`, a yield to the hypervisor, or `wfe` if a stream of
    /// events ends it. Interrupts may be off.
    fn relax(&self) {
        core::hint::spin_loop();
    }

    /// Makes this CPU forget instructions that it has fetched ahead: `fence.i`, `isb`, `cpuid`.
    fn serialise(&self);

    /// Returns an address through which this CPU can write the text at `address`, and the rest of its page, until [`unmap`](Self::unmap). A kernel
    /// with a direct map of physical memory returns `address` plus a constant. A kernel that maps pages for this needs two places, because two such
    /// addresses, for two adjacent pages, can be in use at a time. Before each write, the library compares some bytes there with those at `address`.
    /// If they differ, it writes nothing, and refuses the flip as [`NO_EFFECT`](Refusal::NO_EFFECT).
    ///
    /// # Errors
    /// The kernel has no such address. The library then undoes the flip.
    fn map(&self, address: usize) -> Result<usize, Refusal>;

    /// Called when the address is no longer used.
    fn unmap(&self, _alias: usize) {}

    /// Makes sure that a CPU that serialises from now on fetches the bytes that were written to `address` through `alias`. On machines whose
    /// instruction caches do not follow stores, it cleans caches.
    fn clean(&self, _address: usize, _alias: usize, _bytes: usize) {}

    /// A running clock, which tells when to give up a rendezvous.
    fn now(&self) -> Duration;

    /// The time for which a rendezvous waits for a CPU. It must be longer than any CPU keeps its interrupts off.
    fn patience(&self) -> Duration {
        Duration::from_secs(1)
    }
}
