//! The directory with the sockets of agents.
//!
//! ```text
//!   the directory that the program or the user has chosen; otherwise $XDG_RUNTIME_DIR/jumplabel; otherwise /run/user/UID/jumplabel
//!   │    0700, owned by the user who runs the program; a directory with another owner or mode is refused
//!   └─ NAME.PID.sock                  0600; NAME is the chosen name of the agent, or that of the program
//! ```
//!
//! A process that is killed leaves its socket. The next agent that starts in the directory removes the sockets of processes that are gone.

use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

/// The socket of one agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Socket {
    /// The agent's name: the chosen one or, by default, that of the program.
    pub name: String,
    /// The number of the agent's process.
    pub pid: u32,
    /// The socket's path.
    pub path: PathBuf,
}

/// The length of the longest name of an agent, in characters.
const LONGEST: usize = 32;

/// True if the process has more rights than the user who started it. If so, the environment, which is that user's, must decide nothing.
pub(crate) fn has_more_rights() -> bool {
    // SAFETY: `getauxval` may be called at any time with any number.
    (unsafe { libc::getauxval(libc::AT_SECURE) }) != 0
}

/// The default directory for the sockets of this user's agents. Reads the variable `XDG_RUNTIME_DIR`, unless the process has more rights than its
/// user.
///
/// # Errors
/// There is neither a usable `XDG_RUNTIME_DIR` nor a directory `/run/user/UID`. The error says what to do.
pub fn default() -> io::Result<PathBuf> {
    let runtime = if has_more_rights() { None } else { std::env::var_os("XDG_RUNTIME_DIR") };
    if let Some(runtime) = runtime.map(PathBuf::from).filter(|path| path.is_absolute()) {
        return Ok(runtime.join("jumplabel"));
    }
    of_user(rustix::process::geteuid().as_raw())
}

/// The default directory for the sockets of the agents of user `uid`, if that user has set no `XDG_RUNTIME_DIR`.
///
/// # Errors
/// Those of [`default`].
pub fn of_user(uid: u32) -> io::Result<PathBuf> {
    let user = PathBuf::from(format!("/run/user/{uid}"));
    if user.is_dir() {
        return Ok(user.join("jumplabel"));
    }
    let why =
        format!("there is no {} for the socket: set XDG_RUNTIME_DIR, or give a directory of your own", user.display());
    Err(io::Error::new(io::ErrorKind::NotFound, why))
}

/// The agents' sockets in a directory, sorted by name and process. Files with other names are skipped.
///
/// # Errors
/// If the directory cannot be read.
pub fn sockets(directory: &Path) -> io::Result<Vec<Socket>> {
    let of = |entry: std::fs::DirEntry| {
        let file = entry.file_name().into_string().ok()?;
        let (name, pid) = file.strip_suffix(".sock")?.rsplit_once('.')?;
        Some(Socket { name: name.to_owned(), pid: pid.parse().ok()?, path: entry.path() })
    };
    let mut sockets: Vec<_> = directory.read_dir()?.filter_map(|entry| of(entry.ok()?)).collect();
    sockets.sort_by(|one, other| (&one.name, one.pid).cmp(&(&other.name, other.pid)));
    Ok(sockets)
}

/// The path of the socket of this process, for an agent with this name.
pub(crate) fn socket(directory: &Path, name: &str) -> PathBuf {
    directory.join(format!("{name}.{}.sock", std::process::id()))
}

/// True if an agent can have this name.
pub(crate) fn is_name(name: &str) -> bool {
    let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=LONGEST).contains(&name.len()) && name.bytes().all(is_fit) && !name.starts_with('.')
}

/// The name of this program's file, changed to a name that an agent can have: shortened, with `_` for characters that are not allowed.
pub(crate) fn name_of_program() -> String {
    let program = std::env::current_exe().ok();
    let file = program.as_deref().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    let fit = |char: char| if char.is_ascii_alphanumeric() || "._-".contains(char) { char } else { '_' };
    let name: String = file.chars().skip_while(|&char| char == '.').take(LONGEST).map(fit).collect();
    if is_name(&name) { name } else { "program".to_owned() }
}

/// Makes the directory if it does not exist, and checks its owner and mode.
pub(crate) fn prepare(directory: &Path) -> io::Result<()> {
    let with_name = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", directory.display()));
    match rustix::fs::mkdir(directory, Mode::RWXU) {
        Ok(()) | Err(rustix::io::Errno::EXIST) => {}
        Err(error) => return Err(with_name(error.into())),
    }
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = rustix::fs::open(directory, flags, Mode::empty()).map_err(|error| with_name(error.into()))?;
    let found = rustix::fs::fstat(&opened)?;
    let (uid, mode) = (rustix::process::geteuid().as_raw(), found.st_mode & 0o7777);
    if found.st_uid != uid || mode != 0o700 {
        let why = format!(
            "is of user {} with mode {mode:03o}: it must be of user {uid} with mode 700, so that nobody else puts a socket there",
            found.st_uid
        );
        return Err(with_name(io::Error::new(io::ErrorKind::PermissionDenied, why)));
    }
    Ok(())
}
