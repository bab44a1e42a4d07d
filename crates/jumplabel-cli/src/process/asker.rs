//! Sends requests in one thread, while another thread reads the answers.

use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use jumplabel_agent::protocol::Request;
use rustix::net::{SendFlags, send};

use super::{Process, line};
use crate::failure::Failure;

/// Sends requests to an agent, and never waits.
pub struct Asker {
    name: String,
    stream: UnixStream,
}

impl Process {
    /// A sender of requests for this connection. The answers arrive as [`events`](Process::event).
    pub fn asker(&self) -> Result<Asker, Failure> {
        let stream = self.stream.get_ref().try_clone().map_err(|error| self.lost(&error.to_string()))?;
        Ok(Asker { name: self.name.clone(), stream })
    }

    /// The number of the process; 0 if it is in another container, and the system shows this tool no number for it.
    pub fn pid(&self) -> u32 {
        jumplabel_agent::peer(self.stream.get_ref().as_fd()).map_or(0, |peer| peer.pid)
    }
}

impl Asker {
    /// Sends a request. If the socket's buffer is full, because the agent has not read for long, ends the connection and returns an error.
    pub fn ask(&mut self, request: &Request) -> Result<(), Failure> {
        let line = line(request)?;
        let lost = |why: &str| Failure::OutOfReach(format!("{}: {why}", self.name));
        match send(&self.stream, line.as_bytes(), SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
            Ok(sent) if sent == line.len() => Ok(()),
            Ok(_) | Err(rustix::io::Errno::AGAIN) => {
                let _ = self.stream.shutdown(std::net::Shutdown::Both);
                Err(lost("it has not read what it was asked before"))
            }
            Err(error) => Err(lost(&error.to_string())),
        }
    }
}
