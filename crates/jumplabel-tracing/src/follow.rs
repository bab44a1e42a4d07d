//! Records of events at callsites that an operator follows. The threads of the program make the records, and pass them to the agent's thread through
//! a queue.
//!
//! ```text
//!   a thread of the program   event ─► over the limit: lost; else it makes a record ─► queue; if that is full: lost
//!   the agent's thread        take: the records since the last call, and the number of lost ones
//! ```
//!
//! The program's threads never wait, neither for a lock nor for the agent's thread.
//!
//! A callsite *says little* in a second if it has had at most a 64th of the events that the limit allows. A quarter of the limit and of the queue is
//! kept for such callsites. So a callsite with very many events does not take the room of others.

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

/// The largest number of records in the queue.
const RECORDS: usize = 4096;
/// The largest number of bytes in the records of the queue, all together.
const BYTES: usize = 4 << 20;

/// A record of one event at a callsite.
struct Record {
    meta: &'static Metadata<'static>,
    json: String,
}

/// The queue of one process. A child of a fork makes a queue of its own: at the fork, another thread may have been in the middle of using the
/// parent's queue, and that thread does not exist in the child.
struct Queue {
    process: u32,
    sender: SyncSender<Record>,
    receiver: Mutex<Receiver<Record>>,
    /// The bytes of all records in the queue. `count` is the number of these records.
    waiting: AtomicUsize,
    count: AtomicUsize,
    lost: AtomicU64,
    limit: Limit,
}

/// The last queue that was made, or null. A queue is never freed.
static QUEUE: AtomicPtr<Queue> = AtomicPtr::new(ptr::null_mut());

/// The limit of records in each second.
struct Limit {
    per_second: AtomicU32,
    /// The upper half is a second, the lower half the number of records in that second.
    spent: AtomicU64,
}

/// The part of `all` that a callsite may use: all of it if the callsite says little, otherwise three quarters.
fn part(all: usize, says_little: bool) -> usize {
    if says_little { all } else { all - all / 4 }
}

impl Limit {
    /// True if a callsite still says little when it has its `nth` event of a second.
    fn is_little(&self, nth: u32) -> bool {
        nth <= (self.per_second.load(Ordering::Relaxed) / 64).max(1)
    }

    /// Whether the limit allows one more record now. If so, counts that record. `since` is the time from some fixed moment until now.
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

/// The queue of this process, if it has made one.
fn queue() -> Option<&'static Queue> {
    // SAFETY: `QUEUE` is null or points to a queue that is never freed.
    let queue = unsafe { QUEUE.load(Ordering::Acquire).as_ref() };
    queue.filter(|queue| queue.process == std::process::id())
}

/// Makes the queue if there is none, and sets the limit to `per_second` records in a second. Only one thread of a process may call this at a time.
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

/// Drops the records in the queue, and resets the number of lost ones and the limit's count: they were for a client that follows no more.
pub fn forget() {
    take(|_, _| ());
    if let Some(queue) = queue() {
        queue.limit.spent.store(0, Ordering::Relaxed);
    }
}

/// Makes a record of an event, which is the `nth` event of its callsite in this second. `values` visits the event's fields. `lost` is the number of
/// the callsite's events that got no record; the callsite's next record reports the number and resets it.
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
    // If a value panics while it is formatted, the panic ends here: the program would not have formatted the value if nobody followed the callsite.
    let json = catch_unwind(AssertUnwindSafe(|| record::json(meta, now, before, values)));
    // The panic's payload is never dropped, because its destructor may panic, too.
    let sent = json.map_err(mem::forget).is_ok_and(|json| queue.send(Record { meta, json }, says_little));
    if !sent {
        lose(before.saturating_add(1));
    }
}

thread_local! {
    /// True while this thread makes a record. Events in the code that runs meanwhile (an implementation of `Debug`, an allocator) get no record.
    static IS_BUSY: Cell<bool> = const { Cell::new(false) };
}

/// A mark that this thread is making a record. It lasts until the value is dropped.
struct Busy;

impl Busy {
    /// Sets the mark. `None` if this thread is making a record already, or if it is ending.
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
    /// Puts a record into the queue. Returns false, and drops the record, if there is no room.
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

    /// Counts a record of this many bytes as no longer in the queue.
    fn taken(&self, bytes: usize) {
        self.waiting.fetch_sub(bytes, Ordering::Relaxed);
        self.count.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Takes all records out of the queue, oldest first, and passes each to `visit` with its callsite. Returns the number of events that were lost since
/// the last call.
pub fn take(mut visit: impl FnMut(&'static Metadata<'static>, &str)) -> u64 {
    let Some(queue) = queue() else { return 0 };
    let receiver = queue.receiver.lock().unwrap_or_else(PoisonError::into_inner);
    // Takes no more records than the queue can hold: threads may add others meanwhile, and this loop must end.
    for record in receiver.try_iter().take(RECORDS) {
        queue.taken(record.json.len());
        visit(record.meta, &record.json);
    }
    queue.lost.swap(0, Ordering::Relaxed)
}

#[cfg(test)]
mod tests;
