//! The agent's descriptors, in a table. A child of a fork closes its copies of them.
//!
//! ```text
//!   parent   listener, clients   the table lists all of them: a fork waits until no descriptor is being opened or closed
//!   child    copies of them      the handler of fork closes all that the table lists
//! ```
//!
//! If a child kept the listener, a client could still connect to the socket of a dead parent, and would wait for an answer. If a child kept a
//! client's connection, the client would not see the parent close the connection. A raw `clone` and `vfork` run no handlers of fork; `exec` closes
//! all these descriptors.
//!
//! A program may close descriptors that are not its own, as daemons do when they start, and then get the same numbers for its own files. So the table
//! has the file for which each descriptor was opened, and the agent does nothing with a number that stands for another file.

use std::cell::UnsafeCell;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// The largest number of descriptors that the agent has open at a time.
pub const CAPACITY: usize = 69;

/// The number of a descriptor, and the device and inode of the file for which it was opened.
type Place = (RawFd, [u64; 2]);

const FREE: Place = (-1, [0; 2]);

static OPEN: Mutex<[Place; CAPACITY]> = Mutex::new([FREE; CAPACITY]);

/// The guard of the table's lock during a fork. The handler before the fork puts the guard here, and the handlers after the fork take it.
struct ForksLock(UnsafeCell<Option<MutexGuard<'static, [Place; CAPACITY]>>>);

// SAFETY: only the handlers of fork access the cell, in the thread that forks, which holds the table's lock then. So one thread at a time does.
unsafe impl Sync for ForksLock {}

static FORKS_LOCK: ForksLock = ForksLock(UnsafeCell::new(None));

/// A descriptor in the table, and the file for which it was opened. Children of a fork do not keep it.
pub struct Kept(ManuallyDrop<OwnedFd>, [u64; 2]);

impl Kept {
    /// Calls `open`, and puts the new descriptor into the table. `open` must not wait, because forks wait until it returns.
    pub fn open(open: impl FnOnce() -> rustix::io::Result<OwnedFd>) -> io::Result<Kept> {
        let mut table = lock();
        let place = table.iter_mut().find(|place| place.0 < 0).ok_or(io::ErrorKind::QuotaExceeded)?;
        let fd = open()?;
        let file = file(fd.as_fd())?;
        *place = (fd.as_raw_fd(), file);
        Ok(Kept(ManuallyDrop::new(fd), file))
    }

    /// True if the descriptor still stands for the file for which it was opened. If not, the program has closed it.
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
                // SAFETY: `self` ends here, so nothing uses the descriptor any more. The descriptor is open: `child` has not closed it, because it
                // was in the table, and the number still stands for the same file.
                unsafe { ManuallyDrop::drop(&mut self.0) };
            }
        }
    }
}

/// The device and the inode of the file for which a descriptor stands.
fn file(fd: BorrowedFd<'_>) -> rustix::io::Result<[u64; 2]> {
    rustix::fs::fstat(fd).map(|found| [found.st_dev, found.st_ino].map(u64::from))
}

fn lock() -> MutexGuard<'static, [Place; CAPACITY]> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Registers the handlers of fork, once in a process and its children. Returns false if there is no memory for that.
pub fn register() -> bool {
    static REGISTERED: OnceLock<bool> = OnceLock::new();
    // SAFETY: the handlers are functions of this object, and the contract of `Options::start` says that the object is never unloaded.
    *REGISTERED.get_or_init(|| unsafe { libc::pthread_atfork(Some(prepare), Some(parent), Some(child)) } == 0)
}

extern "C" fn prepare() {
    let guard = lock();
    // SAFETY: this thread holds the table's lock, so no other thread accesses `FORKS_LOCK`.
    unsafe { *FORKS_LOCK.0.get() = Some(guard) };
}

extern "C" fn parent() {
    // SAFETY: this thread has held the table's lock since `prepare`, so no other thread accesses `FORKS_LOCK`.
    drop(unsafe { (*FORKS_LOCK.0.get()).take() });
}

extern "C" fn child() {
    // SAFETY: the child has one thread, a copy of the thread that took the table's lock in `prepare`. So no other thread accesses `FORKS_LOCK`.
    let Some(mut table) = (unsafe { (*FORKS_LOCK.0.get()).take() }) else { return };
    for place in table.iter_mut().filter(|place| place.0 >= 0) {
        // SAFETY: the number is not negative. `fd` is used only by the next call, which fails if the number is closed.
        let fd = unsafe { BorrowedFd::borrow_raw(place.0) };
        if file(fd) == Ok(place.1) {
            // SAFETY: the number stands for the child's copy of the agent's descriptor. The agent's thread does not run in the child, so nobody uses
            // it.
            unsafe { libc::close(place.0) };
        }
        *place = FREE;
    }
}
