//! The error numbers of C that the library returns, negated: those of <errno.h>.

/// The number that <errno.h> of this system has: of Windows, of macOS and FreeBSD, of Linux.
const fn of_system(windows: u8, bsd: u8, linux: u8) -> u8 {
    if cfg!(windows) {
        windows
    } else if cfg!(any(target_vendor = "apple", target_os = "freebsd")) {
        bsd
    } else {
        linux
    }
}

pub(crate) const EPERM: u8 = 1;
pub(crate) const ENOENT: u8 = 2;
pub(crate) const EIO: u8 = 5;
pub(crate) const ENOEXEC: u8 = 8;
pub(crate) const EAGAIN: u8 = of_system(11, 35, 11);
pub(crate) const ENOMEM: u8 = 12;
pub(crate) const EACCES: u8 = 13;
pub(crate) const EFAULT: u8 = 14;
pub(crate) const EBUSY: u8 = 16;
pub(crate) const EEXIST: u8 = 17;
pub(crate) const EINVAL: u8 = 22;
pub(crate) const EROFS: u8 = 30;
pub(crate) const ERANGE: u8 = 34;
pub(crate) const EDEADLK: u8 = of_system(36, 11, 35);
pub(crate) const ENOSYS: u8 = of_system(40, 78, 38);
pub(crate) const ELOOP: u8 = of_system(114, 62, 40);
pub(crate) const EOVERFLOW: u8 = of_system(132, 84, 75);
pub(crate) const EADDRINUSE: u8 = of_system(100, 48, 98);
pub(crate) const EINPROGRESS: u8 = of_system(112, 36, 115);
