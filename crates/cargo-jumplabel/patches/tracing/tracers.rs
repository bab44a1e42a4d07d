//! A note for each callsite, which tracers such as bpftrace find in the program's file. `cargo jumplabel tracing` has written this file; upstream
//! does not have it.
//!
//! ```text
//!   .note.stapsdt   h2:proto_streams_97 ──► a nop, in a function of the callsite's own
//!                                       ──► a semaphore, in the callsite: tracers count it up
//!   a look          semaphores that have changed ──► keys follow, in one batch
//!   an event        if the semaphore is not 0: its text is made, and the function with the nop is called
//! ```

use std::boxed::Box;
use std::cell::Cell;
use std::fmt::{Debug, Write};
use std::mem::forget;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::string::String;
use std::sync::Once;
use std::vec::Vec;

use jumplabel::usdt::Looked;

use super::{number, sync, Keyed, KEYED};
use crate::field::{Field, ValueSet, Visit};

/// A function that contains a note and does nothing. Its argument leads to the values that tracers show: the address and the length of a text, the
/// level, and the address of the metadata.
pub type Note = fn(&[u64; 4]);

/// Makes keys follow, from now on, when a tracer comes or goes.
pub fn watch_tracers() {
    static FIRST: Once = Once::new();
    FIRST.call_once(|| jumplabel::usdt::on_look(look));
}

/// Looks for tracers that have come or gone. If `is_changed`, the keys follow even if no tracer has come or gone.
fn look(is_changed: bool, mut looked: Looked) -> Looked {
    let mut stale = Vec::new();
    let visited = KEYED.for_each(|callsite| {
        looked.tracepoints += usize::from(callsite.note.is_some());
        let any = callsite.others.any_tracer();
        looked.traced += usize::from(any);
        if any != callsite.others.is_tracer_known() {
            stale.push((callsite, any));
        }
    });
    // This comes before `sync`, which turns a key on for a tracer only if the tracer is known. Other threads may look at the same time.
    stale.iter().for_each(|(callsite, any)| callsite.others.set_tracer_known(*any));
    let followed = visited.and_then(|()| if is_changed || !stale.is_empty() { sync().map(drop) } else { Ok(()) });
    if let Err(error) = followed {
        // This makes the next look try again.
        stale.iter().for_each(|(callsite, any)| callsite.others.set_tracer_known(!any));
        looked.error = Some(error);
    }
    looked
}

/// Shows an event or a new span to tracers: its message and its fields.
pub(super) fn tell(callsite: &'static Keyed, values: &ValueSet<'_>) {
    std::thread_local! {
        /// True while this thread makes a text. Events that happen meanwhile, in an implementation of `Debug`, are not shown.
        static IS_BUSY: Cell<bool> = const { Cell::new(false) };
    }
    let Some(note) = callsite.note else { return };
    if IS_BUSY.try_with(|is_busy| is_busy.replace(true)).unwrap_or(true) {
        return;
    }
    // If a value panics while it is displayed, the program goes on: without a tracer it would not have displayed the value.
    let text = catch_unwind(AssertUnwindSafe(|| {
        let mut text = Text(String::new());
        values.record(&mut text);
        text.0.push('\0');
        text.0
    }));
    let meta = callsite.meta();
    match text {
        Ok(text) => {
            let address = std::ptr::from_ref(meta) as u64;
            note(&[text.as_ptr() as u64, text.len() as u64 - 1, u64::from(number(meta.level())), address]);
        }
        // The payload is never dropped, because its drop may panic.
        Err(payload) => forget::<Box<_>>(payload),
    }
    let _ = IS_BUSY.try_with(|is_busy| is_busy.set(false));
}

/// The text that tracers show: `message field=value ...`
struct Text(String);

impl Text {
    fn put(&mut self, field: &Field, value: std::fmt::Arguments<'_>) {
        let blank = if self.0.is_empty() { "" } else { " " };
        // An error comes from a value that cannot be displayed: its text is incomplete.
        let _ = match field.name() {
            "message" => write!(self.0, "{blank}{value}"),
            name => write!(self.0, "{blank}{name}={value}"),
        };
    }
}

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.put(field, format_args!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, format_args!("{value}"));
    }
}
