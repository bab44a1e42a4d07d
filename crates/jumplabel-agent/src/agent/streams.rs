//! Keeps the numbers 0, 1 and 2 away from descriptors that the library opens.
//!
//! A program may be started without standard streams, and the system gives each new descriptor the lowest free number. If a connection had the
//! number 1, the program would print into it.
//!
//! ```text
//!   0 closed   1 closed   2 the program's        before
//!   0 O_PATH   1 O_PATH   2 the program's   3 ◄── what is opened; a write to 0 or 1 gets EBADF, as if they were closed
//!   0 closed   1 closed   2 the program's   3    afterwards
//! ```

use rustix::fs::{Mode, OFlags};
use rustix::stdio;

use super::inherited::Kept;

/// The most descriptors that stand in for streams.
pub const STAND_INS: usize = 3;

/// Calls `open` while the numbers 0 to 2 are taken.
pub fn beside_streams<T>(open: impl FnOnce() -> T) -> T {
    let is_open = |stream| rustix::io::fcntl_getfd(stream).is_ok();
    let mut stand_ins = Vec::new();
    if ![stdio::stdin(), stdio::stdout(), stdio::stderr()].into_iter().all(is_open) {
        let next = || Kept::open(|| rustix::fs::open("/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty()));
        while let Ok(fd) = next() {
            if !fd.is_of_stream() {
                break;
            }
            stand_ins.push(fd);
        }
    }
    open()
}
