//! A configured fail point.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::action::{Action, Task};

/// What is configured for a name.
#[derive(Default)]
pub struct Point {
    actions: Mutex<Actions>,
    /// The actions were replaced.
    replaced: Condvar,
}

#[derive(Default)]
struct Actions {
    text: String,
    list: Vec<Action>,
    /// How often they were replaced.
    generation: u64,
}

impl Point {
    /// No code of the program runs under this lock.
    fn lock(&self) -> MutexGuard<'_, Actions> {
        self.actions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces the actions. Threads that pause go on.
    pub fn replace(&self, text: &str, list: Vec<Action>) {
        let mut actions = self.lock();
        *actions = Actions { text: text.to_owned(), list, generation: actions.generation + 1 };
        self.replaced.notify_all();
    }

    /// The text of the actions.
    pub fn text(&self) -> String {
        self.lock().text.clone()
    }

    /// Does the first action whose turn it is. Returns the argument of a `return`.
    pub fn reach(&self, name: &str) -> Option<Option<String>> {
        let mut actions = self.lock();
        let task = actions.list.iter_mut().find_map(Action::take)?;
        if let Task::Pause = task {
            let generation = actions.generation;
            drop(self.replaced.wait_while(actions, |actions| actions.generation == generation));
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
