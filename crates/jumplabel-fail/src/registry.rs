//! The registry: the configured points, and the keys that are on for them.
//!
//! ```text
//!   cfg("a", "return")          fail_point!("a")            fail_point!(computed)
//!     registry: "a" -> Point      its own key, `fail:a`       the key ANY
//!     one batch: `fail:a` on,     off: one nop                off: one nop
//!                ANY on           on: eval ──► the Point      on: eval ──► the Point, if there is one
//! ```

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use jumplabel::{Error, KeyInfo, Outcome, RawKey, static_key};

use crate::action::Action;
use crate::owner;
use crate::point::{How, Point};

static_key! {
    /// On while any point is configured. Points whose names are not literals share this key.
    #[doc(hidden)]
    #[key(name = "fail:")]
    pub static ANY: false;
}

/// Whether a thread has reached a point of C that has no key. C's points have none in the fallback.
pub static HAS_NO_KEY: AtomicBool = AtomicBool::new(false);

/// The configured points, by name.
pub type Points = HashMap<String, Arc<Point>>;

/// The changes that a batch makes, by name: a new configuration, or `None` to remove the old one.
pub type Changes = HashMap<String, Option<Arc<Point>>>;

static POINTS: LazyLock<RwLock<Points>> = LazyLock::new(RwLock::default);

/// Takes the registry's lock to read. Keys are flipped under this lock. So the program's `on_change` functions run under it, but no other code of the
/// program. docs/features.md says which functions an `on_change` function must not call.
pub fn read() -> RwLockReadGuard<'static, Points> {
    POINTS.read().unwrap_or_else(PoisonError::into_inner)
}

pub fn write() -> RwLockWriteGuard<'static, Points> {
    POINTS.write().unwrap_or_else(PoisonError::into_inner)
}

/// The reason why nothing was configured, as a sentence.
#[derive(Debug)]
pub enum Refused {
    /// The text is not valid.
    Text(String),
    /// The system does not allow turning keys on or off.
    Keys(String),
}

impl From<Refused> for String {
    fn from(refused: Refused) -> String {
        match refused {
            Refused::Text(why) | Refused::Keys(why) => why,
        }
    }
}

/// Returns a new number for a batch of configurations: 1, 2, 3 and so on.
pub fn revision() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

/// The name of the point to which the key belongs. `None` if the key belongs to no point, or to a point of another copy of this crate.
pub fn point_of(key: &KeyInfo) -> Option<&'static str> {
    key.name.strip_prefix("fail:").filter(|_| owner::owns(key))
}

/// Turns the keys of all points on or off as `points` says, in one batch. Also turns off a key that somebody else turned on, if its point is not
/// configured.
fn set_keys(points: &Points) -> Result<Outcome, Error> {
    let mut keys: Vec<(&'static RawKey, bool)> = vec![(&ANY, !points.is_empty())];
    jumplabel::for_each_key(|key| {
        if let Some(name) = point_of(&key) {
            keys.push((key.key, points.get(name).is_some_and(|point| !point.is_off)));
        }
    })?;
    jumplabel::set_all(keys)
}

/// Makes `changes` to `points` and to the keys, in one batch. If a key cannot be turned on or off, nothing changes. Threads that pause at a changed
/// point continue.
pub fn configure(points: &mut Points, changes: Changes) -> Result<Outcome, Refused> {
    let mut all = points.clone();
    let change = |(name, point)| match point {
        Some(point) => all.insert(name, point),
        None => all.remove(&name),
    };
    let old: Vec<Arc<Point>> = changes.into_iter().filter_map(change).collect();
    let outcome =
        set_keys(&all).map_err(|error| Refused::Keys(format!("the fail point cannot be turned on: {error}")))?;
    *points = all;
    old.iter().for_each(|point| point.end());
    Ok(outcome)
}

/// Configures one point.
pub fn configure_one(name: String, text: &str, actions: Vec<Action>) -> Result<(), Refused> {
    let point = Arc::new(Point::new(text, actions, revision()));
    configure(&mut write(), Changes::from([(name, Some(point))])).map(drop)
}

/// Removes the configuration of all points. Threads that pause at a point continue.
fn clear(points: &mut Points) {
    points.drain().for_each(|(_, point)| point.end());
    // An error can be ignored: if a key stays on, its point finds no configuration and does nothing.
    let _ = set_keys(points);
}

/// Configures the point `name`: `cfg("before_save", "20%3*print(still alive!)->panic")`.
///
/// The text has one action or several, joined by `->`. Each action is `[p%][count*]task[(argument)]`: the task is done with a probability of p
/// percent, and at most `count` times. If it is not done, the next action is tried.
///
/// | task | |
/// |---|---|
/// | `off` | nothing |
/// | `return(text)` | the function around the point returns what the point's own function makes of the text |
/// | `sleep(ms)`, `delay(ms)` | waits for `ms` milliseconds: `sleep` asleep, `delay` busily |
/// | `panic(text)` | panics with this text |
/// | `print(text)` | logs the text, by the crate `log`, at the level `info` |
/// | `pause` | waits until the point is configured anew, or removed |
/// | `yield` | lets another thread run |
///
/// The new configuration replaces the earlier one. If no point has this name, the configuration has no effect. Costs one batch of flips, some 10 us,
/// and a look at each key of the program.
///
/// # Errors
/// A message that says what is wrong with the text, or why the point's key cannot be turned on. Then nothing is changed.
pub fn cfg<S: Into<String>>(name: S, actions: &str) -> Result<(), String> {
    let list = Action::parse_all(actions)?;
    Ok(configure_one(name.into(), actions, list)?)
}

/// Makes the point `name` call `callback`. No lock is held during the call, so the callback can configure points.
///
/// # Errors
/// A message that says why the point's key cannot be turned on. Then nothing is changed.
pub fn cfg_callback<S, F>(name: S, callback: F) -> Result<(), String>
where
    S: Into<String>,
    F: Fn() + Send + Sync + 'static,
{
    Ok(configure_one(name.into(), "callback", vec![Action::callback(callback)])?)
}

/// Removes the configuration of the point `name`, if there is one. Threads that pause at the point continue.
pub fn remove<S: AsRef<str>>(name: S) {
    let points = &mut write();
    if let Some(point) = points.remove(name.as_ref()) {
        point.end();
        // An error can be ignored: if the key stays on, its point finds no configuration and does nothing.
        let _ = set_keys(points);
    }
}

/// Lists the points that are configured: names, and the texts of their actions.
#[must_use]
pub fn list() -> Vec<(String, String)> {
    read().iter().map(|(name, point)| (name.clone(), point.text.clone())).collect()
}

/// Turns on the keys of configured points in objects that were loaded after the configuration. Call it after `dlopen`.
///
/// # Errors
/// Those of [`jumplabel::set_all`].
pub fn sync() -> Result<(), Error> {
    set_keys(&read()).map(drop)
}

/// Runs the actions of the point `name`, which a thread has reached. If an action is `return`, returns what `function` makes of its argument.
#[doc(hidden)]
#[cold]
#[inline(never)]
pub fn eval<R, F: FnOnce(Option<String>) -> R>(name: &str, function: F) -> Option<R> {
    reach(name, How::RUST).map(function)
}

/// Runs the configured actions of the point `name`. Returns `None` unless one of them is a `return` that has its turn; otherwise its argument.
pub fn reach(name: &str, how: How) -> Option<Option<String>> {
    let point = read().get(name)?.clone();
    point.reach(name, how)
}

/// Removes the configuration of all points, then configures points as `text` says: `name=actions;name=actions`.
///
/// # Errors
/// A message that says what is wrong with the text, or why keys cannot be turned on. Then nothing is configured.
pub fn start(text: &str) -> Result<(), Refused> {
    let points = &mut write();
    clear(points);
    let (mut new, revision) = (Changes::new(), revision());
    for part in text.trim().split(';').map(str::trim).filter(|part| !part.is_empty()) {
        let refused = |why: String| Refused::Text(why);
        let (name, actions) = part.split_once('=').ok_or_else(|| refused(format!("invalid failpoint: {part:?}")))?;
        let list = Action::parse_all(actions)
            .map_err(|error| refused(format!("unable to configure failpoint \"{name}\": {error}")))?;
        new.insert(name.to_owned(), Some(Arc::new(Point::new(actions, list, revision))));
    }
    configure(points, new).map(drop)
}

/// Removes the configuration of all points.
pub fn end() {
    clear(&mut write());
}
