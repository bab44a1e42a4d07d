//! What a kernel gives.

use core::time::Duration;

use jumplabel::Refusal;

/// The parts of a kernel that flips use. No function may have sites, or take a lock that somebody holds who flips.
///
/// # Safety
/// Each function does what it says. `cpu` tells CPUs apart, by numbers below the `CPUS` of the [`Kernel`](crate::Kernel).
pub unsafe trait Machine: Sync {
    /// The number of the CPU that calls.
    fn cpu(&self) -> usize;

    /// Turns interrupts off on this CPU; returns what [`restore`](Self::restore) needs.
    fn interrupts_off(&self) -> u64;

    /// Makes them what they were.
    fn restore(&self, interrupts: u64);

    /// Interrupts another CPU: its handler calls [`Kernel::answer`](crate::Kernel::answer). Also ends its [`wait`](Self::wait).
    fn interrupt(&self, cpu: usize);

    /// With interrupts off: waits a little, or until another CPU interrupts this one.
    fn wait(&self) {
        core::hint::spin_loop();
    }

    /// Makes this CPU forget what it has fetched ahead: `fence.i`, `isb`, `cpuid`.
    fn serialise(&self);

    /// An address at which the byte of text at `address`, and the rest of its page, can be written by this CPU, until
    /// [`unmap`](Self::unmap). Two may be in use at a time, of pages that follow each other: a kernel that maps pages for this needs two
    /// places. A kernel with a direct map of physical memory adds a number.
    ///
    /// # Errors
    /// There is none: the flip is undone.
    fn map(&self, address: usize) -> Result<usize, Refusal>;

    /// The address is not used any more.
    fn unmap(&self, _alias: usize) {}

    /// What was written at `address`, by way of `alias`, reaches the fetches of all CPUs that serialise from now on: cleans caches, where
    /// they do not agree by themselves.
    fn clean(&self, _address: usize, _alias: usize, _bytes: usize) {}

    /// A clock that runs: a rendezvous is given up by it.
    fn now(&self) -> Duration;

    /// How long a rendezvous waits for a CPU: longer than any CPU has its interrupts off.
    fn patience(&self) -> Duration {
        Duration::from_secs(1)
    }
}
