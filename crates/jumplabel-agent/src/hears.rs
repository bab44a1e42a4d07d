//! [`on_change`]: functions that are called after flips of the keys and modes that a selector chooses.

use std::fmt;

use jumplabel::{AskedBy, Changed, OnChange};
use jumplabel_selector::{Selector, What};

use crate::subject::Subject;

/// The reason why [`on_change`] has not registered the function.
#[derive(Debug)]
#[non_exhaustive]
pub enum HearError {
    /// The selector makes no sense, or is of a sort that [`on_change`] does not take.
    Selector {
        /// The selector.
        selector: String,
        /// What is wrong with it.
        why: String,
    },
    /// [`jumplabel::on_change()`] returned this error.
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
/// the name of the key or mode as lists show it, the change, and who asked for it.
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
/// * If an operator asked for the change, the agent's thread calls `told`, with signals blocked, and serves no client meanwhile. `told` must not wait
///   for an answer of the agent, nor call [`pause`](crate::pause), nor wait for a thread that does one of these.
/// * The selector may choose nothing yet: it also applies to objects that are loaded later.
/// * After each flip of any key, the thread that flips makes a list of all keys. So do not use this function in programs that flip often, or that
///   flip in signal handlers. Use `RawKey::on_change` there.
/// * If the keys cannot be listed, for example for lack of memory, `told` is not called for that flip.
/// * Each registration takes some memory, which is never freed, not even after `remove`.
///
/// # Errors
/// [`HearError`]: `told` is not registered.
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
    // SAFETY: `hear` comes from `Box::into_raw`. If the library keeps the reference, `hear` is never freed.
    jumplabel::on_change(unsafe { &*hear }).map_err(|error| {
        // SAFETY: `hear` comes from `Box::into_raw`. The library has refused it, so it has kept no reference.
        drop(unsafe { Box::from_raw(hear) });
        HearError::Refused(error)
    })
}

/// A selector without a value, which chooses keys and modes for [`on_change`].
#[doc(hidden)]
pub struct Chooser(What);

impl Chooser {
    /// Parses a selector.
    ///
    /// # Errors
    /// [`HearError::Selector`], if it makes no sense, has a value, or chooses by functions.
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

    /// The name of the key or mode at `address`. `None` if the selector does not choose that key or mode, or if keys cannot be listed.
    pub fn name(&self, address: usize) -> Option<String> {
        let declared = Subject::declared().ok()?;
        let chosen = |subject: &Subject| subject.address == address && subject.is(&self.0) == Ok(true);
        declared.into_iter().find(chosen).map(|subject| subject.name)
    }
}
