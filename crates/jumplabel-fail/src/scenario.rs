//! Configurations of points that end when a value is dropped.

use std::env::{self, VarError};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::registry::{self, Refused};

static SCENARIO: Mutex<()> = Mutex::new(());

/// A test's configuration of points. Only one exists at a time: a thread that calls [`setup`](Self::setup) waits until another thread's scenario is
/// dropped.
#[derive(Debug)]
pub struct FailScenario<'a> {
    _only: MutexGuard<'a, ()>,
}

impl FailScenario<'_> {
    /// Removes all configurations, then configures points as the environment variable `FAILPOINTS` says: `name=actions;name=actions`.
    ///
    /// # Panics
    /// If something is wrong with the variable, or if keys cannot be turned on.
    #[must_use = "it ends when it is dropped"]
    pub fn setup() -> Self {
        let only = SCENARIO.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = start() {
            panic!("{}", String::from(error));
        }
        FailScenario { _only: only }
    }

    /// Removes all configurations. Threads that pause at a point continue.
    pub fn teardown(self) {}
}

impl Drop for FailScenario<'_> {
    fn drop(&mut self) {
        registry::end();
    }
}

/// Removes all configurations, then configures points as the environment variable `FAILPOINTS` says.
pub fn start() -> Result<(), Refused> {
    match env::var("FAILPOINTS") {
        Ok(text) => registry::start(&text),
        Err(VarError::NotPresent) => registry::start(""),
        Err(error) => Err(Refused::Text(format!("invalid failpoints: {error:?}"))),
    }
}

/// A configuration of one point that lasts until this value is dropped.
#[derive(Debug)]
pub struct FailGuard(String);

impl FailGuard {
    /// Configures the point `name`, as [`cfg`](crate::cfg) does.
    ///
    /// # Errors
    /// Those of [`cfg`](crate::cfg).
    pub fn new<S: Into<String>>(name: S, actions: &str) -> Result<FailGuard, String> {
        let name = name.into();
        crate::cfg(&*name, actions).map(|()| FailGuard(name))
    }

    /// Makes the point `name` call `callback`, as [`cfg_callback`](crate::cfg_callback) does.
    ///
    /// # Errors
    /// Those of [`cfg_callback`](crate::cfg_callback).
    pub fn with_callback<S, F>(name: S, callback: F) -> Result<FailGuard, String>
    where
        S: Into<String>,
        F: Fn() + Send + Sync + 'static,
    {
        let name = name.into();
        crate::cfg_callback(&*name, callback).map(|()| FailGuard(name))
    }
}

impl Drop for FailGuard {
    fn drop(&mut self) {
        crate::remove(&self.0);
    }
}
