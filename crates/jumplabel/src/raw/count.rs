//! The counter of a key, and the rules for its changes.
//!
//! ```text
//!   word            meaning                                   is_enabled   count
//!   0               off                                       no           0
//!   n > 0           on, n users                               yes          n
//!   -1              on, its last user is leaving              yes          1
//!   MIN + n         sealed with count n                       n > 0        n
//!
//!            lock: patch, then store 1                     no lock: compare-and-swap
//!       0 ─────────────────────────────► 1 ◄──────────────────────────────────────────► n
//!       ▲                                │
//!       └──────── patch, then 0 ─── -1 ◄─┘   lock; -1 keeps lock-free incs out; an error puts 1 back
//! ```
//!
//! Linux publishes -1 while a key is being turned on. If a key is turned off, Linux publishes 0 before it patches the sites
//! (kernel/jump_label.c, `static_key_slow_inc`, `static_key_slow_dec`). Here the count is published after the patch in both directions. So
//! `is_enabled` never changes before the sites, and -1 is needed only while a key is being turned off.
//!
//! This file has only the transitions of the counter. It does not patch code and does not take the lock, so the model check can run the same
//! functions.

use super::atomic::{AtomicI32, Ordering};

const LEAVING: i32 = -1;

/// The work that a change of one key needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transition {
    /// No work: the key has the state that the change asks for.
    Done,
    /// One user more, of a key that stays on. Call [`publish`], which counts the user. Until then nothing has changed.
    Join,
    /// One user less, of a key that stays on. [`begin`] has already counted the user off. If the change is taken back, call [`add`].
    Leave,
    /// Turn the sites on; then call [`publish`].
    TurnOn,
    /// Turn the sites off; then call [`publish`].
    TurnOff,
}

/// The reason why a change is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misuse {
    /// The count is at its maximum.
    Overflow,
    /// The key is off.
    Underflow,
    /// The change is `Enable` or `Disable`, but the key has this many users.
    Counted(i32),
    /// The key is sealed.
    Sealed,
}

/// A change of the number of a key's users.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// From 0 users to 1.
    Enable,
    /// From 1 user to 0.
    Disable,
    /// One user more.
    Inc,
    /// One user less.
    Dec,
}

impl Change {
    /// The change that turns a key on or off.
    #[must_use]
    pub const fn to(on: bool) -> Change {
        if on { Change::Enable } else { Change::Disable }
    }

    /// Whether the change names the state that the key must have. (`Inc` and `Dec` only say that a user comes or goes.)
    #[must_use]
    pub const fn names_a_state(self) -> bool {
        matches!(self, Change::Enable | Change::Disable)
    }

    /// The change with this number (`change as usize`).
    #[must_use]
    pub const fn of(number: usize) -> Change {
        match number {
            0 => Change::Enable,
            1 => Change::Disable,
            2 => Change::Inc,
            _ => Change::Dec,
        }
    }
}

/// The number of users that `word` stands for.
#[must_use]
pub const fn users(word: i32) -> i32 {
    match word {
        LEAVING => 1,
        word => word & i32::MAX,
    }
}

const fn is_sealed(word: i32) -> bool {
    word < LEAVING
}

/// Tries to carry out a change without the lock. That is possible if it adds or removes one user of a key that stays on. Returns `None` if the
/// change needs the lock.
pub fn fast(word: &AtomicI32, change: Change) -> Option<()> {
    let mut now = word.load(Ordering::Relaxed);
    loop {
        let new = match change {
            Change::Inc if now > 0 && now < i32::MAX => now + 1,
            Change::Dec if now > 1 => now - 1,
            _ => return None,
        };
        // Acquire: a thread that sees that the key is on also sees that its sites are on. Release: everything that a user did happens before the user
        // leaves.
        match word.compare_exchange_weak(now, new, Ordering::AcqRel, Ordering::Relaxed) {
            Ok(_) => return Some(()),
            Err(changed) => now = changed,
        }
    }
}

/// The word before a change. If the process was forked while the key was being turned off, the word can still be -1. That flip was never finished in
/// this process. So this function first abandons the flip, and the last user stays. Called under the lock.
fn before_change(word: &AtomicI32) -> i32 {
    let now = word.load(Ordering::Acquire);
    if now != LEAVING {
        return now;
    }
    abandon(word);
    word.load(Ordering::Acquire)
}

/// Begins a change, and returns the work that it needs. If that is [`Transition::TurnOff`], [`fast`] returns `None` for this key until [`publish`] or
/// [`abandon`] is called. Called under the lock.
pub fn begin(word: &AtomicI32, change: Change) -> Result<Transition, Misuse> {
    let mut now = before_change(word);
    loop {
        let (new, transition) = match (change, now) {
            (Change::Enable, 0) | (Change::Inc, 0) => return Ok(Transition::TurnOn),
            (Change::Enable, 1) | (Change::Disable, 0) => return Ok(Transition::Done),
            (Change::Disable | Change::Dec, 1) => (LEAVING, Transition::TurnOff),
            (Change::Enable, sealed) if is_sealed(sealed) && users(sealed) > 0 => return Ok(Transition::Done),
            (Change::Disable, sealed) if is_sealed(sealed) && users(sealed) == 0 => return Ok(Transition::Done),
            (_, sealed) if is_sealed(sealed) => return Err(Misuse::Sealed),
            (Change::Enable | Change::Disable, users) => return Err(Misuse::Counted(users)),
            (Change::Inc, i32::MAX) => return Err(Misuse::Overflow),
            (Change::Inc, _) => return Ok(Transition::Join),
            (Change::Dec, 0) => return Err(Misuse::Underflow),
            (Change::Dec, users) => (users - 1, Transition::Leave),
        };
        match word.compare_exchange(now, new, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => return Ok(transition),
            Err(changed) => now = changed,
        }
    }
}

/// Publishes the new count. Except for [`Transition::Join`], a second call does nothing. Called under the lock, after the sites were patched.
pub fn publish(word: &AtomicI32, transition: Transition) {
    let (from, to) = match transition {
        Transition::Done | Transition::Leave => return,
        Transition::Join => return add(word),
        Transition::TurnOn => (0, 1),
        Transition::TurnOff => (LEAVING, 0),
    };
    let _ = word.compare_exchange(from, to, Ordering::Release, Ordering::Relaxed);
}

/// Counts one user more of a key that is on; does nothing to another key. A user can leave without the lock, but the last one cannot, so the key stays on until then. Called
/// under the lock.
///
/// A change that is refused must leave the count as it was. So [`begin`] does not count a user that comes: if the other users left meanwhile, nothing
/// could turn the key off. But it counts off a user that goes: if the other users left meanwhile, that user would be the last, and the key would have
/// to go off.
pub fn add(word: &AtomicI32) {
    let mut now = word.load(Ordering::Relaxed);
    // At its maximum, the count stays. It gets there only if others have come since `begin`, and then no program can count its users any more.
    while (1..i32::MAX).contains(&now) {
        match word.compare_exchange(now, now + 1, Ordering::AcqRel, Ordering::Relaxed) {
            Ok(_) => return,
            Err(changed) => now = changed,
        }
    }
}

/// Takes back a change for which [`begin`] returned [`Transition::TurnOff`]. Does nothing after any other change. Called under the lock, when the
/// sites are as they were.
pub fn abandon(word: &AtomicI32) {
    // The word is read first, because a sealed key may lie in read-only memory.
    if word.load(Ordering::Relaxed) == LEAVING {
        let _ = word.compare_exchange(LEAVING, 1, Ordering::Release, Ordering::Relaxed);
    }
}

/// Whether no deferred dec is due after a successful change. That is so after `Enable`, which takes the place of the user that has left, and after a
/// change that turned the key off, which has counted that user off. Called under the lock, after the change.
#[must_use]
pub const fn clears_due(change: Change, transition: Transition) -> bool {
    matches!(change, Change::Enable) || matches!(transition, Transition::TurnOff)
}

/// Forbids all changes from now on. Returns an error for a key with `i32::MAX` users, because its sealed word would be -1. Called under the
/// lock.
pub fn seal(word: &AtomicI32) -> Result<(), Misuse> {
    let mut now = before_change(word);
    loop {
        if is_sealed(now) {
            return Ok(());
        }
        if now == i32::MAX {
            return Err(Misuse::Overflow);
        }
        match word.compare_exchange(now, i32::MIN + now, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => return Ok(()),
            Err(changed) => now = changed,
        }
    }
}

/// Whether the key was sealed.
#[must_use]
pub fn sealed(word: &AtomicI32) -> bool {
    is_sealed(word.load(Ordering::Acquire))
}
