//! A [`Point`]: what is configured for the name of a fail point.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::action::{Action, Task};

/// One configuration of a point's name. A new configuration of the name is another `Point`.
pub struct Point {
    pub text: String,
    /// Whether the first action is an `off` that always has its turn. If so, the point's key stays off.
    pub is_off: bool,
    /// Whether `text` describes all actions: none of them is a callback.
    pub is_text: bool,
    /// The number of the batch that made this configuration ([`revision`](crate::registry::revision)).
    pub revision: u64,
    /// The number of times that a thread has reached the point since it was configured so.
    reached: AtomicU64,
    /// The actions; `None` after this configuration has ended.
    actions: Mutex<Option<Vec<Action>>>,
    ended: Condvar,
}

impl Point {
    pub fn new(text: &str, actions: Vec<Action>, revision: u64) -> Point {
        let is_off = actions.first().is_some_and(Action::is_off);
        let is_text = !actions.iter().any(Action::is_callback);
        let (reached, actions, ended) = (AtomicU64::new(0), Mutex::new(Some(actions)), Condvar::new());
        Point { text: text.to_owned(), is_off, is_text, revision, reached, actions, ended }
    }

    pub fn reached(&self) -> u64 {
        self.reached.load(Ordering::Relaxed)
    }

    /// Takes the lock of the actions. No code of the program runs under this lock.
    fn lock(&self) -> MutexGuard<'_, Option<Vec<Action>>> {
        self.actions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends this configuration. Threads that pause at the point continue.
    pub fn end(&self) {
        *self.lock() = None;
        self.ended.notify_all();
    }

    /// Runs the first action that has its turn. `how` has the functions that panic and print. Returns `None` unless that action is a `return`;
    /// otherwise the argument of the `return`.
    pub fn reach(&self, name: &str, how: How) -> Option<Option<String>> {
        self.reached.fetch_add(1, Ordering::Relaxed);
        let mut actions = self.lock();
        let task = actions.as_mut()?.iter_mut().find_map(Action::take)?;
        if let Task::Pause = task {
            drop(self.ended.wait_while(actions, |actions| actions.is_some()));
            return None;
        }
        drop(actions);
        match task {
            Task::Off | Task::Pause => {}
            Task::Return(argument) => return Some(argument),
            Task::Sleep(time) => std::thread::sleep(time),
            Task::Panic(text) => (how.panic)(&text.unwrap_or_else(|| format!("failpoint {name} panic"))),
            Task::Print(text) => (how.print)(&text.unwrap_or_else(|| format!("failpoint {name} executed."))),
            Task::Yield => std::thread::yield_now(),
            Task::Delay(time) => {
                let start = Instant::now();
                while start.elapsed() < time {}
            }
            Task::Callback(callback) => callback(),
        }
        None
    }
}

/// The functions by which a point panics and prints. They differ between Rust and C.
#[derive(Clone, Copy)]
pub struct How {
    pub panic: fn(&str) -> !,
    pub print: fn(&str),
}

impl How {
    /// The functions for points in Rust.
    pub const RUST: How = How { panic: |text| panic!("{text}"), print: |text| log::info!("{text}") };
}
