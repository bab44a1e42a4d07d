//! The options of an agent.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::{StartError, event::Event};
use crate::protocol::duration;
use crate::{directory, line};

/// Who is told what happens.
pub type Log = Arc<dyn Fn(&Event) + Send + Sync>;

/// How an agent is to be; [`Options::start`] starts it.
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
    /// As [`start`](crate::start) has them.
    pub fn new() -> Options {
        let log: Log = Arc::new(|event| line::say(&event.to_string()));
        let (name, directory) = (None, None);
        let (no_remote, unblocked) = (Vec::new(), Vec::new());
        Options { name, directory, read_only: false, no_remote, unblocked, children: false, verifies: None, log }
    }

    /// As the variable `JUMPLABEL_AGENT` says it, words with commas between them: `1` or `on`; `read-only`; `children`;
    /// `verify=SECONDS`; `name=NAME`; `dir=PATH`. `None` for `0`, `off` and nothing at all.
    ///
    /// # Errors
    /// [`StartError::Word`].
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

    /// What tools find it by, as `@NAME`: up to 32 letters, digits, `.`, `-` and `_`. The name of the program's file otherwise.
    pub fn name(mut self, name: impl Into<String>) -> Options {
        self.name = Some(name.into());
        self
    }

    /// Where the socket is to be, instead of [`directory::default`]. It is made with mode 0700 if it is not there.
    pub fn directory(mut self, path: impl Into<PathBuf>) -> Options {
        self.directory = Some(path.into());
        self
    }

    /// Refuses every change.
    pub fn read_only(mut self) -> Options {
        self.read_only = true;
        self
    }

    /// Starts an agent in each child of a fork, too, with the same options: for a program that becomes a daemon, whose process is a child of
    /// the one that was started.
    ///
    /// That is done by a handler of `fork` (`pthread_atfork`), in the child, before its own code: it gets a second thread, and its socket.
    /// The program's allocator must work there, as those of the C libraries do. A child that goes on by `exec` leaves the socket's file
    /// behind. A program that forks often should not ask for it, but start an agent itself where it wants one.
    pub fn children(mut self) -> Options {
        self.children = true;
        self
    }

    /// Looks at all sites in this interval, and brings back those that something outside the library has changed: a uprobe that was removed,
    /// memory that was given back to the file. It tells how many; what cannot be brought back is trouble, told each time.
    ///
    /// Costs a read of all sites each time, and that the thread wakes up.
    pub fn verify_every(mut self, interval: Duration) -> Options {
        self.verifies = Some(interval);
        self
    }

    /// As [`no_remote`](crate::no_remote). [`start`](Self::start) reports what is wrong with it.
    pub fn no_remote(mut self, selector: impl Into<String>) -> Options {
        self.no_remote.push((selector.into(), None));
        self
    }

    /// As [`no_remote_because`](crate::no_remote_because). [`start`](Self::start) reports what is wrong with it.
    pub fn no_remote_because(mut self, selector: impl Into<String>, reason: impl Into<String>) -> Options {
        self.no_remote.push((selector.into(), Some(reason.into())));
        self
    }

    /// Leaves a signal open in the agent's thread, which blocks all others. For the signal of `jumplabel::platform::core_sync_by_signal`, which
    /// every thread must answer.
    pub fn unblocked(mut self, signal: i32) -> Options {
        self.unblocked.push(signal);
        self
    }

    /// Tells `log` what happens; otherwise it is one line on standard error, which is dropped if nobody reads it.
    ///
    /// It is called in the agent's thread, where signals are blocked. No client is served while it runs. It must not panic, and not wait for
    /// an answer of the agent.
    pub fn log(mut self, log: impl Fn(&Event) + Send + Sync + 'static) -> Options {
        self.log = Arc::new(log);
        self
    }

    /// The name that it is to have.
    pub(super) fn chosen_name(&self) -> Result<String, StartError> {
        match &self.name {
            None => Ok(directory::name_of_program()),
            Some(name) if directory::is_name(name) => Ok(name.clone()),
            Some(name) => Err(StartError::Name(name.clone())),
        }
    }
}
