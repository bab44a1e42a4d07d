//! Makes the socket so that nobody else can connect, and removes those that dead processes have left.

use std::io;
use std::path::Path;

use rustix::fs::{FileType, Mode};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use rustix::process::Pid;

use super::inherited::Kept;
use crate::directory;

/// Clients that have not been accepted yet. Further ones wait.
const BACKLOG: i32 = 128;

/// Listens at `path` in `directory`.
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
    // The file gets the mode of the socket, but for what umask takes away: at no time may others connect.
    rustix::fs::fchmod(&listener, Mode::RUSR | Mode::WUSR)?;
    let mut bound = rustix::net::bind(&listener, &address);
    if bound == Err(Errno::ADDRINUSE) {
        if !is_own_socket(path) {
            let why = format!("{}: something is there that is no socket of this user: remove it", path.display());
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, why));
        }
        if is_stale(&address) {
            // Of an earlier process of this number, or of the program that called `exec`.
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

/// Whether nobody listens there any more.
fn is_stale(address: &SocketAddrUnix) -> bool {
    new().is_ok_and(|socket| rustix::net::connect(&socket, address) == Err(Errno::CONNREFUSED))
}

/// Whether a socket of this user has the name: a link to one is none, and a regular file refuses connections as a stale socket does.
fn is_own_socket(path: impl rustix::path::Arg) -> bool {
    rustix::fs::lstat(path).is_ok_and(|found| {
        FileType::from_raw_mode(found.st_mode) == FileType::Socket
            && found.st_uid == rustix::process::geteuid().as_raw()
    })
}

/// Removes a socket of this user. Whatever else has the name stays.
pub fn remove(path: impl rustix::path::Arg + Copy) {
    if is_own_socket(path) {
        let _ = rustix::fs::unlink(path);
    }
}

/// Removes the sockets of processes that are gone. A process in another container may be one that this one cannot see: if it listens, it
/// is left alone.
fn sweep(directory: &Path) {
    for socket in directory::sockets(directory).unwrap_or_default() {
        let pid = i32::try_from(socket.pid).ok().and_then(Pid::from_raw);
        let is_gone = pid.is_some_and(|pid| rustix::process::test_kill_process(pid) == Err(Errno::SRCH));
        if is_gone && SocketAddrUnix::new(&socket.path).is_ok_and(|address| is_stale(&address)) {
            remove(&socket.path);
        }
    }
}
