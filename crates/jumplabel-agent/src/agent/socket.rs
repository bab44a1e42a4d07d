//! Makes the agent's socket, to which no other user can connect, and removes sockets that dead processes have left.

use std::io;
use std::path::Path;

use rustix::fs::{FileType, Mode};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use rustix::process::Pid;

use super::inherited::Kept;
use crate::directory;

/// The number of clients that can wait to be accepted. If there are more, their calls of `connect` wait.
const BACKLOG: i32 = 128;

/// Makes a socket that listens at `path`, which is in `directory`.
pub fn listen(directory: &Path, path: &Path) -> io::Result<Kept> {
    let with_name = |error: Errno| {
        let error = io::Error::from(error);
        io::Error::new(error.kind(), format!("{}: {error}", path.display()))
    };
    let address = SocketAddrUnix::new(path).map_err(|_| {
        let why = format!("{}: too long for a socket, which takes 107 bytes: give another directory", path.display());
        io::Error::new(io::ErrorKind::InvalidFilename, why)
    })?;
    directory::prepare(directory)?;
    sweep(directory);
    let listener = Kept::open(new)?;
    // `bind` gives the socket's mode, without the bits in umask, to the file that it makes. So no other user may connect at any time.
    rustix::fs::fchmod(&listener, Mode::RUSR | Mode::WUSR)?;
    let mut bound = rustix::net::bind(&listener, &address);
    if bound == Err(Errno::ADDRINUSE) {
        if !is_own_socket(path) {
            let why = format!("{}: something is there that is no socket of this user: remove it", path.display());
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, why));
        }
        if is_stale(&address) {
            // An earlier process with the same number has left the socket, or this process has left it by an `exec`.
            rustix::fs::unlink(path).map_err(with_name)?;
            bound = rustix::net::bind(&listener, &address);
        }
    }
    bound.map_err(with_name)?;
    if let Err(error) = rustix::net::listen(&listener, BACKLOG) {
        remove(path);
        return Err(with_name(error));
    }
    Ok(listener)
}

fn new() -> Result<std::os::fd::OwnedFd, Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)
}

/// True if no process listens at the address any more.
fn is_stale(address: &SocketAddrUnix) -> bool {
    new().is_ok_and(|socket| rustix::net::connect(&socket, address) == Err(Errno::CONNREFUSED))
}

/// True if the file at `path` is a socket of this user. A link to a socket does not count, nor does a regular file, although it refuses connections
/// as a stale socket does.
fn is_own_socket(path: impl rustix::path::Arg) -> bool {
    rustix::fs::lstat(path).is_ok_and(|found| {
        FileType::from_raw_mode(found.st_mode) == FileType::Socket
            && found.st_uid == rustix::process::geteuid().as_raw()
    })
}

/// Removes the file at `path` if it is a socket of this user.
pub fn remove(path: impl rustix::path::Arg + Copy) {
    if is_own_socket(path) {
        let _ = rustix::fs::unlink(path);
    }
}

/// Removes the sockets of processes that are gone. A process in another container may be alive although this process cannot see it. So a socket stays
/// if a process listens there.
fn sweep(directory: &Path) {
    for socket in directory::sockets(directory).unwrap_or_default() {
        let pid = i32::try_from(socket.pid).ok().and_then(Pid::from_raw);
        let is_gone = pid.is_some_and(|pid| rustix::process::test_kill_process(pid) == Err(Errno::SRCH));
        if is_gone && SocketAddrUnix::new(&socket.path).is_ok_and(|address| is_stale(&address)) {
            remove(&socket.path);
        }
    }
}
