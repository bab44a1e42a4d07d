//! Connections with the agents of processes: finds an agent's socket, sends requests, reads answers.

use std::io::{BufRead, BufReader, Error, ErrorKind, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use jumplabel_agent::directory::{self, Socket};
use jumplabel_agent::protocol::{Answer, LONGEST, Request, VERSION};
use rustix::fs::{Mode, OFlags};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

mod asker;
pub mod fits;
mod hint;

pub use asker::Asker;

use crate::failure::Failure;
use fits::fits;

/// How long the tool waits for an answer. If an agent takes longer, its process is stopped, or the agent itself waits for its program.
const PATIENCE: Duration = Duration::from_secs(10);

/// The most bytes of an answer. A list of 100,000 keys is far below that.
const LONGEST_ANSWER: usize = 64 << 20;

/// A connection with an agent.
pub struct Process {
    name: String,
    /// The user that the agent's process belongs to.
    user: u32,
    stream: BufReader<UnixStream>,
}

/// Whether a target names a process: by a number, `@NAME`, or a socket. `./4711` names a file.
pub fn is_one(target: &str) -> bool {
    pid(target).is_some() || target.starts_with('@') || is_socket(target)
}

fn pid(target: &str) -> Option<u32> {
    target.parse().ok().filter(|_| target.bytes().all(|byte| byte.is_ascii_digit()))
}

fn is_socket(target: &str) -> bool {
    Path::new(target).metadata().is_ok_and(|found| found.file_type().is_socket())
}

impl Process {
    /// Connects with the agent of the process that a target names.
    pub fn find(target: &str) -> Result<Process, Failure> {
        if !is_one(target) {
            return Err(Failure::Usage(format!(
                "`{target}`: give a process: its number, @NAME, or the path of its agent's socket"
            )));
        }
        let path = if is_socket(target) { target.into() } else { path(target)? };
        Process::at(target, &path)
    }

    /// Connects with the agent that listens at `path`. If the target is a number, it must be that of the agent's process. The process must belong
    /// to this user or to root; if this user is root, the process may belong to anybody.
    pub fn at(target: &str, path: &Path) -> Result<Process, Failure> {
        let stream = connect(path, Some(PATIENCE)).map_err(|error| {
            let why = match error.kind() {
                ErrorKind::ConnectionRefused => {
                    "nobody listens any more: the process has ended, or runs another program".to_owned()
                }
                ErrorKind::PermissionDenied => "not allowed: its own user and root may connect".to_owned(),
                ErrorKind::WouldBlock => "too many wait there already: is the process stopped?".to_owned(),
                _ => error.to_string(),
            };
            Failure::OutOfReach(format!("{target}: {}: {why}", path.display()))
        })?;
        let peer = jumplabel_agent::peer(stream.as_fd());
        let peer = peer.map_err(|error| Failure::OutOfReach(format!("{target}: {error}")))?;
        let own = own_user();
        if own != 0 && peer.uid != 0 && peer.uid != own {
            let why = format!("user {} listens there: it is no agent of yours", peer.uid);
            return Err(Failure::Refused(format!("{target}: {}: {why}", path.display())));
        }
        // The peer's number is 0 if its process is in another container, and the system shows this tool no number for it.
        if pid(target).is_some_and(|pid| peer.pid != 0 && peer.pid != pid) {
            let why = format!("process {} listens there, under the number of another that has ended", peer.pid);
            return Err(Failure::OutOfReach(format!("{target}: {}: {why}", path.display())));
        }
        stream.set_write_timeout(Some(PATIENCE)).map_err(|error| Failure::OutOfReach(format!("{target}: {error}")))?;
        Ok(Process { name: target.to_owned(), user: peer.uid, stream: BufReader::new(stream) })
    }

    /// The agent's answer to a request. It is an error if none comes, if it does not fit, or if the agent refuses (status 2 to 4, with a reason).
    pub fn ask(&mut self, request: &Request) -> Result<Answer, Failure> {
        self.ask_within(request, Some(PATIENCE))
    }

    /// [`ask`](Self::ask) without a limit of time: if the process is stopped, waits until it runs again.
    pub fn ask_patiently(&mut self, request: &Request) -> Result<Answer, Failure> {
        self.ask_within(request, None)
    }

    fn ask_within(&mut self, request: &Request, patience: Option<Duration>) -> Result<Answer, Failure> {
        let line = line(request)?;
        // If the agent has closed this connection, the write fails. Then the read finds the agent's last answer, or the end of the connection.
        let _ = self.stream.get_mut().write_all(line.as_bytes());
        let answer = self.read(patience)?.ok_or_else(|| self.cut_off())?;
        match (answer.status, &answer.error) {
            (2, Some(why)) => Err(Failure::Usage(why.clone())),
            (3, Some(why)) => Err(Failure::OutOfReach(format!("{}: {why}", self.name))),
            (4, Some(why)) => Err(Failure::Refused(format!("{}: {why}", self.name))),
            _ if fits(&answer, request) => Ok(answer),
            _ => Err(self.lost(fits::NO_AGENT)),
        }
    }

    /// Waits for the next event of a watched process, without a limit of time. `None` at the end of the connection.
    pub fn event(&mut self) -> Result<Option<Answer>, Failure> {
        self.read(None)
    }

    /// The next event, if it comes before `end`; `None` if it does not, or if the connection ends. If `end` is `None`, waits without a limit.
    pub fn event_before(&mut self, end: Option<Instant>) -> Result<Option<Answer>, Failure> {
        let left = end.map(|end| end.saturating_duration_since(Instant::now()));
        let told = self.read(left);
        if end.is_some_and(|end| end <= Instant::now()) { Ok(told.unwrap_or_default()) } else { told }
    }

    /// The next line; `None` at the end. As the peer may be no agent, its line may take `patience` at most, and have `LONGEST_ANSWER` bytes at most.
    fn read(&mut self, patience: Option<Duration>) -> Result<Option<Answer>, Failure> {
        let end = patience.map(|patience| Instant::now() + patience);
        let late = "no answer for 10 s: is the process stopped? What was asked may still be done";
        let mut line = Vec::new();
        loop {
            let left = end.map(|end| end.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                return Err(self.lost(late));
            }
            self.stream.get_ref().set_read_timeout(left).map_err(|error| self.lost(&error.to_string()))?;
            let (taken, is_whole) = match self.stream.fill_buf() {
                Ok([]) => return Ok(None),
                Ok(bytes) => {
                    let of_line = bytes.iter().position(|&byte| byte == b'\n').map_or(bytes.len(), |at| at + 1);
                    line.extend_from_slice(&bytes[..of_line]);
                    (of_line, bytes[of_line - 1] == b'\n')
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return Ok(None),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    return Err(self.lost(late));
                }
                Err(error) => return Err(self.lost(&error.to_string())),
            };
            self.stream.consume(taken);
            if is_whole {
                break;
            }
            if line.len() > LONGEST_ANSWER {
                return Err(self.lost("no agent: its answer has no end"));
            }
        }
        let answer: Answer = serde_json::from_slice(&line).map_err(|error| self.lost(&format!("no agent: {error}")))?;
        match answer.version {
            VERSION => Ok(Some(answer)),
            other => Err(self.lost(&format!("its agent speaks version {other}, and this tool {VERSION}"))),
        }
    }

    /// The failure if the agent closed the connection before it answered. An agent closes connections of other users at once. It closes those of its
    /// own user only if it has no place for more.
    fn cut_off(&self) -> Failure {
        let own = own_user();
        if own != 0 && own != self.user {
            return self.lost(&format!("not allowed: the agent of user {} answers that user and root", self.user));
        }
        let full = "it serves so many clients at a time, and has given this place to another";
        self.lost(&format!("the agent closed the connection before it answered: {full}, or has ended: try again"))
    }

    fn lost(&self, why: &str) -> Failure {
        Failure::OutOfReach(format!("{}: {why}", self.name))
    }
}

fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// A request as a line, with the line's end. It is an error if an agent would read the line as another request, or if the line is too long.
fn line(request: &Request) -> Result<String, Failure> {
    let mut line = request.to_string();
    match line.parse::<Request>() {
        // A blank or a comma in a selector is more often a mistake than part of a name.
        Ok(read) if read == *request && !request.has_separators() => {}
        Err(why) if !request.has_separators() => return Err(Failure::Usage(why)),
        _ => return Err(Failure::Usage(format!("`{line}`: write ? for each blank and comma in a selector"))),
    }
    line.push('\n');
    if line.len() > LONGEST {
        return Err(Failure::Usage(format!("too many selectors: an agent takes {LONGEST} bytes in all")));
    }
    Ok(line)
}

/// Connects with a socket. Its path may be longer than an address can hold, such as one in `/proc/PID/root`. If the queue of connections that the
/// process has not accepted yet is full, waits for `patience` at most; without `patience`, fails at once.
fn connect(path: &Path, patience: Option<Duration>) -> std::io::Result<UnixStream> {
    const LONGEST: usize = 107;
    let directory; // The directory stays open until the socket is connected.
    let address = match (path.parent(), path.file_name()) {
        (Some(parent), Some(file)) if path.as_os_str().len() > LONGEST => {
            directory = rustix::fs::open(parent, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
            SocketAddrUnix::new(Path::new(&format!("/proc/self/fd/{}", directory.as_raw_fd())).join(file))
        }
        _ => SocketAddrUnix::new(path),
    }?;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    let stream = UnixStream::from(socket);
    stream.set_nonblocking(patience.is_none())?;
    stream.set_write_timeout(patience)?;
    rustix::net::connect(&stream, &address)?;
    Ok(stream)
}

/// The path of a process's socket; the target is a number or `@NAME`.
fn path(target: &str) -> Result<PathBuf, Failure> {
    let by_number = pid(target);
    let lost = |why: String| Failure::OutOfReach(format!("{target}: {why}"));
    let (mut found, mut unreadable, directories) = (Vec::new(), None, directories(by_number));
    let is_it = |socket: &Socket| match target.strip_prefix('@') {
        Some(name) => socket.name == name && is_alive(&socket.path),
        None => Some(socket.pid) == by_number,
    };
    for directory in directories.iter().flatten() {
        match directory::sockets(directory) {
            Ok(sockets) => found.extend(sockets.into_iter().filter(is_it)),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => unreadable = Some((directory, error)),
        }
    }
    match &found[..] {
        [socket] => Ok(socket.path.clone()),
        [] if by_number.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) => {
            Err(lost("there is no such process".to_owned()))
        }
        [] => Err(lost(match unreadable {
            Some((directory, error)) => unread(directory, &error),
            None => {
                no_agent(&directories, by_number.is_some())
                    + &hint::no_agent(target, directories.as_deref().unwrap_or_default())
            }
        })),
        several => {
            let numbers: Vec<_> = several.iter().map(|socket| socket.pid.to_string()).collect();
            Err(Failure::Usage(format!("{target}: there are several; give a number: {}", numbers.join(", "))))
        }
    }
}

/// The message that a directory with sockets cannot be read.
fn unread(directory: &Path, error: &Error) -> String {
    let who = match error.kind() {
        ErrorKind::PermissionDenied => ": its own user and root may; XDG_RUNTIME_DIR says where yours is",
        _ => "",
    };
    format!("{} cannot be read: {error}{who}", directory.display())
}

/// The message that no socket was found: where the tool has looked, and what helps.
fn no_agent(directories: &std::io::Result<Vec<PathBuf>>, is_number: bool) -> String {
    let places = match directories {
        Ok(all) => format!("in {}", all.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")),
        Err(error) => format!("found ({error})"),
    };
    let without = if is_number { ", or add --force, which needs none" } else { "" };
    let what = "start the program with JUMPLABEL_AGENT=1, give the path of the socket";
    format!("no agent {places}: {what}{without}")
}

/// The directories where the socket may be: this user's, and that of the process's user.
fn directories(pid: Option<u32>) -> std::io::Result<Vec<PathBuf>> {
    let own = directory::default();
    let owner = pid.and_then(|pid| Path::new(&format!("/proc/{pid}")).metadata().ok());
    let other = owner.and_then(|owner| directory::of_user(owner.uid()).ok());
    let mut both: Vec<_> = own.iter().cloned().chain(other).collect();
    both.dedup();
    if both.is_empty() { own.map(|own| vec![own]) } else { Ok(both) }
}

/// The names and numbers of the agents that listen in this user's directory, or in the one that `XDG_RUNTIME_DIR` names.
pub fn agents() -> Vec<(String, u32)> {
    let sockets = directory::default().and_then(|directory| directory::sockets(&directory)).unwrap_or_default();
    let alive = sockets.into_iter().filter(|socket| is_alive(&socket.path));
    alive.map(|socket| (socket.name, socket.pid)).collect()
}

/// True unless the connection is refused, which means that nobody listens: a process that was killed leaves its socket.
pub fn is_alive(path: &Path) -> bool {
    !connect(path, None).is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
}
