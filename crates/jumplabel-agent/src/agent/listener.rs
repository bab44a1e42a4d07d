//! The socket to which clients connect. If the program closes it, the agent opens it again.
//!
//! ```text
//!   open        ─► the program closes all descriptors, as daemons do ─► the socket is closed, or its number is that of a file of the program
//!   closed      ─► in its next round, the agent opens a new socket with the same name
//!   this fails  ─► the agent tries again after a second; it logs the reason only if it is not that of the last try
//! ```

use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::{SocketAddrUnix, SocketFlags, accept_with};

use super::inherited::Kept;
use super::socket;
use super::streams::beside_streams;

/// The time after which the agent tries again what has failed.
pub const PAUSE: Duration = Duration::from_secs(1);

pub struct Listener {
    /// `None` if the program has closed the socket.
    fd: Option<Kept>,
    path: PathBuf,
    /// The end of a pause: until then, the agent accepts nobody and opens no socket.
    paused: Option<Instant>,
    /// Why the last try to open the socket again failed; empty if it did not fail.
    why: String,
}

impl Listener {
    pub fn new(fd: Kept, path: PathBuf) -> Listener {
        // The path is made absolute, because the program may change its directory before the socket is opened again.
        let absolute = std::path::absolute(&path).ok().filter(|path| SocketAddrUnix::new(path).is_ok());
        let path = absolute.unwrap_or(path);
        Listener { fd: Some(fd), path, paused: None, why: String::new() }
    }

    /// The time at which this listener has something to do: the end of the pause, or `now` if the socket must be opened again. `None` if it only
    /// waits for clients.
    pub fn paused(&mut self, now: Instant) -> Option<Instant> {
        self.paused = self.paused.filter(|&end| end > now);
        self.paused.or_else(|| self.fd.is_none().then_some(now))
    }

    /// Ends the pause. Called when a client has gone, so that a descriptor is free again.
    pub fn go_on(&mut self) {
        self.paused = None;
    }

    /// The event to poll for; `None` in a pause, or while the socket is closed.
    pub fn waits_for(&self) -> Option<PollFd<'_>> {
        let fd = self.fd.as_ref().filter(|_| self.paused.is_none())?;
        Some(PollFd::new(fd, PollFlags::IN))
    }

    /// Opens the socket again if the program has closed it. Returns a sentence for the log if it has done so, or if that has failed.
    pub fn restore(&mut self) -> Option<String> {
        if self.fd.as_ref().is_some_and(Kept::is_own) || self.paused.is_some() {
            return None;
        }
        self.fd = None;
        let directory = self.path.parent()?;
        match beside_streams(|| socket::listen(directory, &self.path)) {
            Ok(fd) => {
                self.fd = Some(fd);
                self.why.clear();
                Some("the program had closed the agent's socket: it is open again".to_owned())
            }
            Err(error) => {
                self.paused = Some(Instant::now() + PAUSE);
                let before = std::mem::replace(&mut self.why, error.to_string());
                let why = format!("nobody can connect: the program has closed the agent's socket: {error}");
                (before != self.why).then_some(why)
            }
        }
    }

    /// Accepts the next client; `None` if there is none. If there is no descriptor or no memory for the client, begins a pause: the client stays in
    /// the queue, and without the pause the agent would try again and again.
    ///
    /// # Errors
    /// The reason of the pause.
    pub fn accept(&mut self) -> Result<Option<Kept>, String> {
        // The program may have closed the socket after `poll` returned.
        let Some(listener) = self.fd.as_ref().filter(|fd| fd.is_own()) else { return Ok(None) };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let accepted = beside_streams(|| Kept::open(|| accept_with(listener, flags)));
        accepted.map(Some).or_else(|error| match Errno::from_io_error(&error) {
            // The client has gone.
            Some(Errno::AGAIN | Errno::INTR | Errno::CONNABORTED) => Ok(None),
            _ => {
                self.paused = Some(Instant::now() + PAUSE);
                Err(format!("nobody can connect for a second: {error}"))
            }
        })
    }
}
