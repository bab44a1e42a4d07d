//! A configured fail point.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::action::{Action, Task};

/// The configuration of a name. Another configuration of the name is another `Point`.
pub struct Point {
    pub text: String,
    /// True if it does nothing, so that its key stays off.
    pub is_off: bool,
    /// True if the text describes all actions: none of them is a callback.
    pub is_text: bool,
    /// The revision of the batch that configured it.
    pub revision: u64,
    /// How many times a thread has reached it.
    reached: AtomicU64,
    /// `None` once it has ended.
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

    /// Takes the lock. No code of the program runs under it.
    fn lock(&self) -> MutexGuard<'_, Option<Vec<Action>>> {
        self.actions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends this configuration. Threads that pause go on.
    pub fn end(&self) {
        *self.lock() = None;
        self.ended.notify_all();
    }

    /// Does the first action that has its turn; `how` panics and prints. Returns the argument of a `return`.
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

/// How a point panics and prints, which differs between Rust and C.
#[derive(Clone, Copy)]
pub struct How {
    pub panic: fn(&str) -> !,
    pub print: fn(&str),
}

impl How {
    /// Rust's ways.
    pub const RUST: How = How { panic: |text| panic!("{text}"), print: |text| log::info!("{text}") };
}
