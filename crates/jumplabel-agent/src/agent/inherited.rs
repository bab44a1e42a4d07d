//! Descriptors that a child of a fork must not keep.
//!
//! ```text
//!   parent   listener, clients ──┐ fork: the handlers hold the lock, so that
//!   child    copies of them    ──┘ each descriptor that exists is in the table     child's handler: closes them all
//! ```
//!
//! If a child kept the listener, a client would find the socket of a dead parent open, and wait for an answer. If it kept a client's
//! connection, the client would not see the parent close it. A raw `clone` and `vfork` run no handlers; `exec` closes all.

use std::cell::UnsafeCell;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// The most that may be open at a time.
pub const CAPACITY: usize = 69;

static OPEN: Mutex<[RawFd; CAPACITY]> = Mutex::new([-1; CAPACITY]);

/// The lock, while a fork holds it. Only who holds it looks.
struct ForksLock(UnsafeCell<Option<MutexGuard<'static, [RawFd; CAPACITY]>>>);

// SAFETY: only the thread that holds the lock looks, as the handlers of one fork do, one after the other.
unsafe impl Sync for ForksLock {}

static FORKS_LOCK: ForksLock = ForksLock(UnsafeCell::new(None));

/// A descriptor that children do not keep.
pub struct Kept(ManuallyDrop<OwnedFd>);

impl Kept {
    /// What `open` opens. It must not wait: forks wait for it.
    pub fn open(open: impl FnOnce() -> rustix::io::Result<OwnedFd>) -> io::Result<Kept> {
        let mut table = lock();
        let place = table.iter_mut().find(|place| **place < 0).ok_or(io::ErrorKind::QuotaExceeded)?;
        let fd = open()?;
        *place = fd.as_raw_fd();
        Ok(Kept(ManuallyDrop::new(fd)))
    }

    /// Whether its number is one of those that standard streams have.
    pub fn is_of_stream(&self) -> bool {
        self.0.as_raw_fd() <= libc::STDERR_FILENO
    }
}

impl AsFd for Kept {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let (mut table, number) = (lock(), self.0.as_raw_fd());
        if let Some(place) = table.iter_mut().find(|place| **place == number) {
            *place = -1;
            // SAFETY: nothing uses it any more. What is not in the table was closed by `child`.
            unsafe { ManuallyDrop::drop(&mut self.0) };
        }
    }
}

fn lock() -> MutexGuard<'static, [RawFd; CAPACITY]> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Has forks do this. Once in a process and its children. False if there is no memory for that.
pub fn register() -> bool {
    static REGISTERED: OnceLock<bool> = OnceLock::new();
    // SAFETY: handlers of this object, which is not unloaded while its thread runs.
    *REGISTERED.get_or_init(|| unsafe { libc::pthread_atfork(Some(prepare), Some(parent), Some(child)) } == 0)
}

extern "C" fn prepare() {
    let guard = lock();
    // SAFETY: this thread holds the lock.
    unsafe { *FORKS_LOCK.0.get() = Some(guard) };
}

extern "C" fn parent() {
    // SAFETY: this thread holds the lock, since `prepare`.
    drop(unsafe { (*FORKS_LOCK.0.get()).take() });
}

extern "C" fn child() {
    // SAFETY: the child's one thread is a copy of the one that took the lock in `prepare`.
    let Some(mut table) = (unsafe { (*FORKS_LOCK.0.get()).take() }) else { return };
    for place in table.iter_mut().filter(|place| **place >= 0) {
        // SAFETY: a copy of the parent's; the thread that owned it is not here.
        unsafe { libc::close(*place) };
        *place = -1;
    }
}
