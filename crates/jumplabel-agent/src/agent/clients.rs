//! The clients of the agent. Each has requests that wait for an answer, and answers that wait to be read. Nothing here blocks.
//!
//! ```text
//!   input    what the client has sent; the agent reads no more while it has a whole line, or while an answer is unsent
//!   unsent   the answer and the events that the client has not read; the sum over all clients is bounded
//! ```

use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use super::follows::Follows;
use super::inherited::{CAPACITY, Kept};
use super::streams::STAND_INS;
use crate::protocol::{Answer, LONGEST, Peer};

/// The largest number of clients at a time. If another client comes, [`Clients::add`] chooses a client that has to go. There are places for
/// `CAPACITY` descriptors: those of the clients, the listening socket, the connection that has just come, and the stand-ins for closed streams.
const MOST: usize = CAPACITY - 2 - STAND_INS;
/// The largest number of clients that watch or follow.
const WATCHERS: usize = MOST / 2;
/// The largest number of unread bytes of a client that keeps up with reading. The agent cuts off a watcher that has more.
const UNREAD_EVENTS: usize = 64 << 10;
/// The largest number of unread bytes of all clients together. If there are more, the agent cuts off clients that do not read.
const UNREAD: usize = 4 << 20;

/// A client's connection.
pub struct Client {
    fd: Kept,
    pub peer: Peer,
    input: Vec<u8>,
    unsent: Vec<u8>,
    pub watches: bool,
    pub follows: Option<Follows>,
    /// Whether the client has sent a request that makes sense.
    has_asked: bool,
    /// The round in which the client connected.
    joined: u64,
    /// The round in which the client last sent something.
    active: u64,
    end: End,
}

/// How near to its end a connection is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Open,
    /// The client sends nothing more.
    Half,
    /// The agent closes the connection once the client has read the answer.
    Last,
    /// The agent closes the connection now.
    Gone,
}

impl Client {
    pub fn new(fd: Kept, peer: Peer, round: u64) -> Client {
        let (input, unsent) = (Vec::new(), Vec::new());
        Client {
            fd,
            peer,
            input,
            unsent,
            watches: false,
            follows: None,
            has_asked: false,
            joined: round,
            active: round,
            end: End::Open,
        }
    }

    /// The events to poll for. `poll` also reports that the client has gone, without being asked to.
    pub fn waits_for(&self) -> PollFlags {
        match self.end {
            _ if !self.unsent.is_empty() => PollFlags::OUT,
            End::Open if !self.has_line() => PollFlags::IN,
            _ => PollFlags::empty(),
        }
    }

    /// True if the agent can answer the client's next request: the request is complete, and the client has read all earlier answers.
    pub fn is_ready(&self) -> bool {
        self.unsent.is_empty() && self.end != End::Gone && self.has_line()
    }

    fn has_line(&self) -> bool {
        self.input.contains(&b'\n') || self.input.len() >= LONGEST
    }

    /// Sends and receives as much as is possible without waiting. `ready` is what `poll` has reported for this client.
    pub fn exchange(&mut self, ready: PollFlags, round: u64) {
        if !ready.is_empty() && !self.is_there() {
            return;
        }
        if ready.intersects(PollFlags::OUT | PollFlags::HUP | PollFlags::ERR) {
            self.flush();
        }
        if ready.intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR) && self.end == End::Open {
            self.receive(round);
        }
        if ready.contains(PollFlags::HUP) && self.stays() {
            self.end = End::Gone;
        }
    }

    /// True if the connection is still open. If the program has closed the connection, the client is gone: the descriptor's number may stand for a
    /// file of the program now.
    fn is_there(&mut self) -> bool {
        let is_own = self.fd.is_own();
        if !is_own {
            self.end = End::Gone;
            self.unsent = Vec::new();
        }
        is_own
    }

    fn receive(&mut self, round: u64) {
        let mut bytes = [0; LONGEST];
        let room = LONGEST - self.input.len().min(LONGEST);
        match recv(&self.fd, &mut bytes[..room], RecvFlags::DONTWAIT) {
            Ok((_, 0)) if room > 0 => self.end = End::Half,
            Ok((_, length)) => {
                self.input.extend_from_slice(&bytes[..length]);
                self.active = round;
            }
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => self.end = End::Gone,
        }
    }

    /// Takes the client's next line; if something is wrong with the line, the answer that says so. `None` if the line is not complete, or if the
    /// client has not read all earlier answers.
    pub fn line(&mut self) -> Option<Result<String, Answer>> {
        if !self.is_ready() {
            return None;
        }
        let Some(end) = self.input.iter().position(|&byte| byte == b'\n') else {
            self.end = End::Last;
            self.input = Vec::new();
            return Some(Err(Answer::error(2, format!("a request has at most {LONGEST} bytes"))));
        };
        let rest = self.input.split_off(end + 1);
        let mut line = std::mem::replace(&mut self.input, rest);
        line.pop();
        Some(String::from_utf8(line).map_err(|_| Answer::error(2, "a request is a line of UTF-8".to_owned())))
    }

    /// Notes that the client has sent a request that makes sense.
    pub fn asked(&mut self) {
        self.has_asked = true;
    }

    /// Adds an answer or an event, and sends as much as possible now. The rest is sent when the client reads.
    pub fn answer(&mut self, answer: &Answer) {
        // This does not fail: an answer has only numbers, booleans and texts, which JSON can express.
        if serde_json::to_writer(&mut self.unsent, answer).is_err() {
            self.end = End::Gone;
        }
        self.unsent.push(b'\n');
        self.flush();
    }

    /// Closes the connection. If the client has read all answers, first tells it why it has to go.
    fn turn_away(mut self) {
        if self.unsent.is_empty() {
            let why = format!("the agent serves {MOST} clients, and this one was silent for longest when another came");
            self.answer(&Answer::error(3, why));
        }
    }

    fn flush(&mut self) {
        if !self.is_there() {
            return;
        }
        while !self.unsent.is_empty() {
            match send(&self.fd, &self.unsent, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                Ok(length) => drop(self.unsent.drain(..length)),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                Err(_) => {
                    self.end = End::Gone;
                    self.unsent.clear();
                }
            }
        }
        self.unsent = Vec::new();
    }

    /// True if the client watches or follows: it gets events without asking for each.
    fn stays(&self) -> bool {
        self.watches || self.follows.is_some()
    }

    /// True if the client keeps up with reading: it has at most [`UNREAD_EVENTS`] bytes unread.
    pub fn reads(&self) -> bool {
        self.unsent.len() <= UNREAD_EVENTS
    }

    fn is_done(&self) -> bool {
        match self.end {
            End::Open => false,
            End::Half => self.unsent.is_empty() && !self.has_line() && !self.stays(),
            End::Last => self.unsent.is_empty(),
            End::Gone => true,
        }
    }
}

impl AsFd for Client {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// All clients.
#[derive(Default)]
pub struct Clients {
    pub all: Vec<Client>,
}

impl Clients {
    /// Closes the connections that have ended. Returns true if there was at least one.
    pub fn close(&mut self) -> bool {
        let before = self.all.len();
        self.all.retain(|client| !client.is_done());
        self.all.len() < before
    }

    /// Adds a client. If all places are taken, one of the others has to go, and is told why; clients that watch or follow stay. The first of these
    /// rules that decides chooses the client: one that had time to ask something goes before one that has just connected; one of this user before one
    /// of root; one that has asked nothing before one that has; the one that has been silent for longest before all others.
    pub fn add(&mut self, newcomer: Client) {
        if self.all.len() >= MOST {
            // A client that has connected in this round had no time to ask anything.
            let could_ask = |client: &Client| client.has_asked || client.joined < newcomer.joined;
            let candidates = self.all.iter().enumerate().filter(|(_, client)| !client.stays());
            let order = |client: &Client| (!could_ask(client), client.peer.uid == 0, client.has_asked, client.active);
            if let Some((at, _)) = candidates.min_by_key(|(_, client)| order(client)) {
                self.all.remove(at).turn_away();
            }
        }
        self.all.push(newcomer);
    }

    /// True if one more client may watch or follow.
    pub fn may_watch(&self) -> bool {
        self.all.iter().filter(|client| client.stays()).count() < WATCHERS
    }

    /// Sends an event to all clients that watch.
    pub fn tell(&mut self, event: &Answer) {
        for client in self.all.iter_mut().filter(|client| client.watches) {
            client.answer(event);
            if !client.reads() {
                client.end = End::Gone;
            }
        }
    }

    /// If more than [`UNREAD`] bytes are unread, cuts off clients that do not read, those first that have been silent for longest. Client number
    /// `last`, which was just answered, is never cut off.
    pub fn bound(&mut self, last: usize) {
        let unread = |all: &[Client]| all.iter().map(|client| client.unsent.len()).sum::<usize>();
        while unread(&self.all) > UNREAD {
            let others =
                self.all.iter_mut().enumerate().filter(|(at, client)| *at != last && !client.unsent.is_empty());
            let Some((_, client)) = others.min_by_key(|(_, client)| client.active) else { return };
            client.end = End::Gone;
            client.unsent = Vec::new();
        }
    }
}

/// The process at the other end of a connection (unix(7): `SO_PEERCRED`): for an accepted connection, the process that connected; otherwise the
/// process that listens. If this process cannot see the other one, the number of the other process is 0.
///
/// # Errors
/// If the descriptor is no socket.
pub fn peer(fd: BorrowedFd<'_>) -> rustix::io::Result<Peer> {
    let mut found = libc::ucred { pid: 0, uid: u32::MAX, gid: u32::MAX };
    let mut length = size_of_val(&found) as libc::socklen_t;
    // The function of rustix is not used, because it assumes that a process's number is not 0. It is 0 if the process is in another container.
    // SAFETY: the kernel writes at most `length` bytes to `found`, which is that long.
    let failed = unsafe {
        libc::getsockopt(fd.as_raw_fd(), libc::SOL_SOCKET, libc::SO_PEERCRED, (&raw mut found).cast(), &raw mut length)
    };
    if failed != 0 {
        return Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO));
    }
    Ok(Peer { uid: found.uid, pid: found.pid.try_into().unwrap_or(0) })
}
