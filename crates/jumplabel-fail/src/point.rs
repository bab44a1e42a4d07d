//! A configured fail point.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::action::{Action, Task};

/// What is configured for a name. If something else is configured, that is another `Point`.
pub struct Point {
    pub text: String,
    /// Whether it does nothing, so that its key stays off.
    pub is_off: bool,
    /// `None` once it has ended.
    actions: Mutex<Option<Vec<Action>>>,
    ended: Condvar,
}

impl Point {
    pub fn new(text: &str, actions: Vec<Action>) -> Point {
        let is_off = actions.first().is_some_and(Action::is_off);
        Point { text: text.to_owned(), is_off, actions: Mutex::new(Some(actions)), ended: Condvar::new() }
    }

    /// No code of the program runs under this lock.
    fn lock(&self) -> MutexGuard<'_, Option<Vec<Action>>> {
        self.actions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// It is not configured any more. Threads that pause go on.
    pub fn end(&self) {
        *self.lock() = None;
        self.ended.notify_all();
    }

    /// Does the first action whose turn it is. Returns the argument of a `return`.
    pub fn reach(&self, name: &str) -> Option<Option<String>> {
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
            Task::Panic(Some(text)) => panic!("{text}"),
            Task::Panic(None) => panic!("failpoint {name} panic"),
            Task::Print(Some(text)) => log::info!("{text}"),
            Task::Print(None) => log::info!("failpoint {name} executed."),
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
