//! The options of an agent.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::{StartError, event::Event};
use crate::protocol::duration;
use crate::{directory, line};

/// The function that gets each event.
pub type Log = Arc<dyn Fn(&Event) + Send + Sync>;

/// The options of an agent; [`Options::start`] starts it.
///
/// ```
/// # jumplabel::static_key! { #[key(name = "auth.strict")] static STRICT: true; }
/// # let directory = std::env::temp_dir().join(format!("jumplabel-doc-{}", std::process::id()));
/// let socket = jumplabel_agent::Options::new()
///     .directory(&directory)
///     .name("server")
///     .no_remote("auth.*")
///     .log(|event| eprintln!("{event}"))
///     .start()?;
/// assert!(socket.starts_with(&directory));
/// # std::fs::remove_dir_all(&directory).unwrap();
/// # Ok::<(), jumplabel_agent::StartError>(())
/// ```
#[derive(Clone)]
#[must_use = "options do nothing until they are started"]
pub struct Options {
    pub(super) name: Option<String>,
    pub(super) directory: Option<PathBuf>,
    pub(super) read_only: bool,
    pub(super) no_remote: Vec<(String, Option<String>)>,
    pub(super) unblocked: Vec<i32>,
    pub(super) children: bool,
    pub(super) verifies: Option<Duration>,
    pub(super) log: Log,
}

impl Default for Options {
    fn default() -> Options {
        Options::new()
    }
}

impl Options {
    /// The default options, those of [`start`](crate::start).
    pub fn new() -> Options {
        let log: Log = Arc::new(|event| line::say(&event.to_string()));
        let (name, directory) = (None, None);
        let (no_remote, unblocked) = (Vec::new(), Vec::new());
        Options { name, directory, read_only: false, no_remote, unblocked, children: false, verifies: None, log }
    }

    /// The options that `words`, a value of the variable `JUMPLABEL_AGENT`, asks for. The words have commas between them: `1` or `on`; `read-only`;
    /// `children`; `verify=SECONDS`; `name=NAME`; `dir=PATH`. Returns `None` for `0`, `off` and the empty value.
    ///
    /// # Errors
    /// [`StartError::Word`] if a word means nothing.
    pub fn from_words(words: &str) -> Result<Option<Options>, StartError> {
        let mut options = Options::new();
        if matches!(words.trim(), "" | "0" | "off") {
            return Ok(None);
        }
        for word in words.split(',').map(str::trim) {
            options = match word.split_once('=') {
                None if matches!(word, "1" | "on") => options,
                None if word == "read-only" => options.read_only(),
                None if word == "children" => options.children(),
                Some(("verify", every)) => match duration(every) {
                    Ok(seconds) => options.verify_every(Duration::from_secs(seconds.into())),
                    Err(_) => return Err(StartError::Word(word.to_owned())),
                },
                Some(("name", name)) => options.name(name),
                Some(("dir", path)) => options.directory(path),
                _ => return Err(StartError::Word(word.to_owned())),
            };
        }
        Ok(Some(options))
    }

    /// The name by which tools find the agent, as `@NAME`: up to 32 letters, digits, `.`, `-` and `_`. The default is the name of the program's
    /// file.
    pub fn name(mut self, name: impl Into<String>) -> Options {
        self.name = Some(name.into());
        self
    }

    /// The directory of the socket, instead of [`directory::default`]. The agent makes it with mode 0700 if it is not there.
    pub fn directory(mut self, path: impl Into<PathBuf>) -> Options {
        self.directory = Some(path.into());
        self
    }

    /// Makes the agent read-only: it refuses every change, also a repair of sites (`verify`), and lets nobody follow names of layers (`trace`).
    pub fn read_only(mut self) -> Options {
        self.read_only = true;
        self
    }

    /// Starts an agent with the same options in each child of a fork, too. This is for a program that becomes a daemon by a fork.
    ///
    /// A handler of `fork` (`pthread_atfork`) starts the agent in the child, before the child's own code runs: the child gets a second thread, and a
    /// socket. The program's allocator must work in such a handler, as those of the C libraries do. A child that calls `exec` leaves the socket's
    /// file in the directory. A program that forks often should not use this option; it can start an agent itself in the children that need one.
    pub fn children(mut self) -> Options {
        self.children = true;
        self
    }

    /// Lets the agent look at all sites after each interval, and repair those that something outside the library has changed: a uprobe that was
    /// removed, or a page that got back the contents of its file. The agent reports how many sites it has repaired. If a look fails, the agent
    /// reports trouble, but not again while the reason stays the same.
    ///
    /// Each look reads all sites, and wakes up the agent's thread.
    pub fn verify_every(mut self, interval: Duration) -> Options {
        self.verifies = Some(interval);
        self
    }

    /// Forbids changes as [`no_remote`](crate::no_remote) does. [`start`](Self::start) reports what is wrong with the selector.
    pub fn no_remote(mut self, selector: impl Into<String>) -> Options {
        self.no_remote.push((selector.into(), None));
        self
    }

    /// Forbids changes as [`no_remote_because`](crate::no_remote_because) does. [`start`](Self::start) reports what is wrong with the selector.
    pub fn no_remote_because(mut self, selector: impl Into<String>, reason: impl Into<String>) -> Options {
        self.no_remote.push((selector.into(), Some(reason.into())));
        self
    }

    /// Leaves this signal unblocked in the agent's thread, which blocks all others. This is for the signal of
    /// `jumplabel::platform::core_sync_by_signal`, which every thread must answer.
    pub fn unblocked(mut self, signal: i32) -> Options {
        self.unblocked.push(signal);
        self
    }

    /// Calls `log` with each event. Without this option, the agent writes each event as one line to standard error; the line is lost if standard
    /// error is closed, or if it is full because nobody reads it.
    ///
    /// The agent's thread calls `log`, with signals blocked, and serves no client meanwhile. `log` must not panic, and must not wait for an answer of
    /// the agent.
    pub fn log(mut self, log: impl Fn(&Event) + Send + Sync + 'static) -> Options {
        self.log = Arc::new(log);
        self
    }

    /// The name that the agent gets: the chosen one or, by default, that of the program.
    pub(super) fn chosen_name(&self) -> Result<String, StartError> {
        match &self.name {
            None => Ok(directory::name_of_program()),
            Some(name) if directory::is_name(name) => Ok(name.clone()),
            Some(name) => Err(StartError::Name(name.clone())),
        }
    }
}
