//! Processes that have an agent: where its socket is, and what it answers.

use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use jumplabel_agent::directory::{self, Socket};
use jumplabel_agent::protocol::{Answer, LONGEST, Request, VERSION};

use crate::failure::Failure;

/// An agent that has not answered by then is stopped, or waits for its program.
const PATIENCE: Duration = Duration::from_secs(10);

/// A list of 100,000 keys is far below that.
const LONGEST_ANSWER: usize = 64 << 20;

/// A connection.
pub struct Process {
    name: String,
    stream: BufReader<UnixStream>,
}

/// Whether a target is a process: a number, `@NAME`, or a socket. `./4711` is a file.
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
    /// Connects with the agent of a process.
    pub fn find(target: &str) -> Result<Process, Failure> {
        if !is_one(target) {
            return Err(Failure::Usage(format!(
                "`{target}`: give a process: its number, @NAME, or the path of its agent's socket"
            )));
        }
        let path = if is_socket(target) { target.into() } else { path(target)? };
        Process::at(target, &path)
    }

    /// Connects with the agent that listens there. It must be that of this process, if the target is a number, and of a user whom this one
    /// trusts in any case: its own, or root; root trusts all.
    pub fn at(target: &str, path: &Path) -> Result<Process, Failure> {
        let stream = connect(path).map_err(|error| {
            let why = match error.kind() {
                ErrorKind::ConnectionRefused => {
                    "nobody listens any more: the process has ended, or runs another program".to_owned()
                }
                ErrorKind::PermissionDenied => "its own user and root may connect".to_owned(),
                _ => error.to_string(),
            };
            Failure::OutOfReach(format!("{target}: {}: {why}", path.display()))
        })?;
        let peer = jumplabel_agent::peer(stream.as_fd());
        let peer = peer.map_err(|error| Failure::OutOfReach(format!("{target}: {error}")))?;
        // SAFETY: asks for a number.
        let own = unsafe { libc::geteuid() };
        if own != 0 && peer.uid != 0 && peer.uid != own {
            let why = format!("user {} listens there: it is no agent of yours", peer.uid);
            return Err(Failure::Refused(format!("{target}: {}: {why}", path.display())));
        }
        // The number is 0 if the process is in a container that this one cannot see into.
        if pid(target).is_some_and(|pid| peer.pid != 0 && peer.pid != pid) {
            let why = format!("process {} listens there, under the number of another that has ended", peer.pid);
            return Err(Failure::OutOfReach(format!("{target}: {}: {why}", path.display())));
        }
        stream.set_write_timeout(Some(PATIENCE)).map_err(|error| Failure::OutOfReach(format!("{target}: {error}")))?;
        Ok(Process { name: target.to_owned(), stream: BufReader::new(stream) })
    }

    /// The answer to a request. What makes no sense, or is out of reach, is an error; the rest is in the answer.
    pub fn ask(&mut self, request: &Request) -> Result<Answer, Failure> {
        let mut line = request.to_string();
        match line.parse::<Request>() {
            Ok(read) if read == *request => {}
            Err(why) if !request.has_separators() => return Err(Failure::Usage(why)),
            _ => return Err(Failure::Usage(format!("`{line}`: write ? for each blank and comma in a selector"))),
        }
        line.push('\n');
        if line.len() > LONGEST {
            return Err(Failure::Usage(format!("too many selectors: an agent takes {LONGEST} bytes in all")));
        }
        // One that was cut off has its answer to read, or the end.
        let _ = self.stream.get_mut().write_all(line.as_bytes());
        let answer = self
            .read(Some(PATIENCE))?
            .ok_or_else(|| self.lost("it has closed the connection: its own user and root may connect"))?;
        match (answer.status, &answer.error) {
            (2, Some(why)) => Err(Failure::Usage(why.clone())),
            (3, Some(why)) => Err(Failure::OutOfReach(format!("{}: {why}", self.name))),
            (4, Some(why)) => Err(Failure::Refused(format!("{}: {why}", self.name))),
            _ => Ok(answer),
        }
    }

    /// The next that a watched process tells, however long that takes; `None` at its end.
    pub fn event(&mut self) -> Result<Option<Answer>, Failure> {
        self.read(None)
    }

    /// The next line. Who listens there may be no agent: it gets so much time and memory, and no more.
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

    fn lost(&self, why: &str) -> Failure {
        Failure::OutOfReach(format!("{}: {why}", self.name))
    }
}

/// Connects with a socket, which may have a longer path than an address takes: behind `/proc/PID/root`, say.
fn connect(path: &Path) -> std::io::Result<UnixStream> {
    const LONGEST: usize = 107;
    match (path.parent(), path.file_name()) {
        (Some(directory), Some(file)) if path.as_os_str().len() > LONGEST => {
            let directory = std::fs::File::open(directory)?;
            UnixStream::connect(Path::new(&format!("/proc/self/fd/{}", directory.as_raw_fd())).join(file))
        }
        _ => UnixStream::connect(path),
    }
}

/// Where the socket is of a process by number or by `@NAME`.
fn path(target: &str) -> Result<PathBuf, Failure> {
    let by_number = pid(target);
    let without = if by_number.is_some() { ", or add --force, which needs none" } else { "" };
    let why = |which: &str| {
        let what = "start the program with JUMPLABEL_AGENT=1, give the path of the socket";
        Failure::OutOfReach(format!("{target}: no agent{which}: {what}{without}"))
    };
    let directories = directories(by_number).map_err(|error| why(&format!(" found ({error})")))?;
    let is_it = |socket: &Socket| match target.strip_prefix('@') {
        Some(name) => socket.name == name && is_alive(&socket.path),
        None => Some(socket.pid) == by_number,
    };
    let sockets = directories.iter().flat_map(|directory| directory::sockets(directory).unwrap_or_default());
    let found: Vec<_> = sockets.filter(is_it).collect();
    let places: Vec<_> = directories.iter().map(|directory| directory.display().to_string()).collect();
    match &found[..] {
        [socket] => Ok(socket.path.clone()),
        [] => Err(why(&format!(" in {}", places.join(", ")))),
        several => {
            let numbers: Vec<_> = several.iter().map(|socket| socket.pid.to_string()).collect();
            Err(Failure::Usage(format!("{target}: there are several; give a number: {}", numbers.join(", "))))
        }
    }
}

/// Where it may be: with this user's, or with those of the process's user.
fn directories(pid: Option<u32>) -> std::io::Result<Vec<PathBuf>> {
    let own = directory::default();
    let owner = pid.and_then(|pid| Path::new(&format!("/proc/{pid}")).metadata().ok());
    let other = owner.and_then(|owner| directory::of_user(owner.uid()).ok());
    let mut both: Vec<_> = own.iter().cloned().chain(other).collect();
    both.dedup();
    if both.is_empty() { own.map(|own| vec![own]) } else { Ok(both) }
}

/// Whether somebody listens: what is left of a process that was killed has the name still.
pub fn is_alive(path: &Path) -> bool {
    !connect(path).is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
}
