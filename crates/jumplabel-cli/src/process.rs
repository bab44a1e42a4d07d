//! Processes that have an agent: where its socket is, and what it answers.

use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jumplabel_agent::directory::{self, Socket};
use jumplabel_agent::protocol::{Answer, LONGEST, Request, VERSION};

use crate::failure::Failure;

/// An agent that has not answered by then is stopped, or waits for its program.
const PATIENCE: Duration = Duration::from_secs(10);

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
        let stream = UnixStream::connect(&path).map_err(|error| {
            let why = match error.kind() {
                ErrorKind::ConnectionRefused => {
                    "nobody listens any more: the process has ended, or runs another program".to_owned()
                }
                ErrorKind::PermissionDenied => "its own user and root may connect".to_owned(),
                _ => error.to_string(),
            };
            Failure::OutOfReach(format!("{target}: {}: {why}", path.display()))
        })?;
        let patient = stream.set_read_timeout(Some(PATIENCE)).and_then(|()| stream.set_write_timeout(Some(PATIENCE)));
        patient.map_err(|error| Failure::OutOfReach(format!("{target}: {error}")))?;
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
        let answer =
            self.read()?.ok_or_else(|| self.lost("it has closed the connection: its own user and root may connect"))?;
        match (answer.status, &answer.error) {
            (2, Some(why)) => Err(Failure::Usage(why.clone())),
            (3, Some(why)) => Err(Failure::OutOfReach(format!("{}: {why}", self.name))),
            (4, Some(why)) => Err(Failure::Refused(format!("{}: {why}", self.name))),
            _ => Ok(answer),
        }
    }

    /// The next that a watched process tells, however long that takes; `None` at its end.
    pub fn event(&mut self) -> Result<Option<Answer>, Failure> {
        self.stream.get_ref().set_read_timeout(None).map_err(|error| self.lost(&error.to_string()))?;
        self.read()
    }

    fn read(&mut self) -> Result<Option<Answer>, Failure> {
        let mut line = String::new();
        match self.stream.read_line(&mut line) {
            Ok(0) => return Ok(None),
            Err(error) if error.kind() == ErrorKind::ConnectionReset => return Ok(None),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                return Err(self.lost("no answer for 10 s: is the process stopped? What was asked may still be done"));
            }
            Err(error) => return Err(self.lost(&error.to_string())),
            Ok(_) => {}
        }
        let answer: Answer = serde_json::from_str(&line).map_err(|error| self.lost(&format!("no agent: {error}")))?;
        match answer.version {
            VERSION => Ok(Some(answer)),
            other => Err(self.lost(&format!("its agent speaks version {other}, and this tool {VERSION}"))),
        }
    }

    fn lost(&self, why: &str) -> Failure {
        Failure::OutOfReach(format!("{}: {why}", self.name))
    }
}

/// Whether a process has an agent that listens.
pub fn has_agent(pid: u32) -> bool {
    path(&pid.to_string()).is_ok_and(|path| is_alive(&path))
}

/// Where the socket is of a process by number or by `@NAME`.
fn path(target: &str) -> Result<PathBuf, Failure> {
    let by_number = pid(target);
    let directories = directories(by_number)?;
    let is_it = |socket: &Socket| match target.strip_prefix('@') {
        Some(name) => socket.name == name && is_alive(&socket.path),
        None => Some(socket.pid) == by_number,
    };
    let sockets = directories.iter().flat_map(|directory| directory::sockets(directory).unwrap_or_default());
    let found: Vec<_> = sockets.filter(is_it).collect();
    let places: Vec<_> = directories.iter().map(|directory| directory.display().to_string()).collect();
    match &found[..] {
        [socket] => Ok(socket.path.clone()),
        [] => Err(Failure::OutOfReach(format!(
            "{target}: no agent in {}: start the program with JUMPLABEL_AGENT=1, or give the path of the socket",
            places.join(", ")
        ))),
        several => {
            let numbers: Vec<_> = several.iter().map(|socket| socket.pid.to_string()).collect();
            Err(Failure::Usage(format!("{target}: there are several; give a number: {}", numbers.join(", "))))
        }
    }
}

/// Where it may be: with this user's, or with those of the process's user.
fn directories(pid: Option<u32>) -> Result<Vec<PathBuf>, Failure> {
    let own = directory::default().map_err(|error| Failure::OutOfReach(error.to_string()));
    let owner = pid.and_then(|pid| Path::new(&format!("/proc/{pid}")).metadata().ok());
    let other = owner.and_then(|owner| directory::of_user(owner.uid()).ok());
    let mut both: Vec<_> = own.iter().cloned().chain(other).collect();
    both.dedup();
    if both.is_empty() { own.map(|own| vec![own]) } else { Ok(both) }
}

/// Whether somebody listens: what is left of a process that was killed has the name still.
pub fn is_alive(path: &Path) -> bool {
    !UnixStream::connect(path).is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
}
