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

/// True once a thread has reached a point of C that has no key.
pub static HAS_NO_KEY: AtomicBool = AtomicBool::new(false);

/// The configured points, by name.
pub type Points = HashMap<String, Arc<Point>>;

/// New configurations, by name. `None` removes a configuration.
pub type Changes = HashMap<String, Option<Arc<Point>>>;

static POINTS: LazyLock<RwLock<Points>> = LazyLock::new(RwLock::default);

/// Takes the lock to read. Keys are flipped under this lock, so the program's `on_change` functions run under it; other code of the program does not.
/// docs/features.md says which functions they must not call.
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

/// The number of the next batch.
pub fn revision() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

/// The name of the point to which the key belongs. `None` if the point is not in this registry.
pub fn point_of(key: &KeyInfo) -> Option<&'static str> {
    key.name.strip_prefix("fail:").filter(|_| owner::owns(key))
}

/// Turns all keys on or off as the configuration says, in one batch. Turns off the keys of points that are not configured, whoever turned them on.
fn set_keys(points: &Points) -> Result<Outcome, Error> {
    let mut keys: Vec<(&'static RawKey, bool)> = vec![(&ANY, !points.is_empty())];
    jumplabel::for_each_key(|key| {
        if let Some(name) = point_of(&key) {
            keys.push((key.key, points.get(name).is_some_and(|point| !point.is_off)));
        }
    })?;
    jumplabel::set_all(keys)
}

/// Configures points in one batch. If a key cannot be turned on or off, nothing changes.
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
    // If the system refuses to turn a key off, its point finds no configuration, and does nothing.
    let _ = set_keys(points);
}

/// Configures the point `name`: `cfg("before_save", "20%3*print(still alive!)->panic")`.
///
/// `->` joins actions. If it is not an action's turn, the next action is tried. Each is `[p%][count*]task[(argument)]`: it is done with a probability
/// of p percent, and at most `count` times.
///
/// | task | |
/// |---|---|
/// | `off` | nothing |
/// | `return(text)` | the function around the point returns what the point's function makes of the text |
/// | `sleep(ms)`, `delay(ms)` | wait, asleep or busy |
/// | `panic(text)` | |
/// | `print(text)` | logs the text, by the crate `log`, at the level `info` |
/// | `pause` | waits until the point is configured anew, or removed |
/// | `yield` | lets another thread run |
///
/// The new configuration replaces the earlier one. If no point has this name, it has no effect. Costs one batch: some 10 us, and a look at each key
/// of the program.
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
        // If a key stays on, its point does nothing, as in `clear`.
        let _ = set_keys(points);
    }
}

/// Lists the points that are configured: names, and the texts of their actions.
#[must_use]
pub fn list() -> Vec<(String, String)> {
    read().iter().map(|(name, point)| (name.clone(), point.text.clone())).collect()
}

/// Turns points on or off in objects that were loaded after they were configured. Call it after `dlopen`.
///
/// # Errors
/// Those of [`jumplabel::set_all`].
pub fn sync() -> Result<(), Error> {
    set_keys(&read()).map(drop)
}

/// Runs a point whose key is on, and which a thread has reached.
#[doc(hidden)]
#[cold]
#[inline(never)]
pub fn eval<R, F: FnOnce(Option<String>) -> R>(name: &str, function: F) -> Option<R> {
    reach(name, How::RUST).map(function)
}

/// Runs the configured actions of the point `name`. Returns the argument of a `return`.
pub fn reach(name: &str, how: How) -> Option<Option<String>> {
    let point = read().get(name)?.clone();
    point.reach(name, how)
}

/// Removes the configuration of all points, then applies that of a text: `name=actions;...`.
///
/// # Errors
/// A message that says what is wrong with the text. Then nothing is configured.
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
