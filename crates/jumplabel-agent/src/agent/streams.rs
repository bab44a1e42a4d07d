//! Opens descriptors so that they do not get the numbers 0, 1 and 2.
//!
//! A program may be started without standard streams, and the system gives each new descriptor the lowest free number. If a connection had the
//! number 1, the program would print into the connection. So stand-ins take these numbers while a descriptor is opened:
//!
//! ```text
//!   0 closed   1 closed   2 the program's        before
//!   0 O_PATH   1 O_PATH   2 the program's   3 ◄── the new descriptor; a write to a stand-in gets EBADF, as if it were closed
//!   0 closed   1 closed   2 the program's   3    afterwards
//! ```

use rustix::fs::{Mode, OFlags};
use rustix::stdio;

use super::inherited::Kept;

/// The largest number of descriptors that stand in for closed streams.
pub const STAND_INS: usize = 3;

/// Calls `open` while the numbers 0 to 2 are taken, by the program's streams or by stand-ins.
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
