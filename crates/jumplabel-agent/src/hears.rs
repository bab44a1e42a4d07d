//! Functions that hear of flips of the keys and modes that a selector chooses.

use std::fmt;

use jumplabel::{AskedBy, Changed, OnChange};
use jumplabel_selector::{Selector, What};

use crate::subject::Subject;

/// The error of [`on_change`]: the function is not registered.
#[derive(Debug)]
#[non_exhaustive]
pub enum HearError {
    /// The selector makes no sense, or cannot be used here.
    Selector {
        /// The selector.
        selector: String,
        /// What is wrong with it.
        why: String,
    },
    /// The library refused, as [`jumplabel::on_change()`] says.
    Refused(jumplabel::Error),
}

impl fmt::Display for HearError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HearError::Selector { selector, why } => write!(f, "`{selector}`: {why}"),
            HearError::Refused(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for HearError {}

/// Registers `told`: the library calls it whenever a key or a mode that the selector chooses has changed, whoever asked for the change. `told` gets
/// the name as lists show it.
///
/// ```
/// # jumplabel::static_key! { #[key(name = "net.trace")] static TRACE: false; }
/// jumplabel_agent::on_change("net.*", |name, changed, by| eprintln!("{name}: {changed:?}, asked by {by:?}"))?;
/// TRACE.enable()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// [`jumplabel::on_change()`] says when `told` is called, and what it may do. In addition:
///
/// * If an operator asked, the agent's thread calls it, where signals are blocked, and the agent serves no client meanwhile. It must not wait for an
///   answer of the agent, nor call [`pause`](crate::pause), nor wait for a thread that does.
/// * The selector may choose nothing yet: it also applies to objects that are loaded later.
/// * Each flip of any key costs a list of all keys, in the thread that flips. So do not use it in programs that flip often, or that flip in signal
///   handlers. `RawKey::on_change` is for these.
/// * If there is no memory for that list, or the keys cannot be listed, `told` does not hear of that flip.
/// * Each registration takes some memory for good, even after `remove`.
///
/// # Errors
/// [`HearError`].
pub fn on_change(
    selector: &str,
    told: impl Fn(&str, &Changed<'_>, AskedBy) + Send + Sync + 'static,
) -> Result<OnChange, HearError> {
    let chooser = Chooser::new(selector)?;
    let hear = Box::into_raw(Box::new(move |changed: &Changed<'_>, by: AskedBy| {
        if let Some(name) = chooser.name(changed.address()) {
            told(&name, changed, by);
        }
    }));
    // SAFETY: `hear` is never freed, unless the registration below fails.
    jumplabel::on_change(unsafe { &*hear }).map_err(|error| {
        // SAFETY: `hear` comes from `Box::into_raw`, and was not registered, so nobody else knows it.
        drop(unsafe { Box::from_raw(hear) });
        HearError::Refused(error)
    })
}

/// A selector without a value, which chooses keys and modes.
#[doc(hidden)]
pub struct Chooser(What);

impl Chooser {
    /// # Errors
    /// [`HearError::Selector`].
    pub fn new(selector: &str) -> Result<Chooser, HearError> {
        let wrong = |why: String| HearError::Selector { selector: selector.to_owned(), why };
        let Selector { what, assignment } = selector.parse().map_err(wrong)?;
        match (&what, assignment) {
            (_, Some(assignment)) => Err(wrong(format!("leave out what it is to be: {}", assignment.value()))),
            (What::Function(_), _) => {
                Err(wrong("the process does not know functions: choose by name, file: or obj:".to_owned()))
            }
            _ => Ok(Chooser(what)),
        }
    }

    /// The name of the key or mode at `address`. `None` if the selector does not choose it.
    pub fn name(&self, address: usize) -> Option<String> {
        let declared = Subject::declared().ok()?;
        let chosen = |subject: &Subject| subject.address == address && subject.is(&self.0) == Ok(true);
        declared.into_iter().find(chosen).map(|subject| subject.name)
    }
}
