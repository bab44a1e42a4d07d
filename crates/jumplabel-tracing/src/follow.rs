//! Records of events at callsites that somebody follows. The threads of the program make them, and pass them to the agent's thread.
//!
//! ```text
//!   a thread of the program   event ─► over the limit? lost ─► a record, made here ─► queue; full? lost
//!   the agent's thread        take: the records since the last time, and how many were lost
//! ```
//!
//! The program never waits, neither for a lock nor for the reader.
//!
//! A callsite *says little* if it has at most a 64th of the limit in a second. A quarter of the limit, and of the queue, is kept for such callsites.
//! So a callsite that floods does not take the records of others.

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

/// At most this many records wait.
const RECORDS: usize = 4096;
/// At most this many bytes are in the records that wait.
const BYTES: usize = 4 << 20;

/// A record of one event at a callsite.
struct Record {
    meta: &'static Metadata<'static>,
    json: String,
}

/// The queue of one process. A child of a fork has a queue of its own: when it was forked, another thread may have been in the middle of using the
/// parent's, and that thread does not exist in the child.
struct Queue {
    process: u32,
    sender: SyncSender<Record>,
    receiver: Mutex<Receiver<Record>>,
    /// The bytes of the records that wait; `count` is the number of these records.
    waiting: AtomicUsize,
    count: AtomicUsize,
    lost: AtomicU64,
    limit: Limit,
}

/// Null, or a queue that is never freed.
static QUEUE: AtomicPtr<Queue> = AtomicPtr::new(ptr::null_mut());

/// The limit of records in each second.
struct Limit {
    per_second: AtomicU32,
    /// The upper half is the second, the lower half the number of records in it.
    spent: AtomicU64,
}

/// The share of `all` that a callsite may use. A callsite that says little may use all of it.
fn part(all: usize, says_little: bool) -> usize {
    if says_little { all } else { all - all / 4 }
}

impl Limit {
    /// True if the callsite of this record says little. The record is its `nth` in this second.
    fn is_little(&self, nth: u32) -> bool {
        nth <= (self.per_second.load(Ordering::Relaxed) / 64).max(1)
    }

    /// True if one more record is allowed now; then counts it. `since` is the time from some fixed moment until now.
    fn allows(&self, since: Duration, says_little: bool) -> bool {
        let limit = part(self.per_second.load(Ordering::Relaxed) as usize, says_little) as u64;
        let second = since.as_secs() << 32;
        let next = |spent: u64| match spent & !u64::from(u32::MAX) == second {
            true => (spent - second < limit).then_some(spent + 1),
            false => (limit > 0).then_some(second + 1),
        };
        self.spent.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).is_ok()
    }
}

/// The queue of this process.
fn queue() -> Option<&'static Queue> {
    // SAFETY: `QUEUE` is null or points to a queue that is never freed.
    let queue = unsafe { QUEUE.load(Ordering::Acquire).as_ref() };
    queue.filter(|queue| queue.process == std::process::id())
}

/// Prepares for records, at most `per_second` in a second. Only one thread of a process may call it at a time.
pub fn expect(per_second: u32) {
    let queue = queue().unwrap_or_else(|| {
        let (sender, receiver) = sync_channel(RECORDS);
        let (process, receiver) = (std::process::id(), Mutex::new(receiver));
        let [waiting, count] = [0, 0].map(AtomicUsize::new);
        let limit = Limit { per_second: AtomicU32::new(0), spent: AtomicU64::new(0) };
        let queue = Queue { process, sender, receiver, waiting, count, lost: AtomicU64::new(0), limit };
        let queue: &'static Queue = Box::leak(Box::new(queue));
        QUEUE.store(ptr::from_ref(queue).cast_mut(), Ordering::Release);
        queue
    });
    queue.limit.per_second.store(per_second, Ordering::Relaxed);
}

/// Drops records that nobody has taken, and resets the number of lost ones: they were for a follower that has gone.
pub fn forget() {
    take(|_, _| ());
    if let Some(queue) = queue() {
        queue.limit.spent.store(0, Ordering::Relaxed);
    }
}

/// Records an event, the `nth` of its callsite in this second. `values` visits the event's fields. `lost` counts the callsite's events without a
/// record. The next record of the callsite reports this count, and resets it.
pub fn note(meta: &'static Metadata<'static>, nth: u32, lost: &AtomicU32, values: &dyn Fn(&mut dyn Visit)) {
    let Some(queue) = queue() else { return };
    let lose = |number: u32| {
        let _ = lost.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |lost| Some(lost.saturating_add(number)));
        queue.lost.fetch_add(1, Ordering::Relaxed);
    };
    let Some(_busy) = Busy::begin() else { return lose(1) };
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let says_little = queue.limit.is_little(nth);
    if !queue.limit.allows(now, says_little) {
        return lose(1);
    }
    let before = lost.swap(0, Ordering::Relaxed);
    // If a value panics while it is displayed, the program goes on: without a follower it would not have displayed the value.
    let json = catch_unwind(AssertUnwindSafe(|| record::json(meta, now, before, values)));
    // The panic's payload is not dropped, because that may panic, too.
    let sent = json.map_err(mem::forget).is_ok_and(|json| queue.send(Record { meta, json }, says_little));
    if !sent {
        lose(before.saturating_add(1));
    }
}

thread_local! {
    /// True while this thread makes a record. Events that happen meanwhile, in an implementation of `Debug` or in an allocator, get no record.
    static IS_BUSY: Cell<bool> = const { Cell::new(false) };
}

/// The thread is making a record while this value exists.
struct Busy;

impl Busy {
    /// `None` if the thread is making a record already, or ends.
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
    /// Puts a record into the queue. Returns false if there was no room.
    fn send(&self, record: Record, says_little: bool) -> bool {
        let bytes = record.json.len();
        let waiting = self.waiting.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let count = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        let has_room = waiting <= part(BYTES, says_little) && count <= part(RECORDS, says_little);
        // `try_send` does not wait: it fails if there is no room.
        let sent = has_room && self.sender.try_send(record).is_ok();
        if !sent {
            self.taken(bytes);
        }
        sent
    }

    /// Counts a record as no longer waiting.
    fn taken(&self, bytes: usize) {
        self.waiting.fetch_sub(bytes, Ordering::Relaxed);
        self.count.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Takes the records since the last call, oldest first. Returns the number of lost ones.
pub fn take(mut visit: impl FnMut(&'static Metadata<'static>, &str)) -> u64 {
    let Some(queue) = queue() else { return 0 };
    let receiver = queue.receiver.lock().unwrap_or_else(PoisonError::into_inner);
    // Takes no more records than the queue can hold: others may come meanwhile, and this must end.
    for record in receiver.try_iter().take(RECORDS) {
        queue.taken(record.json.len());
        visit(record.meta, &record.json);
    }
    queue.lost.swap(0, Ordering::Relaxed)
}

#[cfg(test)]
mod tests;
