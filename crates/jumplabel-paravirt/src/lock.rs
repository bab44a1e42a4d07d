//! The lock table: all operations of Linux's `pv_lock_ops`, and a ticket lock as their native form.
//!
//! A word of the lock has two halves in the ticket lock: who is served (the lower one) and who comes next. They are equal if it is free.
//! The other backends use one byte: 0 is free, 1 held, 2 held and waited for.
//!
//! | `pv_lock_ops` | here |
//! |---|---|
//! | `spin_is_locked`, `spin_is_contended` | `look`, whose answer has one format; [`Lock::is_locked`], [`Lock::is_contended`] |
//! | `spin_lock`, `spin_lock_flags` | `enter`, then `slow` if another one holds it; [`Lock::lock`], [`Lock::lock_flags`] |
//! | `spin_trylock`, `spin_unlock`, `spin_unlock_wait` | `trylock`, `leave`, `wait`; [`Lock::try_lock`], [`Lock::unlock`], [`Lock::unlock_wait`] |

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, Ordering};

use crate::irq::{self, Cpu};

/// What `enter` takes: one more in the upper half.
pub const TICKET: u64 = 1 << 16;

jumplabel::ops! {
    /// How locks are taken.
    pub static LOCK: Locking = {
        /// A ticket lock, in place.
        Ticket,
        /// A byte, as closed arms.
        Byte,
        /// The same, as functions.
        Called
    };

    /// Asks for the lock; `ticket` is [`TICKET`]. If the two halves of what it returns are equal, the caller has the lock. If not, it calls
    /// `slow`.
    ///
    /// # Safety
    /// `lock` is the word of a lock.
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

    /// The word, as that of a ticket lock.
    ///
    /// # Safety
    /// `lock` is the word of a lock.
    pub unsafe fn look(lock: *const u32) -> u64 {
        Ticket => ticket_word, x86_64 unsafe { "{{disp32}} mov {ret:e}, dword ptr [{lock}]" };
        Byte => byte_word, x86_64 unsafe { "movzx {ret:e}, byte ptr [{lock}]\nshl {ret:e}, 16" };
        Called => byte_word;
    }

    /// Waits for the lock; `ticket` is what `enter` has returned.
    ///
    /// # Safety
    /// `lock` is the word of a lock.
    pub unsafe fn slow(lock: *mut u32, ticket: u64) {
        Ticket => ticket_slow;
        Byte => byte_slow;
        Called => byte_slow;
    }

    /// Takes the lock if nobody holds it.
    ///
    /// # Safety
    /// `lock` is the word of a lock.
    pub unsafe fn trylock(lock: *mut u32) -> bool {
        Ticket => ticket_trylock;
        Byte => byte_trylock;
        Called => byte_trylock;
    }

    /// Waits until who holds the lock now has given it back.
    ///
    /// # Safety
    /// `lock` is the word of a lock.
    pub unsafe fn wait(lock: *const u32) {
        Ticket => ticket_wait;
        Byte => byte_wait;
        Called => byte_wait;
    }
}

/// A lock by the operations of [`LOCK`]. 4 bytes.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Lock(AtomicU32);

/// Whether the halves are equal.
const fn is_free(word: u64) -> bool {
    word as u16 == (word >> 16) as u16
}

impl Lock {
    /// Nobody holds it.
    #[must_use]
    pub const fn new() -> Lock {
        Lock(AtomicU32::new(0))
    }

    /// Waits until the caller has the lock.
    #[inline(always)]
    pub fn lock(&self) {
        // SAFETY: the word of a lock.
        unsafe {
            let ticket = enter(TICKET, self.0.as_ptr());
            if !is_free(ticket) {
                slow(self.0.as_ptr(), ticket);
            }
        }
    }

    /// The same, and lets interrupts in while it waits, if `flags`, which [`irq::save`] has returned, says that they were on.
    pub fn lock_flags(&self, cpu: &Cpu, flags: u64) {
        // SAFETY: the word of a lock, and a processor.
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
        // SAFETY: the word of a lock.
        unsafe { trylock(self.0.as_ptr()) }
    }

    /// Gives the lock back.
    ///
    /// # Safety
    /// The caller has the lock.
    #[inline(always)]
    pub unsafe fn unlock(&self) {
        // SAFETY: the caller has the lock.
        unsafe { leave(self.0.as_ptr()) };
    }

    /// Waits until who holds the lock now has given it back.
    pub fn unlock_wait(&self) {
        // SAFETY: the word of a lock.
        unsafe { wait(self.0.as_ptr()) };
    }

    /// Whether somebody holds it.
    #[must_use]
    pub fn is_locked(&self) -> bool {
        // SAFETY: the word of a lock.
        !is_free(unsafe { look(self.0.as_ptr()) })
    }

    /// Whether somebody waits for it; of a byte lock, also if who holds it had to wait.
    #[must_use]
    pub fn is_contended(&self) -> bool {
        // SAFETY: the word of a lock.
        let word = unsafe { look(self.0.as_ptr()) };
        ((word >> 16) as u16).wrapping_sub(word as u16) > 1
    }
}

/// Looks again and again, and lets others run.
fn until(mut is_so: impl FnMut() -> bool) {
    let mut looks = 0_u32;
    while !is_so() {
        looks += 1;
        if looks.is_multiple_of(64) { std::thread::yield_now() } else { std::hint::spin_loop() }
    }
}

/// # Safety
/// The word of a lock, for as long as the caller looks at it.
unsafe fn whole<'a>(lock: *const u32) -> &'a AtomicU32 {
    // SAFETY: the caller passes the word of a lock.
    unsafe { &*lock.cast() }
}

/// Who is served.
///
/// # Safety
/// As above.
unsafe fn served<'a>(lock: *const u32) -> &'a AtomicU16 {
    // SAFETY: the caller passes the word of a lock; this is its lower half.
    unsafe { &*lock.cast::<AtomicU16>().add(usize::from(cfg!(target_endian = "big"))) }
}

/// # Safety
/// As above.
unsafe fn byte<'a>(lock: *const u32) -> &'a AtomicU8 {
    // SAFETY: the caller passes the word of a lock.
    unsafe { &*lock.cast() }
}

/// The ticket lock's `enter`.
///
/// # Safety
/// The word of a lock.
pub unsafe extern "C" fn ticket_enter(ticket: u64, lock: *mut u32) -> u64 {
    // SAFETY: the caller passes the word of a lock.
    u64::from(unsafe { whole(lock) }.fetch_add(ticket as u32, Ordering::Acquire))
}

/// The ticket lock's `leave`.
///
/// # Safety
/// The caller has the lock.
pub unsafe extern "C" fn ticket_leave(lock: *mut u32) {
    // SAFETY: the caller passes the word of a lock. Nobody else writes this half.
    let served = unsafe { served(lock) };
    served.store(served.load(Ordering::Relaxed).wrapping_add(1), Ordering::Release);
}

unsafe extern "C" fn ticket_word(lock: *const u32) -> u64 {
    // SAFETY: the caller passes the word of a lock.
    u64::from(unsafe { whole(lock) }.load(Ordering::Acquire))
}

unsafe extern "C" fn ticket_slow(lock: *mut u32, ticket: u64) {
    // SAFETY: the caller passes the word of a lock.
    until(|| unsafe { served(lock) }.load(Ordering::Acquire) == (ticket >> 16) as u16);
}

unsafe extern "C" fn ticket_trylock(lock: *mut u32) -> bool {
    // SAFETY: the caller passes the word of a lock.
    let word = unsafe { whole(lock) };
    let seen = word.load(Ordering::Relaxed);
    let taken = || word.compare_exchange(seen, seen.wrapping_add(TICKET as u32), Ordering::Acquire, Ordering::Relaxed);
    is_free(u64::from(seen)) && taken().is_ok()
}

unsafe extern "C" fn ticket_wait(lock: *const u32) {
    // SAFETY: the caller passes the word of a lock.
    let word = || u64::from(unsafe { whole(lock) }.load(Ordering::Acquire));
    let first = word();
    until(|| is_free(word()) || word() as u16 != first as u16);
}

/// The byte lock's `enter`.
///
/// # Safety
/// The word of a lock.
pub unsafe extern "C" fn byte_enter(_: u64, lock: *mut u32) -> u64 {
    // SAFETY: the caller passes the word of a lock.
    u64::from(unsafe { byte(lock) }.swap(1, Ordering::Acquire))
}

/// The byte lock's `leave`.
///
/// # Safety
/// The caller has the lock.
pub unsafe extern "C" fn byte_leave(lock: *mut u32) {
    // SAFETY: the caller passes the word of a lock.
    unsafe { byte(lock) }.store(0, Ordering::Release);
}

unsafe extern "C" fn byte_word(lock: *const u32) -> u64 {
    // SAFETY: the caller passes the word of a lock.
    u64::from(unsafe { byte(lock) }.load(Ordering::Acquire)) << 16
}

unsafe extern "C" fn byte_slow(lock: *mut u32, _: u64) {
    // SAFETY: the caller passes the word of a lock.
    until(|| unsafe { byte(lock) }.swap(2, Ordering::Acquire) == 0);
}

unsafe extern "C" fn byte_trylock(lock: *mut u32) -> bool {
    // SAFETY: the caller passes the word of a lock.
    unsafe { byte(lock) }.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok()
}

unsafe extern "C" fn byte_wait(lock: *const u32) {
    // SAFETY: the caller passes the word of a lock.
    until(|| unsafe { byte(lock) }.load(Ordering::Acquire) == 0);
}
