//! Transactions: the only place that changes code.
//!
//! ```text
//!  lock      one for the process; signals blocked; re-entry by the same thread is an error
//!  begin     each key's counter says what the change comes to; keys that go off close their lock-free way
//!  collect   the sites of all keys, from the index, merged, sorted by address, deduplicated
//!  verify    each site holds one of its legal states, all bytes, else ForeignBytes; nothing is written yet
//!  open      the writer makes all pages writable (mprotect), or its own (procmem), or copies them (swap)
//!  steps     the writes of each step, a core sync after each: one step, or three where a site is pristine;
//!            a refused write undoes the steps before it, and the next writer is tried
//!  close     protections back
//!  publish   counts change only now
//! ```
//!
//! On an error after `begin`, counts and sites are as before. Nothing here allocates between `open` and `close`, calls
//! the dynamic loader, or runs code of the user's.

pub(crate) mod in_flight;
pub mod plan;
mod steps;

use core::time::Duration;

use crate::error::{Errno, Error};
use crate::key::RawKey;
use crate::key::count::{self, Change};
use crate::site::{index, object};
use crate::text::{self, Text, Token, Visibility, Warnings, WriterKind};
use plan::{Edit, Edits, Request};

/// The process-wide lock, held: nobody else flips, and no object that has sites comes or goes (Linux: `jump_label_lock`).
///
/// For several flips and looks with nobody in between; a set of changes that shall be all or nothing is a
/// [`Batch`](crate::Batch). While it lives, flip with [`RawKey::enable_locked`] and the like; what takes the lock itself
/// returns [`Error::Reentrant`] on this thread, and waits on others.
///
/// Costs three system calls to take and drop. All signals of the thread are blocked meanwhile, and it cannot be cancelled.
/// Under it, do not call the dynamic loader: its constructors wait for this lock while they hold the loader's. A child of
/// `fork` does not hold it, and must neither use nor drop it.
pub struct Lock {
    text: &'static dyn Text,
    token: Token,
    /// Released by the thread that took it.
    not_send: core::marker::PhantomData<*const ()>,
}

impl Lock {
    /// Waits for the lock.
    ///
    /// # Errors
    /// [`Error::Reentrant`] where this thread holds it, [`Error::OutOfMemory`], [`Error::NoText`] in a kernel that has not
    /// called [`set_text`](crate::text::set_text).
    pub fn take() -> Result<Lock, Error> {
        let text = text::text();
        let token = text.lock()?;
        let lock = Lock { text, token, not_send: core::marker::PhantomData };
        in_flight::recover(&lock);
        #[cfg(jumplabel_sites)]
        if text.was_copied() {
            settle_copy(&lock);
        }
        Ok(lock)
    }

    /// The lock that another copy of the library holds for this one. Not to be dropped.
    pub(super) fn borrowed() -> core::mem::ManuallyDrop<Lock> {
        let lock = Lock { text: text::text(), token: [0; 2], not_send: core::marker::PhantomData };
        core::mem::ManuallyDrop::new(lock)
    }

    pub(crate) fn text(&self) -> &'static dyn Text {
        self.text
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // SAFETY: taken by `take`, on this thread, and released once.
        unsafe { self.text.unlock(self.token) };
    }
}

/// What a flip did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outcome {
    /// Sites whose instruction was changed.
    pub sites: usize,
    /// Pages that they begin on.
    pub pages: usize,
    /// Sites that were pristine: they cost two more core syncs for the whole batch, once.
    pub primed: usize,
    /// What wrote, `None` where no site had to change.
    pub writer: Option<WriterKind>,
    /// When other threads see it. Where there was nothing to write: when they see the flip that wrote it.
    pub visibility: Visibility,
    /// What went less than well without being an error.
    pub warnings: Warnings,
    /// From taking the lock to the last protection being back.
    pub time: Duration,
}

/// Changes one key: the lock-free way where nothing has to be patched, else a transaction of one.
pub(crate) fn change(key: &RawKey, change: Change) -> Result<Outcome, Error> {
    if count::fast(key.word(), change).is_some() {
        return Ok(unpatched(key, change, None));
    }
    commit(&mut [Request::new(key, change)])
}

/// The outcome of a change that needed no patch.
fn unpatched(key: &RawKey, change: Change, lock: Option<&Lock>) -> Outcome {
    let visibility = if key.is_eventual() { still_eventual(key, change, lock) } else { Visibility::Immediate };
    Outcome { visibility, ..Outcome::default() }
}

/// Whoever comes by `inc` relies on the key; where the last core sync succeeded, so may another, for this key.
#[cold]
fn still_eventual(key: &RawKey, change: Change, lock: Option<&Lock>) -> Visibility {
    if change != Change::Inc || !text::text().is_synced() {
        return Visibility::Eventual;
    }
    let sync = |lock: &Lock| sync_again(core::iter::once(key), lock);
    match lock {
        Some(lock) => sync(lock),
        None => Lock::take().map_or(Visibility::Eventual, |lock| sync(&lock)),
    }
}

/// Under the lock: whether all threads see the sites of these keys as they are, at the latest by a core sync now.
fn sync_again<'key>(keys: impl Iterator<Item = &'key RawKey> + Clone, lock: &Lock) -> Visibility {
    if !keys.clone().any(RawKey::is_eventual) {
        return Visibility::Immediate;
    }
    if lock.text().core_sync().is_err() {
        return Visibility::Eventual;
    }
    keys.for_each(|key| key.set_eventual(false));
    Visibility::Immediate
}

/// [`change`] for a caller that holds the lock.
pub(crate) fn change_locked(key: &RawKey, change: Change, lock: &Lock) -> Result<Outcome, Error> {
    if count::fast(key.word(), change).is_some() {
        return Ok(unpatched(key, change, Some(lock)));
    }
    commit_locked(&mut [Request::new(key, change)], lock)
}

/// Carries out `requests`, all or nothing. Reorders them.
pub(crate) fn commit(requests: &mut [Request<'_>]) -> Result<Outcome, Error> {
    commit_locked(requests, &Lock::take()?)
}

/// [`commit`] for a caller that holds the lock.
pub(crate) fn commit_locked(requests: &mut [Request<'_>], lock: &Lock) -> Result<Outcome, Error> {
    transaction(plan::last_wins(requests), lock, &|requests, edits, lock| {
        begin(requests)?;
        edits.collect(requests, lock)
    })
}

/// Brings the sites of an object that was just loaded to the state of their keys.
#[cfg(jumplabel_sites)]
#[inline(never)] // Once in a program is enough.
pub(crate) fn catch_up(object: &crate::site::object::Object, lock: &Lock) -> Result<Outcome, Error> {
    transaction(&mut [], lock, &|_, edits, lock| edits.collect_object(object, lock))
}

/// In a process that was copied while somebody could flip: memory is copied page by page, so that the note of what was in
/// flight, the counts and the sites can be of different moments. The counts decide. A site that is refused is met again by
/// the next flip of its key.
#[cfg(jumplabel_sites)]
#[cold]
fn settle_copy(lock: &Lock) {
    for object in crate::site::object::all(lock) {
        let _ = catch_up(object, lock);
    }
}

/// This copy of the library is about to be unloaded: gives back what its lists hold.
#[cfg(jumplabel_sites)]
pub(crate) fn release_lists(lock: &Lock) {
    // SAFETY: the lock is held.
    unsafe { Edits::borrow(lock) }.free(lock);
    in_flight::release_list(lock);
}

/// Fills the list of edits. Called by way of a pointer, so that there is one `transaction` and not one for each caller.
type Collect<'a> = dyn Fn(&mut [Request<'_>], &mut Edits, &Lock) -> Result<(), Error> + 'a;

/// Collects, writes, and publishes or abandons.
fn transaction(requests: &mut [Request<'_>], lock: &Lock, collect: &Collect<'_>) -> Result<Outcome, Error> {
    let start = lock.text().now();
    if let Some(address) = in_flight::stuck_at(lock) {
        return Err(Error::RollbackFailed { address });
    }
    // SAFETY: the lock is held, which is what guards the list.
    let edits = unsafe { Edits::borrow(lock) };
    in_flight::begin(requests, lock)?;
    let mut outcome = collect(requests, edits, lock).and_then(|()| {
        in_flight::writing();
        write(edits, lock)
    });
    match &mut outcome {
        Ok(outcome) => {
            in_flight::publishing(requests, lock);
            if outcome.writer.is_none() {
                outcome.visibility = sync_again(requests.iter().map(|request| request.key), lock);
            }
            requests.iter().for_each(|request| request.publish(Some(outcome.visibility)));
            outcome.time = lock.text().now().saturating_sub(start);
        }
        Err(error) => {
            // What was undone without a core sync is seen like what is done without one.
            if matches!(error, Error::Denied { .. } | Error::RollbackFailed { .. }) && !lock.text().is_synced() {
                requests.iter().for_each(|request| request.key.set_eventual(true));
            }
            requests.iter().for_each(Request::abandon);
        }
    }
    if let Err(Error::RollbackFailed { .. }) = outcome {
        in_flight::stuck();
        return outcome;
    }
    in_flight::end();
    edits.shrink(lock);
    outcome
}

/// Asks each key's counter. After a refusal, those behind it have no transition and are not touched by `abandon`.
fn begin(requests: &mut [Request<'_>]) -> Result<(), Error> {
    for request in requests {
        request.transition = count::begin(request.key.word(), request.change)?;
    }
    Ok(())
}

/// Writes the collected edits with the first writer that can.
fn write(edits: &mut Edits, lock: &Lock) -> Result<Outcome, Error> {
    let Some(mut summary) = edits.summary(lock) else { return Ok(Outcome::default()) };
    let mut refused = Refusals::default();
    let mut attempt = 0;
    while let Some(kind) = lock.text().choose(&summary, attempt) {
        attempt += 1;
        // What another writer could not undo is undone by this one, which then goes on as if nothing had been.
        let mut stuck = refused.stuck;
        let mut body = |writer: &mut dyn text::Writer| {
            if stuck.is_some() {
                steps::undo(edits, writer)?;
                stuck = None;
            }
            steps::run(edits, summary.steps, writer)
        };
        // SAFETY: the edits are verified sites of loaded objects, sorted by address, and the lock is held.
        let result = unsafe { lock.text().open(kind, edits, &mut body) };
        refused.stuck = stuck;
        match result {
            Ok(written) => {
                return Ok(Outcome {
                    sites: edits.len(),
                    pages: summary.pages,
                    primed: summary.pristine,
                    writer: Some(kind),
                    visibility: written.visibility,
                    warnings: written.warnings,
                    time: Duration::ZERO,
                });
            }
            Err(Failure::Refused(errno)) => refused.note(kind, errno),
            Err(Failure::Unsynced(errno)) if summary.unsynced => refused.note(kind, errno),
            Err(Failure::Unsynced(errno)) => {
                refused.core_sync.get_or_insert(errno);
                (summary.unsynced, attempt) = (true, 0);
            }
            Err(Failure::Stuck { address, errno }) => {
                refused.note(kind, errno);
                refused.stuck.get_or_insert(address);
            }
        }
    }
    Err(refused.error())
}

/// What the writers met.
#[derive(Default)]
struct Refusals {
    /// The first site that could not be restored.
    stuck: Option<usize>,
    core_sync: Option<Errno>,
    mprotect: Errno,
    procmem: Errno,
    swap: Errno,
    custom: Errno,
}

impl Refusals {
    fn note(&mut self, kind: WriterKind, errno: Errno) {
        match kind {
            WriterKind::Mprotect => self.mprotect = errno,
            WriterKind::Procmem => self.procmem = errno,
            WriterKind::Swap => self.swap = errno,
            WriterKind::Custom => self.custom = errno,
        }
    }

    fn error(self) -> Error {
        let Refusals { stuck, core_sync, mprotect, procmem, swap, custom } = self;
        match (stuck, core_sync) {
            (Some(address), _) => Error::RollbackFailed { address },
            (None, Some(core_sync)) => Error::MultiThreaded { core_sync },
            _ if [mprotect, procmem, swap, custom] == [Errno::NONE; 4] => Error::NoWriter,
            _ => Error::Denied { mprotect, procmem, swap, custom },
        }
    }
}

#[cfg(jumplabel_linux)]
pub(crate) use steps::run as run_steps;
pub use steps::{Failure, Step};

/// Brings the primed sites of a key that fall through back to the pristine nop: for those who want the very last fraction of
/// a nanosecond back after a key has been used (docs/benchmarks.md has the figures). Costs a flip with two core syncs, and
/// the next flip of those sites is a first one again. Does nothing for sites that jump.
///
/// # Errors
/// As [`RawKey::enable`].
pub fn settle(key: &RawKey) -> Result<Outcome, Error> {
    let lock = Lock::take()?;
    let mut outcome = transaction(&mut [], &lock, &|_, edits, lock| edits.collect_primed(key, lock))?;
    match outcome.writer {
        Some(_) if outcome.visibility == Visibility::Immediate => key.set_eventual(false),
        Some(_) => {}
        None => outcome.visibility = sync_again(core::iter::once(key), &lock),
    }
    Ok(outcome)
}

/// Does ahead what the first flip of a process does beside flipping: shared pages, registration for core sync (milliseconds,
/// where there are threads), the index of all objects that are loaded, the list of edits, and the trial of the writers that are
/// chosen for few and for many sites. For programs whose first flip comes when there is no time; no flip needs it.
///
/// What is left to a first flip is a private copy of each page that it changes. A child of `fork` has all but the registration,
/// and an object that is loaded later has no index: call it again there, which costs little where there is nothing to do.
///
/// # Errors
/// [`Error::Denied`] where the system refuses all writers, so that flips would fail; [`Error::NoWriter`],
/// [`Error::DamagedTable`], [`Error::OutOfMemory`], and where the lock cannot be taken, as for [`RawKey::seal`]. That core sync is
/// refused is no error here: flips say what it means for them.
pub fn prepare() -> Result<(), Error> {
    let lock = Lock::take()?;
    if let Some(address) = in_flight::stuck_at(&lock) {
        return Err(Error::RollbackFailed { address });
    }
    let mut sites = 0;
    for object in object::all(&lock) {
        index::build(object, &lock)?;
        sites += object.table().len();
    }
    if sites == 0 {
        return Ok(()); // Nothing to be written.
    }
    // SAFETY: the lock is held, which is what guards the list, and no transaction is on its way.
    unsafe { Edits::borrow(&lock) }.prepare(sites, &lock)?;
    in_flight::prepare(&lock)?;
    prepare_writer(1, &lock)?;
    prepare_writer(usize::MAX, &lock).map(drop)
}

/// The writer that a flip of one site would take, after it has shown that it works: on a function of the library's own, so that no site
/// changes. For programs that want to know ahead whether the system lets them flip. Costs two flips the first time, and next to
/// nothing later.
///
/// # Errors
/// [`Error::Denied`] where the system refuses all writers, so that flips would fail; [`Error::NoWriter`] where there is none,
/// as in the fallback; and where the lock cannot be taken, as for [`RawKey::seal`].
pub fn probe() -> Result<WriterKind, Error> {
    prepare_writer(1, &Lock::take()?)
}

/// Proves the writer that is chosen for so many sites.
fn prepare_writer(sites: usize, lock: &Lock) -> Result<WriterKind, Error> {
    let summary = plan::Summary { sites, pages: 1, spans: 1, pristine: 0, steps: 1, unsynced: false };
    let mut refused = Refusals::default();
    let mut works = |kind: &WriterKind| lock.text().prepare(*kind).map_err(|errno| refused.note(*kind, errno)).is_ok();
    let found = (0..).map_while(|attempt| lock.text().choose(&summary, attempt)).find(&mut works);
    found.ok_or_else(|| refused.error())
}

/// The edits of a transaction, as writers get them.
pub type EditList = [Edit];
