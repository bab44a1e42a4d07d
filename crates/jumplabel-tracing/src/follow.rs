//! What happens at callsites that somebody follows: a record each, from the threads of the program to the agent's.
//!
//! ```text
//!   a thread of the program   event ─► over the limit? lost ─► a record, made here ─► queue; full? lost
//!   the agent's thread        take: the records since the last time, and how many were lost
//! ```
//!
//! The program never waits: neither for a lock, nor for who reads.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};
use std::{mem, ptr};

use tracing_core::Metadata;
use tracing_core::field::Visit;

use crate::record;

/// So many records wait at most.
const RECORDS: usize = 4096;
/// So many bytes they have at most.
const BYTES: usize = 4 << 20;

/// What happened at a callsite.
struct Record {
    meta: &'static Metadata<'static>,
    json: String,
}

/// Of one process: a child of a fork has one of its own, because a thread that it does not have may be at its parent's.
struct Queue {
    process: u32,
    sender: SyncSender<Record>,
    receiver: Mutex<Receiver<Record>>,
    /// Bytes of the records that wait.
    waiting: AtomicUsize,
    lost: AtomicU64,
    limit: Limit,
}

/// Null, or one that is never freed.
static QUEUE: AtomicPtr<Queue> = AtomicPtr::new(ptr::null_mut());

/// At most so many records in each second.
struct Limit {
    per_second: AtomicU32,
    /// The second, and in the lower half how many records it has had.
    spent: AtomicU64,
}

impl Limit {
    /// Whether there may be another record, in the second that is `since` after some time.
    fn allows(&self, since: Duration) -> bool {
        let (second, limit) = (since.as_secs() << 32, u64::from(self.per_second.load(Ordering::Relaxed)));
        let next = |spent: u64| match spent & !u64::from(u32::MAX) == second {
            true => (spent - second < limit).then_some(spent + 1),
            false => (limit > 0).then_some(second + 1),
        };
        self.spent.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).is_ok()
    }
}

/// That of this process.
fn queue() -> Option<&'static Queue> {
    // SAFETY: null, or one that is never freed.
    let queue = unsafe { QUEUE.load(Ordering::Acquire).as_ref() };
    queue.filter(|queue| queue.process == std::process::id())
}

/// Prepares for records, at most so many in a second. Called by one thread of a process at a time.
pub fn expect(per_second: u32) {
    let queue = queue().unwrap_or_else(|| {
        let (sender, receiver) = sync_channel(RECORDS);
        let (process, receiver, waiting) = (std::process::id(), Mutex::new(receiver), AtomicUsize::new(0));
        let limit = Limit { per_second: AtomicU32::new(0), spent: AtomicU64::new(0) };
        let queue = Queue { process, sender, receiver, waiting, lost: AtomicU64::new(0), limit };
        let queue: &'static Queue = Box::leak(Box::new(queue));
        QUEUE.store(ptr::from_ref(queue).cast_mut(), Ordering::Release);
        queue
    });
    queue.limit.per_second.store(per_second, Ordering::Relaxed);
}

/// Forgets records that nobody has taken, and what was lost: they were for a follower that has gone.
pub fn forget() {
    take(|_, _| ());
    if let Some(queue) = queue() {
        queue.limit.spent.store(0, Ordering::Relaxed);
    }
}

/// Notes what happens at a callsite. `values` visits its fields.
pub fn note(meta: &'static Metadata<'static>, values: &dyn Fn(&mut dyn Visit)) {
    let Some(queue) = queue() else { return };
    let Some(_busy) = Busy::begin() else { return queue.lose() };
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    if !queue.limit.allows(now) {
        return queue.lose();
    }
    // A value that panics while it is displayed does not end a program that would not have displayed it.
    match catch_unwind(AssertUnwindSafe(|| record::json(meta, now, values))) {
        Ok(json) => queue.send(Record { meta, json }),
        Err(payload) => {
            mem::forget(payload); // It may panic when it is dropped.
            queue.lose();
        }
    }
}

thread_local! {
    /// Whether this thread makes a record. What it says meanwhile, in an implementation of `Debug` or in an allocator, has none.
    static IS_BUSY: Cell<bool> = const { Cell::new(false) };
}

/// While it lives, the thread makes a record.
struct Busy;

impl Busy {
    /// `None` if it does already, or ends.
    fn begin() -> Option<Busy> {
        let was_busy = IS_BUSY.try_with(|is_busy| is_busy.replace(true)).unwrap_or(true);
        (!was_busy).then_some(Busy)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = IS_BUSY.try_with(|is_busy| is_busy.set(false));
    }
}

impl Queue {
    fn lose(&self) {
        self.lost.fetch_add(1, Ordering::Relaxed);
    }

    fn send(&self, record: Record) {
        let bytes = record.json.len();
        let has_room = self.waiting.fetch_add(bytes, Ordering::Relaxed) + bytes <= BYTES;
        // It waits for nobody: if there is no room, that is an error.
        if !has_room || self.sender.try_send(record).is_err() {
            self.waiting.fetch_sub(bytes, Ordering::Relaxed);
            self.lose();
        }
    }
}

/// Takes the records since the last time, oldest first. Returns how many were lost.
pub fn take(mut visit: impl FnMut(&'static Metadata<'static>, &str)) -> u64 {
    let Some(queue) = queue() else { return 0 };
    let receiver = queue.receiver.lock().unwrap_or_else(PoisonError::into_inner);
    // Not those that come meanwhile, which could have no end.
    for record in receiver.try_iter().take(RECORDS) {
        queue.waiting.fetch_sub(record.json.len(), Ordering::Relaxed);
        visit(record.meta, &record.json);
    }
    queue.lost.swap(0, Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use std::fmt::{self, Debug};

    use tracing_core::callsite::{Callsite, Identifier};
    use tracing_core::field::FieldSet;
    use tracing_core::{Interest, Kind, Level};

    use super::*;

    struct Site;

    static SITE: Site = Site;
    static META: Metadata<'static> = Metadata::new(
        "event",
        "target",
        Level::INFO,
        None,
        None,
        None,
        FieldSet::new(&["message", "a", "b"], Identifier(&SITE)),
        Kind::EVENT,
    );

    impl Callsite for Site {
        fn set_interest(&self, _: Interest) {}
        fn metadata(&self) -> &Metadata<'_> {
            &META
        }
    }

    /// What a value does while it is displayed.
    struct Acts(fn());

    impl Debug for Acts {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            (self.0)();
            f.write_str("acted")
        }
    }

    /// The records, and how many were lost.
    fn taken() -> (Vec<String>, u64) {
        let mut records = Vec::new();
        let lost = take(|_, json| records.push(json.to_owned()));
        (records, lost)
    }

    /// What is noted, and what is lost: it is always all.
    #[test]
    fn noted_or_lost() {
        let field = |number: usize| META.fields().iter().nth(number).unwrap();
        let says = |acts: fn()| {
            note(&META, &|visitor| {
                visitor.record_str(&field(0), "text");
                visitor.record_f64(&field(1), f64::NAN);
                visitor.record_debug(&field(2), &Acts(acts));
            });
        };
        struct Twice;
        impl Drop for Twice {
            fn drop(&mut self) {
                panic!("a payload of this test panics");
            }
        }
        // Nobody expects anything.
        says(|| panic!());
        assert_eq!(taken(), (vec![], 0));
        expect(1_000_000);
        says(|| ());
        let (records, lost) = taken();
        assert!(records.len() == 1 && lost == 0, "{records:?} {lost}");
        assert!(records[0].ends_with(r#""message":"text","fields":{"a":"NaN","b":"acted"}}"#), "{records:?}");
        // A value that panics, and one that says something itself.
        says(|| panic!("a value of this test panics"));
        assert_eq!(taken(), (vec![], 1));
        says(|| std::panic::panic_any(Twice));
        assert_eq!(taken(), (vec![], 1));
        says(|| note(&META, &|_| ()));
        let (records, lost) = taken();
        assert!(records.len() == 1 && lost == 1, "{records:?} {lost}");
        // More than there is room for.
        (0..RECORDS + 10).for_each(|_| says(|| ()));
        let (records, lost) = taken();
        assert_eq!((records.len(), lost), (RECORDS, 10));
        let long = "x".repeat(4000);
        (0..RECORDS).for_each(|_| note(&META, &|visitor| visitor.record_str(&field(1), &long)));
        let (records, lost) = taken();
        assert!(records.len() + lost as usize == RECORDS && records.iter().map(String::len).sum::<usize>() <= BYTES);
        assert!(lost > 0 && queue().unwrap().waiting.load(Ordering::Relaxed) == 0);
        // Those of an earlier follower are not for the next one.
        says(|| ());
        says(|| panic!("a value of this test panics"));
        forget();
        assert_eq!(taken(), (vec![], 0));
    }

    #[test]
    fn limits() {
        let limit = Limit { per_second: AtomicU32::new(2), spent: AtomicU64::new(0) };
        let allowed = |milliseconds| limit.allows(Duration::from_millis(milliseconds));
        assert_eq!([1000, 1001, 1002, 1999].map(allowed), [true, true, false, false]);
        assert_eq!([2000, 2500, 2600, 90_000].map(allowed), [true, true, false, true]);
        limit.per_second.store(0, Ordering::Relaxed);
        assert_eq!([90_001, 91_000].map(allowed), [false, false]);
    }
}
