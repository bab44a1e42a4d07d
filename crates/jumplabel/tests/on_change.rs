//! Functions that hear of flips: which flips, when, who asked; the calls that they may make; when they may be freed.
//!
//! The table of functions is the process's, so one test runs at a time.

#[path = "on_change/flips.rs"]
mod flips;
#[cfg(all(target_os = "linux", jumplabel_sites))]
#[path = "on_change/places.rs"]
mod places;
#[path = "on_change/removal.rs"]
mod removal;

use std::sync::{Mutex, MutexGuard, PoisonError};

use jumplabel::{AskedBy, Changed};

static TURN: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The facts that a function was told: an address, a state, and who asked.
type Told = (usize, u8, AskedBy);

fn told(changed: &Changed<'_>, by: AskedBy) -> Told {
    match *changed {
        Changed::Key { key, on } => (key.address(), on.into(), by),
        Changed::Mode { mode, number } => (mode.address(), number, by),
        _ => unreachable!(),
    }
}

/// The facts that the functions of a test were told, in this order.
struct List(Mutex<Vec<Told>>);

impl List {
    const fn new() -> List {
        List(Mutex::new(Vec::new()))
    }

    fn note(&self, changed: &Changed<'_>, by: AskedBy) {
        self.0.lock().unwrap().push(told(changed, by));
    }

    fn take(&self) -> Vec<Told> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}
