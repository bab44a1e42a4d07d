//! What happens at callsites that somebody follows: a record each, from the threads of the program to the agent's.
//!
//! ```text
//!   a thread of the program   event ─► over the limit? lost ─► a record, made here ─► queue; full? lost
//!   the agent's thread        take: the records since the last time, and how many were lost
//! ```
//!
//! The program never waits: neither for a lock, nor for who reads.
//!
//! A quarter of the limit, and of the queue, is kept for callsites that say little: at most a 64th of the limit in a second. So one that floods
//! does not take the records of others.

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
    /// Bytes of the records that wait, and how many these are.
    waiting: AtomicUsize,
    count: AtomicUsize,
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

/// What there is of something for a callsite: for one that says little, all.
fn part(all: usize, says_little: bool) -> usize {
    if says_little { all } else { all - all / 4 }
}

impl Limit {
    /// Whether a callsite says little: this is its `nth` record in a second.
    fn is_little(&self, nth: u32) -> bool {
        nth <= (self.per_second.load(Ordering::Relaxed) / 64).max(1)
    }

    /// Whether there may be another record, in the second that is `since` after some time.
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

/// Forgets records that nobody has taken, and what was lost: they were for a follower that has gone.
pub fn forget() {
    take(|_, _| ());
    if let Some(queue) = queue() {
        queue.limit.spent.store(0, Ordering::Relaxed);
    }
}

/// Notes what happens at a callsite, for the `nth` time in this second. `values` visits its fields. `lost` counts what is not noted, until the next
/// record says so.
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
    // A value that panics while it is displayed does not end a program that would not have displayed it.
    let json = catch_unwind(AssertUnwindSafe(|| record::json(meta, now, before, values)));
    // What is thrown may panic when it is dropped.
    let sent = json.map_err(mem::forget).is_ok_and(|json| queue.send(Record { meta, json }, says_little));
    if !sent {
        lose(before.saturating_add(1));
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
    /// Whether there was room.
    fn send(&self, record: Record, says_little: bool) -> bool {
        let bytes = record.json.len();
        let waiting = self.waiting.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let count = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        let has_room = waiting <= part(BYTES, says_little) && count <= part(RECORDS, says_little);
        // It waits for nobody: if there is no room, that is an error.
        let sent = has_room && self.sender.try_send(record).is_ok();
        if !sent {
            self.taken(bytes);
        }
        sent
    }

    /// A record waits no more.
    fn taken(&self, bytes: usize) {
        self.waiting.fetch_sub(bytes, Ordering::Relaxed);
        self.count.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Takes the records since the last time, oldest first. Returns how many were lost.
pub fn take(mut visit: impl FnMut(&'static Metadata<'static>, &str)) -> u64 {
    let Some(queue) = queue() else { return 0 };
    let receiver = queue.receiver.lock().unwrap_or_else(PoisonError::into_inner);
    // Not those that come meanwhile, which could have no end.
    for record in receiver.try_iter().take(RECORDS) {
        queue.taken(record.json.len());
        visit(record.meta, &record.json);
    }
    queue.lost.swap(0, Ordering::Relaxed)
}

#[cfg(test)]
mod tests;
