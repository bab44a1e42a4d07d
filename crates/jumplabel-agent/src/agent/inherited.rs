//! Closes the agent's descriptors in a child of a fork, which must not keep them.
//!
//! ```text
//!   parent   listener, clients ──┐ fork: the handlers hold the lock, so that
//!   child    copies of them    ──┘ each descriptor that exists is in the table     child's handler: closes them all
//! ```
//!
//! If a child kept the listener, a client could still connect to the socket of a dead parent, and would wait for an answer. If the child kept a
//! client's connection, the client would not see the parent close it. A raw `clone` and `vfork` run no handlers; `exec` closes all.
//!
//! A program may close descriptors that are not its own, as daemons do when they start, and then get the same numbers for its own files. So each
//! descriptor is kept with the file that it was opened for, and nothing is done with a number that stands for another file.

use std::cell::UnsafeCell;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// The most descriptors that may be open at a time.
pub const CAPACITY: usize = 69;

/// A number, and the file for which it stands, by device and inode.
type Place = (RawFd, [u64; 2]);

const FREE: Place = (-1, [0; 2]);

static OPEN: Mutex<[Place; CAPACITY]> = Mutex::new([FREE; CAPACITY]);

/// The guard of the lock from the handler before a fork to the handlers after the fork. Only the thread that holds the lock accesses this.
struct ForksLock(UnsafeCell<Option<MutexGuard<'static, [Place; CAPACITY]>>>);

// SAFETY: only the thread that holds the lock accesses it. The handlers of one fork run one after the other.
unsafe impl Sync for ForksLock {}

static FORKS_LOCK: ForksLock = ForksLock(UnsafeCell::new(None));

/// A descriptor that children of a fork do not keep.
pub struct Kept(ManuallyDrop<OwnedFd>, [u64; 2]);

impl Kept {
    /// Calls `open`, and keeps the descriptor that it opens. `open` must not wait, because forks wait for it.
    pub fn open(open: impl FnOnce() -> rustix::io::Result<OwnedFd>) -> io::Result<Kept> {
        let mut table = lock();
        let place = table.iter_mut().find(|place| place.0 < 0).ok_or(io::ErrorKind::QuotaExceeded)?;
        let fd = open()?;
        let file = file(fd.as_fd())?;
        *place = (fd.as_raw_fd(), file);
        Ok(Kept(ManuallyDrop::new(fd), file))
    }

    /// False if the program has closed the descriptor: its number then stands for nothing, or for a file of the program.
    pub fn is_own(&self) -> bool {
        file(self.0.as_fd()) == Ok(self.1)
    }

    /// True if the descriptor has the number of a standard stream.
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
        let (mut table, own) = (lock(), (self.0.as_raw_fd(), self.1));
        if let Some(place) = table.iter_mut().find(|place| **place == own) {
            *place = FREE;
            if self.is_own() {
                // SAFETY: `self` ends here, so nothing uses the descriptor any more. It is still open: one that is not in the table was closed
                // by `child`, and the number stands for the same file.
                unsafe { ManuallyDrop::drop(&mut self.0) };
            }
        }
    }
}

/// The file for which a descriptor stands.
fn file(fd: BorrowedFd<'_>) -> rustix::io::Result<[u64; 2]> {
    rustix::fs::fstat(fd).map(|found| [found.st_dev, found.st_ino].map(u64::from))
}

fn lock() -> MutexGuard<'static, [Place; CAPACITY]> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Registers the handlers of fork, once in a process and its children. False if there is no memory for that.
pub fn register() -> bool {
    static REGISTERED: OnceLock<bool> = OnceLock::new();
    // SAFETY: the handlers are functions of this object, which is not unloaded while its thread runs.
    *REGISTERED.get_or_init(|| unsafe { libc::pthread_atfork(Some(prepare), Some(parent), Some(child)) } == 0)
}

extern "C" fn prepare() {
    let guard = lock();
    // SAFETY: this thread holds the lock, so no other accesses `FORKS_LOCK`.
    unsafe { *FORKS_LOCK.0.get() = Some(guard) };
}

extern "C" fn parent() {
    // SAFETY: this thread has held the lock since `prepare`, so no other accesses `FORKS_LOCK`.
    drop(unsafe { (*FORKS_LOCK.0.get()).take() });
}

extern "C" fn child() {
    // SAFETY: the child's one thread is a copy of the one that took the lock in `prepare`.
    let Some(mut table) = (unsafe { (*FORKS_LOCK.0.get()).take() }) else { return };
    for place in table.iter_mut().filter(|place| place.0 >= 0) {
        // SAFETY: the number is no less than 0, and is used for this call alone.
        let fd = unsafe { BorrowedFd::borrow_raw(place.0) };
        if file(fd) == Ok(place.1) {
            // SAFETY: the child has a copy of the parent's descriptor. The thread that owned it does not run here, so nobody uses the number.
            unsafe { libc::close(place.0) };
        }
        *place = FREE;
    }
}
