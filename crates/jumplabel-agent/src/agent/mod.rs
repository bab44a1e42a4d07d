//! The agent: a thread that serves a socket.
//!
//! ```text
//!   start    directory ─► socket, 0600 ─► thread, all signals blocked ─► RUNNING
//!   thread   poll ─► clients, requests ─► a transaction under `keys` ─► answers, events        no timeout while nothing is pending
//!   fork     child: descriptors closed, RUNNING forgotten; it may start one of its own, or, with `children`, gets one at once
//!   exit     the socket is removed, if this is the process that made it
//! ```

mod changes;
pub mod clients;
mod configure;
pub mod event;
mod followers;
mod follows;
mod inherited;
mod listener;
mod looks;
mod made;
pub mod no_remote;
pub mod options;
mod refused;
mod reverts;
mod server;
mod socket;
pub mod streams;
mod verbs;

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::{fmt, io, ptr};

pub use options::Options;

use crate::directory;
use crate::outside::OUTSIDE;

/// The agent of this process; null if it has none. The `Running` that it points to is never freed.
static RUNNING: AtomicPtr<Running> = AtomicPtr::new(ptr::null_mut());

/// True while a thread starts an agent. This is no lock, because a process may fork meanwhile.
static STARTING: AtomicBool = AtomicBool::new(false);

/// The part of the agent that other threads need to know.
struct Running {
    pid: u32,
    path: PathBuf,
    /// The socket's path again, for the handler that runs at the exit.
    socket: CString,
    /// The options of agents in children of a fork; `None` if these get none.
    children: Option<Options>,
    /// Locked while the agent uses keys, which would vanish with an object that is unloaded.
    keys: Mutex<()>,
}

/// Why no agent was started.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// The process has an agent already, with this socket.
    Running(PathBuf),
    /// Another thread is starting an agent.
    Starting,
    /// `JUMPLABEL_AGENT` has a word that means nothing.
    Word(String),
    /// No agent can have this name.
    Name(String),
    /// A selector for [`no_remote`](crate::no_remote) protects nothing.
    NoRemote {
        /// The selector.
        selector: String,
        /// What is wrong with it.
        why: String,
    },
    /// Making the directory or the socket failed.
    Socket(io::Error),
    /// Starting the thread failed.
    Thread(io::Error),
    /// The program runs without `lock` prefixes, and the library could not put them back for a second thread.
    Up(jumplabel::Error),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::Running(path) => {
                write!(
                    f,
                    "this process has an agent already, at {}: start one, by the variable or by the program",
                    path.display()
                )
            }
            StartError::Starting => f.write_str("another thread of this process is starting an agent: one is enough"),
            StartError::Word(word) => {
                write!(
                    f,
                    "`{word}`: write 1, read-only, children, verify=SECONDS, name=NAME, dir=PATH, with commas between them, or 0"
                )
            }
            StartError::Name(name) => {
                write!(f, "`{name}` cannot be its name: take up to 32 letters, digits, `.`, `-` and `_`")
            }
            StartError::NoRemote { selector, why } => write!(f, "no_remote `{selector}`: {why}"),
            StartError::Socket(error) => error.fmt(f),
            StartError::Thread(error) => write!(f, "no thread for the agent: {error}"),
            StartError::Up(error) => write!(f, "no second thread is possible: {error}"),
        }
    }
}

impl std::error::Error for StartError {}

/// Starts an agent with the default options: [`Options::start`].
///
/// # Errors
/// Those of [`Options::start`].
pub fn start() -> Result<PathBuf, StartError> {
    Options::new().start()
}

impl Options {
    /// Starts the agent: a thread and a socket. Returns the socket's path.
    ///
    /// Costs less than 64 KiB of memory, and a thread that sleeps until somebody connects. So before the call, do what works only in a process with
    /// one thread, such as `unshare` of a user namespace. This call ends [UP mode](jumplabel::up), because it starts a thread. The exit of the
    /// process removes the socket. A child of a fork has no agent, unless [`children`](Self::children) says so; it may start one of its own. The
    /// object that this code is in must not be unloaded. Not for signal handlers.
    ///
    /// # Errors
    /// [`StartError`]. If it is [`Running`](StartError::Running) or [`Starting`](StartError::Starting), the agent of the earlier call is not
    /// affected. Otherwise there is no agent. The directory may remain, what [`no_remote`](crate::no_remote) forbids stays forbidden, and UP mode may
    /// have ended.
    pub fn start(self) -> Result<PathBuf, StartError> {
        if let Some(running) = running() {
            return Err(StartError::Running(running.path.clone()));
        }
        if STARTING.swap(true, Ordering::AcqRel) {
            return Err(StartError::Starting);
        }
        let started = self.start_first();
        STARTING.store(false, Ordering::Release);
        started
    }

    fn start_first(self) -> Result<PathBuf, StartError> {
        let name = self.chosen_name()?;
        no_remote::forbid(&self.no_remote)?;
        if !handlers() {
            return Err(StartError::Thread(io::ErrorKind::OutOfMemory.into()));
        }
        if jumplabel::up::is_on() {
            jumplabel::up::leave().map_err(StartError::Up)?;
        }
        let directory = self.directory.clone().map_or_else(directory::default, Ok).map_err(StartError::Socket)?;
        let path = directory::socket(&directory, &name);
        let listener = streams::beside_streams(|| socket::listen(&directory, &path)).map_err(StartError::Socket)?;
        let socket = CString::new(path.as_os_str().as_bytes()).unwrap_or_default();
        let children = self.children.then(|| self.clone());
        let running = Running { pid: std::process::id(), path: path.clone(), socket, children, keys: Mutex::new(()) };
        let running: &'static Running = Box::leak(Box::new(running));
        RUNNING.store(ptr::from_ref(running).cast_mut(), Ordering::Release);
        let unblocked = self.unblocked.clone();
        let listener = listener::Listener::new(listener, path.clone());
        server::Server::new(listener, name, self, running).spawn(&unblocked).map_err(|error| {
            RUNNING.store(ptr::null_mut(), Ordering::Release);
            remove(running);
            StartError::Thread(error)
        })?;
        OUTSIDE.agent(running.pid, &running.socket);
        Ok(path)
    }
}

/// The agent of this process, if it has one: a child of a raw `clone` has the memory of its parent, but not its agent.
fn running() -> Option<&'static Running> {
    // SAFETY: `RUNNING` is null or points to a `Running` that is never freed.
    let running = unsafe { RUNNING.load(Ordering::Acquire).as_ref() };
    running.filter(|running| running.pid == std::process::id())
}

/// Registers handlers of fork and of the exit. False if there is no memory for that.
fn handlers() -> bool {
    static REGISTERED: OnceLock<bool> = OnceLock::new();
    extern "C" fn child() {
        // SAFETY: `RUNNING` is null or points to a `Running` that is never freed.
        let parents = unsafe { RUNNING.swap(ptr::null_mut(), Ordering::AcqRel).as_ref() };
        OUTSIDE.no_agent();
        STARTING.store(false, Ordering::Release);
        if let Some(options) = parents.and_then(|running| running.children.clone())
            && let Err(error) = options.start()
        {
            crate::line::say(&format!("no agent in process {}: {error}", std::process::id()));
        }
    }
    extern "C" fn end() {
        if let Some(running) = running() {
            remove(running);
        }
    }
    // SAFETY: the handlers are functions of this object, which is not unloaded while its thread runs.
    let register = || unsafe { libc::pthread_atfork(None, None, Some(child)) == 0 && libc::atexit(end) == 0 };
    inherited::register() && *REGISTERED.get_or_init(register)
}

/// Removes the socket. If that fails, the next agent that starts in the directory removes it.
fn remove(running: &Running) {
    socket::remove(running.socket.as_c_str());
}

/// The result of [`pause`]: the agent uses no key until this is dropped.
#[must_use = "the agent goes on when it is dropped"]
pub struct Pause {
    _guard: Option<MutexGuard<'static, ()>>,
}

/// Waits until the agent uses no key, and then keeps it from using any. Hold the result while an object that declares keys is unloaded
/// (`dlclose`): the agent may have found its keys just before.
///
/// ```
/// let pause = jumplabel_agent::pause();
/// // dlclose(plugin)
/// drop(pause);
/// ```
///
/// The agent serves no client meanwhile. Costs a lock; nothing where no agent runs. Do not call it in signal handlers, in the function given to
/// [`Options::log`], or in a function that hears of flips ([`on_change`](crate::on_change)).
pub fn pause() -> Pause {
    Pause { _guard: running().map(Running::using_keys) }
}

impl Running {
    fn using_keys(&self) -> MutexGuard<'_, ()> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
