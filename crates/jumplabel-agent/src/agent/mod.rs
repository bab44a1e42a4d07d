//! The agent: a thread that serves a socket.
//!
//! ```text
//!   start    directory ─► socket, 0600 ─► RUNNING ─► thread, all signals blocked
//!   thread   poll ─► clients, requests ─► a transaction, with `keys` locked ─► answers, events        no timeout while nothing is pending
//!   fork     child: closes the descriptors, forgets RUNNING; it may start an agent of its own; with `children` a handler starts one
//!   exit     the process that made the socket removes it
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

/// The agent of this process; null if the process has none. A `Running` is never freed.
static RUNNING: AtomicPtr<Running> = AtomicPtr::new(ptr::null_mut());

/// True while a thread starts an agent. It is a flag and not a lock, because a child of a fork can reset a flag, but would find a lock held for ever.
static STARTING: AtomicBool = AtomicBool::new(false);

/// The part of the agent that other threads use.
struct Running {
    pid: u32,
    path: PathBuf,
    /// The socket's path as a C string, for tools and for the handler of the exit.
    socket: CString,
    /// The options of the agents that a handler starts in children of a fork; `None` if children get no agent.
    children: Option<Options>,
    /// Locked while the agent uses keys. With this lock, [`pause`] keeps the agent from using keys of an object that is unloaded.
    keys: Mutex<()>,
}

/// The reason why no agent was started.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// The process has an agent already, with this socket.
    Running(PathBuf),
    /// Another thread is starting an agent.
    Starting,
    /// The variable `JUMPLABEL_AGENT` has a word that means nothing.
    Word(String),
    /// This is not a valid name for an agent.
    Name(String),
    /// A selector for [`no_remote`](crate::no_remote) makes no sense, or chooses nothing.
    NoRemote {
        /// The selector.
        selector: String,
        /// What is wrong with it.
        why: String,
    },
    /// The directory or the socket could not be made.
    Socket(io::Error),
    /// The thread could not be started.
    Thread(io::Error),
    /// The program is in [UP mode](jumplabel::up), without `lock` prefixes, and the library could not put the prefixes back for a second thread.
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

/// Starts an agent with the default options, as [`Options::start`] does.
///
/// # Errors
/// Those of [`Options::start`].
pub fn start() -> Result<PathBuf, StartError> {
    Options::new().start()
}

impl Options {
    /// Starts the agent: a thread and a socket. Returns the socket's path.
    ///
    /// Costs less than 64 KiB of memory, and a thread that sleeps until a client connects. Before the call, do everything that works only in a
    /// process with one thread, such as `unshare` of a user namespace. The call ends [UP mode](jumplabel::up), because it starts a thread. When the
    /// process exits, the socket is removed. A child of a fork has no agent unless the option [`children`](Self::children) is set; it may start one
    /// of its own. Never unload the object that contains this code. Do not call this in signal handlers.
    ///
    /// # Errors
    /// [`StartError`]. If it is [`Running`](StartError::Running) or [`Starting`](StartError::Starting), the agent of the earlier call is not
    /// affected. Otherwise there is no agent. The directory may remain, the selectors of [`no_remote`](crate::no_remote) may stay in effect, and UP
    /// mode may have ended.
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

/// The agent of this process, if it has one. A child of a raw `clone` has the parent's `RUNNING` in its memory, but not the parent's agent.
fn running() -> Option<&'static Running> {
    // SAFETY: `RUNNING` is null or points to a `Running` that is never freed.
    let running = unsafe { RUNNING.load(Ordering::Acquire).as_ref() };
    running.filter(|running| running.pid == std::process::id())
}

/// Registers handlers of fork and of the exit. Returns false if there is no memory for that.
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
    // SAFETY: the handlers are functions of this object, and the contract of `Options::start` says that the object is never unloaded.
    let register = || unsafe { libc::pthread_atfork(None, None, Some(child)) == 0 && libc::atexit(end) == 0 };
    inherited::register() && *REGISTERED.get_or_init(register)
}

/// Removes the socket. If that fails, the next agent that starts in the directory removes it.
fn remove(running: &Running) {
    socket::remove(running.socket.as_c_str());
}

/// The result of [`pause`]: the agent uses no key until this value is dropped.
#[must_use = "the agent goes on when it is dropped"]
pub struct Pause {
    _guard: Option<MutexGuard<'static, ()>>,
}

/// Waits until the agent uses no key, and then keeps the agent from using keys until the result is dropped. Hold the result while you unload an
/// object that declares keys (`dlclose`): otherwise the agent could use keys of that object that it found before.
///
/// ```
/// let pause = jumplabel_agent::pause();
/// // dlclose(plugin)
/// drop(pause);
/// ```
///
/// The agent serves no client meanwhile. Costs a lock; nothing if no agent runs. Do not call this in signal handlers, in the function given to
/// [`Options::log`], or in a function that is called after flips ([`on_change`](crate::on_change)).
pub fn pause() -> Pause {
    Pause { _guard: running().map(Running::using_keys) }
}

impl Running {
    fn using_keys(&self) -> MutexGuard<'_, ()> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
