//! The functions that a kernel gives to the library.

use core::time::Duration;

use jumplabel::Refusal;

/// The functions that a flip calls, implemented by the kernel. None of them may have sites, or take a lock that a CPU may hold while it flips.
///
/// # Safety
/// Each function does what its description says. `cpu` returns a different number on each CPU. (A number that is not below the `CPUS` of the
/// [`Kernel`](crate::Kernel) is an error: [`Kernel::online`](crate::Kernel::online).)
pub unsafe trait Machine: Sync {
    /// The number of the CPU that calls.
    fn cpu(&self) -> usize;

    /// Turns interrupts off on this CPU. Returns the value that [`restore`](Self::restore) needs.
    fn interrupts_off(&self) -> u64;

    /// Restores interrupts as they were before the call of [`interrupts_off`](Self::interrupts_off) that returned `interrupts`.
    fn restore(&self, interrupts: u64);

    /// Interrupts another CPU. The handler there calls [`Kernel::answer`](crate::Kernel::answer). The interrupt also ends that CPU's
    /// [`wait`](Self::wait).
    fn interrupt(&self, cpu: usize);

    /// Waits a little, or until another CPU interrupts this one. A CPU that stands still for a flip calls this again and again, with interrupts off.
    fn wait(&self) {
        self.relax();
    }

    /// Lets others have the processor for a moment. A CPU calls this in each turn of two loops: the CPU that flips waits until the others stand
    /// still, and a CPU that wants to flip waits for the lock. In a guest, yield to the hypervisor: if the host has fewer processors than this
    /// kernel has CPUs, a flip may otherwise wait for whole slices of time.
    ///
    /// The function must return by itself, because nobody interrupts a CPU that waits here: use `pause`, a yield to the hypervisor, or `wfe` if a
    /// stream of events ends it. Interrupts may be off.
    fn relax(&self) {
        core::hint::spin_loop();
    }

    /// Makes this CPU discard the instructions that it has fetched ahead, for example by `fence.i`, `isb` or `cpuid`.
    fn serialise(&self);

    /// Returns an address through which this CPU can write the text at `address`, and the rest of its page, until [`unmap`](Self::unmap). A kernel
    /// with a direct map of physical memory returns `address` plus a constant. A kernel that maps pages on demand needs two places for them, because
    /// the library can use two such addresses at a time, for two adjacent pages. Before each write, the library compares some bytes at the returned
    /// address with those at `address`. If they differ, it writes nothing, and refuses the flip as [`NO_EFFECT`](Refusal::NO_EFFECT).
    ///
    /// # Errors
    /// The reason why the kernel has no such address. The library then undoes the flip.
    fn map(&self, address: usize) -> Result<usize, Refusal>;

    /// Takes the address `alias` back, which [`map`](Self::map) returned: the library does not use it any more.
    fn unmap(&self, _alias: usize) {}

    /// Makes sure that a CPU that serialises from now on fetches the bytes that were written to `address` through `alias`. On a machine whose
    /// instruction caches do not follow stores, this function cleans caches; on others, it does nothing.
    fn clean(&self, _address: usize, _alias: usize, _bytes: usize) {}

    /// The time of a clock that never stops. With this clock, a flip measures how long it has waited for the other CPUs.
    fn now(&self) -> Duration;

    /// How long a flip waits for the answers of the other CPUs before it is refused. It must be longer than any CPU keeps its interrupts off.
    fn patience(&self) -> Duration {
        Duration::from_secs(1)
    }
}
