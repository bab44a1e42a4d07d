//! Limits how many events of a callsite pass in a second. `cargo jumplabel tracing` has written this file; upstream does not have it.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::SystemTime;

use crate::callsite::{Callsite, DefaultCallsite, Identifier};
use crate::event::Event;
use crate::field::{FieldSet, Value};
use crate::metadata::{Kind, Level, Metadata};

/// A count of events in one second: the upper half is the second, the lower half their number.
#[derive(Debug, Default)]
pub(super) struct Second(AtomicU64);

impl Second {
    /// Counts an event. Returns its number in this second.
    pub(super) fn next(&self) -> u32 {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs()) << 32;
        let next = |before: u64| match before & !u64::from(u32::MAX) == now {
            true if before as u32 == u32::MAX => before,
            true => before + 1,
            false => now + 1,
        };
        let update = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |before| Some(next(before)));
        update.map_or(0, |before| next(before) as u32)
    }
}

/// The events of a forced callsite: how many have come in this second, and how many were lost since the callsite was forced.
#[derive(Debug, Default)]
pub(super) struct Shown {
    passed: Second,
    lost: AtomicU64,
    /// The number of lost events that subscribers have not been told of.
    untold: AtomicU32,
}

impl Shown {
    /// Sets the counts of lost events to 0. Called before a callsite that is not forced gets new marks.
    pub(super) fn begin(&self) {
        self.lost.store(0, Ordering::Relaxed);
        self.untold.store(0, Ordering::Relaxed);
    }

    pub(super) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Counts an event. Returns true if the event passes: if it is among the first `most` of this second. In that case, first tells subscribers how
    /// many events were lost.
    pub(super) fn passes(&self, most: u32, meta: &'static Metadata<'static>) -> bool {
        if self.passed.next() > most {
            return false;
        }
        if self.untold.load(Ordering::Relaxed) > 0 {
            tell(self.untold.swap(0, Ordering::Relaxed), most, meta);
        }
        true
    }

    /// Counts an event that is lost. Returns false: the event does not pass.
    pub(super) fn lose(&self) -> bool {
        self.lost.fetch_add(1, Ordering::Relaxed);
        self.untold.fetch_add(1, Ordering::Relaxed);
        false
    }
}

/// Tells subscribers how many events of a callsite were lost.
#[cold]
fn tell(lost: u32, most: u32, of: &'static Metadata<'static>) {
    static CALLSITE: DefaultCallsite = DefaultCallsite::new(&META);
    static META: Metadata<'static> = Metadata::new(
        "lost",
        "jumplabel",
        Level::WARN,
        None,
        None,
        None,
        FieldSet::new(&["message", "lost", "of", "line"], Identifier(&CALLSITE)),
        Kind::EVENT,
    );
    let fields = CALLSITE.metadata().fields();
    let [Some(message), Some(number), Some(target), Some(line)] =
        ["message", "lost", "of", "line"].map(|name| fields.field(name))
    else {
        return;
    };
    let (place, of) = (of.line().unwrap_or(0), of.target());
    Event::dispatch(
        &META,
        &fields.value_set(&[
            (&message, Some(&format_args!("events were lost: more than {most} in a second") as &dyn Value)),
            (&number, Some(&lost as &dyn Value)),
            (&target, Some(&of as &dyn Value)),
            (&line, Some(&place as &dyn Value)),
        ]),
    );
}
