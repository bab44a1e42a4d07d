//! The table of locks: all operations of Linux's `pv_lock_ops`. The native backend is a ticket lock.
//!
//! A ticket lock's word has two halves: the lower one is the ticket that is served, the upper one is the next ticket to give. They are equal if the
//! lock is free. The other backends use one byte: 0 is free, 1 is held, 2 is held while a thread waits, or held by a thread that had to wait.
//!
//! | `pv_lock_ops` | here |
//! |---|---|
//! `spin_is_locked`, `spin_is_contended` | `look`, in the format of a ticket lock; [`Lock::is_locked`], [`Lock::is_contended`] |
//! | `spin_lock`, `spin_lock_flags` | `enter`, then `slow` if another one holds it; [`Lock::lock`], [`Lock::lock_flags`] |
//! | `spin_trylock`, `spin_unlock`, `spin_unlock_wait` | `trylock`, `leave`, `wait`; [`Lock::try_lock`], [`Lock::unlock`], [`Lock::unlock_wait`] |

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, Ordering};

use crate::irq::{self, Cpu};

/// The number that `enter` adds to the word: 1 in the upper half.
pub const TICKET: u64 = 1 << 16;

jumplabel::ops! {
    /// The sort of lock.
    pub static LOCK: Locking = {
        /// A ticket lock, in place.
        Ticket,
        /// A byte lock; the operations in place are closed arms.
        Byte,
        /// A byte lock; the operations are functions.
        Called
    };

    /// Asks for the lock; `ticket` is [`TICKET`]. If the two halves of the result are equal, the caller has the lock. If not, it must call
    /// `slow`.
    ///
    /// # Safety
    /// `lock` points to the word of a lock.
    pub unsafe fn enter(inout ticket: u64, lock: *mut u32) -> u64 {
        Ticket => ticket_enter, x86_64 unsafe { "{{disp32}} lock xadd dword ptr [{lock}], {ticket:e}" };
        Byte => byte_enter, x86_64 unsafe { "mov {ticket:e}, 1\nxchg byte ptr [{lock}], {ticket:l}" };
        Called => byte_enter;
    }

    /// Gives the lock back.
    ///
    /// # Safety
    /// The caller has the lock.
    pub unsafe fn leave(lock: *mut u32) {
        Ticket => ticket_leave, x86_64 unsafe { "{{disp32}} inc word ptr [{lock}]" };
        Byte => byte_leave, x86_64 unsafe { "mov byte ptr [{lock}], 0" };
        Called => byte_leave;
    }

    /// Reads the word of a lock, in the format of a ticket lock: a byte lock's backends convert it.
    ///
    /// # Safety
    /// `lock` points to the word of a lock.
    pub unsafe fn look(lock: *const u32) -> u64 {
        Ticket => ticket_word, x86_64 unsafe { "{{disp32}} mov {ret:e}, dword ptr [{lock}]" };
        Byte => byte_word, x86_64 unsafe { "movzx {ret:e}, byte ptr [{lock}]\nshl {ret:e}, 16" };
        Called => byte_word;
    }

    /// Waits for the lock, and takes it; `ticket` is the result of `enter`.
    ///
    /// # Safety
    /// `lock` points to the word of a lock.
    pub unsafe fn slow(lock: *mut u32, ticket: u64) {
        Ticket => ticket_slow;
        Byte => byte_slow;
        Called => byte_slow;
    }

    /// Takes the lock if nobody holds it.
    ///
    /// # Safety
    /// `lock` points to the word of a lock.
    pub unsafe fn trylock(lock: *mut u32) -> bool {
        Ticket => ticket_trylock;
        Byte => byte_trylock;
        Called => byte_trylock;
    }

    /// Waits until the present holder has given the lock back.
    ///
    /// # Safety
    /// `lock` points to the word of a lock.
    pub unsafe fn wait(lock: *const u32) {
        Ticket => ticket_wait;
        Byte => byte_wait;
        Called => byte_wait;
    }
}

/// A lock of 4 bytes that uses the operations of [`LOCK`].
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Lock(AtomicU32);

/// Whether a word in the ticket lock's format is that of a free lock: its halves are equal.
const fn is_free(word: u64) -> bool {
    word as u16 == (word >> 16) as u16
}

impl Lock {
    /// A lock that nobody holds.
    #[must_use]
    pub const fn new() -> Lock {
        Lock(AtomicU32::new(0))
    }

    /// Waits until the lock is free, and takes it.
    #[inline(always)]
    pub fn lock(&self) {
        // SAFETY: `self.0` is the word of a lock.
        unsafe {
            let ticket = enter(TICKET, self.0.as_ptr());
            if !is_free(ticket) {
                slow(self.0.as_ptr(), ticket);
            }
        }
    }

    /// Waits until the lock is free, and takes it. Called with interrupts off, and returns with interrupts off. While it waits, interrupts are on if
    /// they were on when [`irq::save`] returned `flags`.
    pub fn lock_flags(&self, cpu: &Cpu, flags: u64) {
        // SAFETY: `self.0` is the word of a lock, and `cpu` is a processor.
        unsafe {
            let ticket = enter(TICKET, self.0.as_ptr());
            if !is_free(ticket) {
                irq::restore(cpu.as_ptr(), flags);
                slow(self.0.as_ptr(), ticket);
                irq::disable(cpu.as_ptr());
            }
        }
    }

    /// Takes the lock if nobody holds it.
    #[must_use]
    pub fn try_lock(&self) -> bool {
        // SAFETY: `self.0` is the word of a lock.
        unsafe { trylock(self.0.as_ptr()) }
    }

    /// Gives the lock back.
    ///
    /// # Safety
    /// The caller has the lock.
    #[inline(always)]
    pub unsafe fn unlock(&self) {
        // SAFETY: the caller guarantees that it has the lock.
        unsafe { leave(self.0.as_ptr()) };
    }

    /// Waits until the present holder has given the lock back.
    pub fn unlock_wait(&self) {
        // SAFETY: `self.0` is the word of a lock.
        unsafe { wait(self.0.as_ptr()) };
    }

    /// True if somebody holds the lock.
    #[must_use]
    pub fn is_locked(&self) -> bool {
        // SAFETY: `self.0` is the word of a lock.
        !is_free(unsafe { look(self.0.as_ptr()) })
    }

    /// True if somebody waits for the lock. With a byte lock, it is also true if the holder had to wait.
    #[must_use]
    pub fn is_contended(&self) -> bool {
        // SAFETY: `self.0` is the word of a lock.
        let word = unsafe { look(self.0.as_ptr()) };
        ((word >> 16) as u16).wrapping_sub(word as u16) > 1
    }
}

/// Waits until `is_so` returns true. Other threads can run meanwhile.
fn until(mut is_so: impl FnMut() -> bool) {
    let mut looks = 0_u32;
    while !is_so() {
        looks += 1;
        if looks.is_multiple_of(64) { std::thread::yield_now() } else { std::hint::spin_loop() }
    }
}

/// The whole word of a lock.
///
/// # Safety
/// `lock` points to the word of a lock, which lives as long as the caller uses it.
unsafe fn whole<'a>(lock: *const u32) -> &'a AtomicU32 {
    // SAFETY: the caller guarantees that `lock` points to the word of a lock.
    unsafe { &*lock.cast() }
}

/// The lower half of the word: the ticket that is served.
///
/// # Safety
/// `lock` points to the word of a lock, which lives as long as the caller uses it.
unsafe fn served<'a>(lock: *const u32) -> &'a AtomicU16 {
    // SAFETY: the caller guarantees that `lock` points to the word of a lock. The result is the lower half of that word.
    unsafe { &*lock.cast::<AtomicU16>().add(usize::from(cfg!(target_endian = "big"))) }
}

/// The byte that a byte lock uses: the first one of the word.
///
/// # Safety
/// `lock` points to the word of a lock, which lives as long as the caller uses it.
unsafe fn byte<'a>(lock: *const u32) -> &'a AtomicU8 {
    // SAFETY: the caller guarantees that `lock` points to the word of a lock.
    unsafe { &*lock.cast() }
}

/// The ticket lock's `enter`.
///
/// # Safety
/// `lock` points to the word of a lock.
pub unsafe extern "C" fn ticket_enter(ticket: u64, lock: *mut u32) -> u64 {
    // SAFETY: the caller guarantees that `lock` points to the word of a lock.
    u64::from(unsafe { whole(lock) }.fetch_add(ticket as u32, Ordering::Acquire))
}

/// The ticket lock's `leave`.
///
/// # Safety
/// The caller has the lock.
pub unsafe extern "C" fn ticket_leave(lock: *mut u32) {
    // SAFETY: the caller has the lock to which the word belongs. Only the holder of a lock writes this half.
    let served = unsafe { served(lock) };
    served.store(served.load(Ordering::Relaxed).wrapping_add(1), Ordering::Release);
}

unsafe extern "C" fn ticket_word(lock: *const u32) -> u64 {
    // SAFETY: the caller guarantees that `lock` points to the word of a lock.
    u64::from(unsafe { whole(lock) }.load(Ordering::Acquire))
}

unsafe extern "C" fn ticket_slow(lock: *mut u32, ticket: u64) {
    // SAFETY: the caller guarantees that `lock` points to the word of a lock.
    until(|| unsafe { served(lock) }.load(Ordering::Acquire) == (ticket >> 16) as u16);
}

unsafe extern "C" fn ticket_trylock(lock: *mut u32) -> bool {
    // SAFETY: the caller guarantees that `lock` points to the word of a lock.
    let word = unsafe { whole(lock) };
    let seen = word.load(Ordering::Relaxed);
    let taken = || word.compare_exchange(seen, seen.wrapping_add(TICKET as u32), Ordering::Acquire, Ordering::Relaxed);
    is_free(u64::from(seen)) && taken().is_ok()
}

unsafe extern "C" fn ticket_wait(lock: *const u32) {
    // SAFETY: the caller guarantees that `lock` points to the word of a lock.
    let word = || u64::from(unsafe { whole(lock) }.load(Ordering::Acquire));
    let first = word();
    until(|| is_free(word()) || word() as u16 != first as u16);
}

/// The byte lock's `enter`.
///
/// # Safety
/// `lock` points to the word of a lock.
pub unsafe extern "C" fn byte_enter(_: u64, lock: *mut u32) -> u64 {
    // SAFETY: the caller guarantees that `lock` points to the word of a lock.
    u64::from(unsafe { byte(lock) }.swap(1, Ordering::Acquire))
}

/// The byte lock's `leave`.
///
/// # Safety
/// The caller has the lock.
pub unsafe extern "C" fn byte_leave(lock: *mut u32) {
    // SAFETY: the caller guarantees that `lock` points to the word of a lock.
    unsafe { byte(lock) }.store(0, Ordering::Release);
}

unsafe extern "C" fn byte_word(lock: *const u32) -> u64 {
    // SAFETY: the caller guarantees that `lock` points to the word of a lock.
    u64::from(unsafe { byte(lock) }.load(Ordering::Acquire)) << 16
}

unsafe extern "C" fn byte_slow(lock: *mut u32, _: u64) {
    // SAFETY: the caller guarantees that `lock` points to the word of a lock.
    until(|| unsafe { byte(lock) }.swap(2, Ordering::Acquire) == 0);
}

unsafe extern "C" fn byte_trylock(lock: *mut u32) -> bool {
    // SAFETY: the caller guarantees that `lock` points to the word of a lock.
    unsafe { byte(lock) }.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok()
}

unsafe extern "C" fn byte_wait(lock: *const u32) {
    // SAFETY: the caller guarantees that `lock` points to the word of a lock.
    until(|| unsafe { byte(lock) }.load(Ordering::Acquire) == 0);
}
