//! UP mode: a process with one thread runs without `lock` prefixes. UP mode exists only on x86-64 and i686, and not on Windows. Elsewhere, and in the
//! fallback, the types here always behave like the standard library's atomics.
//!
//! ```text
//!   several threads                          ── enter() ──►     one thread
//!   f0 48 0f c1 07   lock xadd [rdi], rax                       3e 48 0f c1 07   xadd [rdi], rax
//!                                            ◄── leave() ──
//! ```
//!
//! An atomic instruction needs `lock` only if another processor can reach its memory. On many processors the instruction costs several times as much
//! with `lock` as without. Here, each `lock` is a site of one byte. [`enter`] removes all `lock` prefixes; call it first in a program that starts
//! with one thread. [`leave`] restores them; call it *before* you start the second thread. [`spawn`] calls `leave` before it starts a thread. In a
//! program that never calls `enter`, these types are atomics like any other.
//!
//! ```
//! use jumplabel::up::{self, AtomicUsize};
//! use std::sync::{Arc, atomic::Ordering::Relaxed};
//!
//! // SAFETY: all threads of this program are started by `up::spawn`.
//! unsafe { up::enter() }.ok(); // refused if there is another thread already
//! let count = Arc::new(AtomicUsize::new(0));
//! count.fetch_add(1, Relaxed); // without `lock`
//! let other = Arc::clone(&count);
//! let thread = up::spawn(move || other.fetch_add(1, Relaxed))?; // with `lock` from here on
//! count.fetch_add(1, Relaxed);
//! thread.join().unwrap();
//! assert_eq!(count.load(Relaxed), 3);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! # The rules
//!
//! * **Start no thread between `enter` and `leave`.** Otherwise two threads update one number, and updates are lost. The caller of `enter` promises
//!   this. A library cannot promise it, because `std::thread::spawn`, thread pools and other libraries do not call `leave`. (In C,
//!   `jumplabel/up_threads.h` replaces `pthread_create`.) A child of a raw `clone(CLONE_VM)` or `vfork` that runs beside its parent counts as a
//!   thread.
//! * **Never use these types in memory that another process shares**, nor in memory that the kernel or a device changes (a ring of io_uring, a futex
//!   that the kernel updates). The other process, the kernel or the device runs at the same time, even if this process has one thread. The types here
//!   cannot be made from a pointer, because a program reaches such memory only through a pointer.
//! * Signal handlers need no care: a signal cannot interrupt an instruction in the middle.
//!
//! An object that is loaded in UP mode keeps its `lock` prefixes until the next `enter`. `enter` and `leave` change all objects, even if the process
//! has several instances of this library.

#[cfg_attr(jumplabel_dylib, allow(named_asm_labels))] // The labels of the record occur once in an object.
mod atomic;
mod lock_prefix;
#[cfg_attr(not(jumplabel_prefixes), path = "always.rs")]
mod locks;

#[cfg(all(target_pointer_width = "64", target_has_atomic = "64"))]
pub use atomic::AtomicU64;
pub use atomic::{AtomicBool, AtomicU32, AtomicUsize};
#[cfg(jumplabel_prefixes)]
#[doc(hidden)] // For a check of the word that `lock_prefix!` emits.
pub use lock_prefix::META;

use crate::error::Error;
use crate::patch::Outcome;

/// Leaves UP mode: restores all `lock` prefixes. After `leave` has returned `Ok`, the atomics of this module work like those of the standard library.
/// Call it while the process still has one thread.
///
/// In UP mode this costs a flip. Otherwise it only takes the library's lock and finds nothing to do. Safe wherever a flip is safe.
///
/// # Errors
/// The errors of a flip: [`Error::Denied`] where the system forbids all changes of code, [`Error::ForeignBytes`] where a debugger has a
/// breakpoint on a `lock` prefix. On any error, `lock` prefixes may still be missing: do not start a thread.
pub fn leave() -> Result<Outcome, Error> {
    locks::leave()
}

/// Enters UP mode: removes all `lock` prefixes, including those of objects that were loaded after the last call. The caller must be the only thread.
///
/// Costs a flip. In a kernel, call it while only one processor runs.
///
/// # Safety
/// Until [`leave`] has returned `Ok`:
/// * No other thread runs code that changes numbers of this module, or that has a [`lock_prefix!`](crate::lock_prefix). So start each thread by
///   [`spawn`], or after `leave`, and let no process share this process's memory (`clone(CLONE_VM)`).
/// * No instruction after a `lock_prefix!` works on memory that other processes, the kernel or devices change.
///
/// # Errors
/// [`Error::MultiThreaded`] if there is another thread, or if the system does not say whether there is one (no `/proc`). For some microseconds after
/// a join, the joined thread can still count. Also the errors of [`leave`]. On any error except [`Error::RollbackFailed`], nothing has changed.
pub unsafe fn enter() -> Result<Outcome, Error> {
    locks::enter()
}

/// Whether UP mode is on: whether [`enter`] has removed the `lock` prefixes and [`leave`] has not restored them. Always false in builds that patch no
/// `lock` prefixes. Also false if the lock cannot be taken, as inside a flip. Safe wherever a flip is safe.
#[must_use]
pub fn is_on() -> bool {
    locks::is_on()
}

/// Calls [`leave`], and then starts a thread like [`std::thread::spawn`], but returns errors instead of panicking.
///
/// # Errors
/// If the `lock` prefixes could not be restored, the `io::Error` contains an [`Error`], and no thread was started. Also the errors of
/// [`std::thread::Builder::spawn`].
#[cfg(feature = "std")]
pub fn spawn<F, T>(body: F) -> std::io::Result<std::thread::JoinHandle<T>>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    leave().map_err(std::io::Error::other)?;
    std::thread::Builder::new().spawn(body)
}
