//! Changes several keys, static calls and modes at once, all or nothing.

use crate::call::RawCall;
use crate::error::Error;
use crate::key::RawKey;
use crate::ops::RawOps;
use crate::patch::{self, Outcome, Request, Settable};
use crate::platform::{self, list::Owned};
use crate::raw::count::Change;
use crate::switch::RawMode;

/// A set of changes that are verified, written and synced together.
///
/// ```
/// use jumplabel::{Batch, static_key};
/// static_key! { static FAST: true; static CHECKED: false; }
///
/// let outcome = Batch::new().enable(&CHECKED).disable(&FAST).commit()?;
/// assert!(CHECKED.is_enabled() && !FAST.is_enabled());
/// println!("{} sites in {:?}", outcome.sites, outcome.time);
/// # Ok::<(), jumplabel::Error>(())
/// ```
///
/// A batch can also change static calls and modes:
///
/// ```
/// # use jumplabel::{Batch, static_call, static_key};
/// # static_key! { static CHECKED: false; }
/// # fn plain(x: u32) -> u32 { x }
/// # fn careful(x: u32) -> u32 { x + 1 }
/// static_call! { static STEP: fn(u32) -> u32 = plain; }
///
/// Batch::new().enable(&CHECKED).set(&STEP, careful).commit()?;
/// assert!(CHECKED.is_enabled() && STEP(1) == 2);
/// # Ok::<(), jumplabel::Error>(())
/// ```
///
/// On an error, nothing has changed. When `commit` returns `Ok`, every check that starts later takes its new arm. While `commit` runs, a
/// thread can meet some sites in their new state and others in their old state. Costs one core sync for the whole batch, or three if it
/// changes pristine sites, static calls or modes. If a key is named twice, the last change wins.
///
/// A batch has room for `N` changes (32 by default), and allocates nothing. [`set_all`] takes any number of changes.
#[derive(Debug)]
#[must_use = "a batch does nothing until it is committed"]
pub struct Batch<'key, const N: usize = 32> {
    requests: [Option<Request<'key>>; N],
    len: usize,
    /// The error of the first change for which no request could be made.
    error: Option<Error>,
}

impl Batch<'_> {
    /// An empty batch for up to 32 changes.
    #[allow(clippy::new_without_default)]
    pub const fn new() -> Self {
        Self::with_capacity()
    }
}

impl<'key, const N: usize> Batch<'key, N> {
    /// An empty batch for up to `N` changes: `Batch::<1024>::with_capacity()`.
    pub const fn with_capacity() -> Self {
        Batch { requests: [None; N], len: 0, error: None }
    }

    /// Turns `key` on. If the batch is full, [`commit`](Self::commit) fails.
    pub const fn enable(self, key: &'key RawKey) -> Self {
        self.push(Request::of_key(key, Change::Enable))
    }

    /// Turns `key` off.
    pub const fn disable(self, key: &'key RawKey) -> Self {
        self.push(Request::of_key(key, Change::Disable))
    }

    /// Turns a key on or off, leads a static call to a target, or changes a mode.
    pub fn set<S: Settable>(mut self, patchable: &'key S, value: S::Value) -> Self {
        match patchable.request(value) {
            Ok(request) => self.push(request),
            Err(error) => {
                self.error.get_or_insert(error);
                self
            }
        }
    }

    const fn push(mut self, request: Request<'key>) -> Self {
        if self.len < N {
            self.requests[self.len] = Some(request);
        }
        self.len += 1;
        self
    }

    /// Carries the changes out.
    ///
    /// # Errors
    /// [`Error::BatchFull`]; otherwise as [`RawKey::enable`]. On any error, no key and no site has changed.
    pub fn commit(self) -> Result<Outcome, Error> {
        if let Some(error) = self.error {
            return Err(error);
        }
        if self.len > N {
            return Err(Error::BatchFull { capacity: N });
        }
        // All slots up to `len` are filled; the other slots are never used.
        let Some(first) = self.requests.first().copied().flatten() else { return Ok(Outcome::default()) };
        let mut requests = self.requests.map(|request| request.unwrap_or(first));
        patch::commit(&mut requests[..self.len])
    }
}

/// Sets any number of keys, all or nothing, as a [`Batch`] does. If a key is named twice, the last change wins.
///
/// ```
/// use jumplabel::{set_all, static_key};
/// static_key! { static HOOKS: [false; 100]; }
///
/// set_all(HOOKS.iter().enumerate().map(|(number, hook)| (&**hook, number % 3 == 0)))?;
/// assert!(HOOKS[99].is_enabled() && !HOOKS[98].is_enabled());
/// # Ok::<(), jumplabel::Error>(())
/// ```
///
/// The list of changes is made before the lock is taken. A list of up to 32 keys is on the stack. A longer list is in memory that the
/// platform gives: the program's allocator is never called. Safe in signal handlers, if the iterator is safe there.
///
/// # Errors
/// [`Error::OutOfMemory`] if there is no memory for the list; otherwise as [`RawKey::enable`]. On any error, no key and no site has
/// changed.
pub fn set_all<'key>(keys: impl IntoIterator<Item = (&'key RawKey, bool)>) -> Result<Outcome, Error> {
    commit_each(keys.into_iter().map(|(key, on)| Ok(Request::of_key(key, Change::to(on)))))
}

/// [`prepare`](crate::prepare) for some keys: patches those of their sites that load and should fall through, all or none. Sites of other
/// keys stay as they are. [`Outcome::sites`] is the number of sites that were patched.
///
/// A library calls this for its own keys declared `or_load`, and leaves those of others to the program. A site that loads and should jump
/// goes on loading until its key is flipped: see [`OrLoadKey`](crate::OrLoadKey).
///
/// Costs what [`prepare`](crate::prepare) costs, and a flip of these sites. Safe in signal handlers, constructors, and before and after
/// `fork`.
///
/// ```
/// use jumplabel::{prepare_keys, static_branch_unlikely, static_key};
/// static_key! { static TRACE: false, or_load; static DUMP: false, or_load; }
///
/// // If the system refuses, the checks go on loading, which is right.
/// let _ = prepare_keys([TRACE.raw(), DUMP.raw()]);
/// assert!(!static_branch_unlikely!(TRACE) && !static_branch_unlikely!(DUMP));
/// ```
///
/// # Errors
/// As [`prepare`](crate::prepare) and [`set_all`]. Nothing has changed then.
pub fn prepare_keys<'key>(keys: impl IntoIterator<Item = &'key RawKey>) -> Result<Outcome, Error> {
    let mut requests = keys.into_iter().map(|key| Some(Request::of_key(key, Change::to(key.is_enabled()))));
    with_all(&mut requests, patch::prepare_these)
}

/// A change without types, for the C API and for requests of operators.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub enum RawChange<'patchable> {
    Key(&'patchable RawKey, bool),
    Inc(&'patchable RawKey),
    Dec(&'patchable RawKey),
    Call(&'patchable RawCall, usize),
    Mode(&'patchable RawMode, usize),
    /// A change of a key for a while, or the end of such a change. If somebody else has set the key meanwhile, the end changes nothing.
    For(Stay, &'patchable RawKey, bool),
    ModeFor(Stay, &'patchable RawMode, usize),
}

/// Whether a change for a while begins or ends.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub enum Stay {
    Begins,
    Ends,
}

impl Stay {
    const fn bits(self) -> usize {
        match self {
            Stay::Begins => patch::LENT,
            Stay::Ends => patch::RETURNED,
        }
    }
}

/// [`set_all`] for keys, static calls and modes. It takes every item before anything changes: so if an item is an error, nothing changes.
///
/// # Errors
/// As [`set_all`]; [`Error::NoSuchMode`]; or the first error among the items.
///
/// # Safety
/// The number beside a [`RawCall`] is the address of a function of the call's type, or 0 for the call's default.
#[doc(hidden)]
pub unsafe fn commit_all<'patchable, E: From<Error>>(
    changes: impl IntoIterator<Item = Result<RawChange<'patchable>, E>>,
) -> Result<Outcome, E> {
    commit_each(changes.into_iter().map(|change| {
        Ok(match change? {
            RawChange::Key(key, on) => Request::of_key(key, Change::to(on)),
            RawChange::Inc(key) => Request::of_key(key, Change::Inc),
            RawChange::Dec(key) => Request::of_key(key, Change::Dec),
            RawChange::Call(call, target) => call.request(target)?,
            RawChange::Mode(mode, number) => mode.change_to(number, 0),
            RawChange::For(stay, key, on) => {
                Request::new(patch::LentKey::of(key), Change::to(on) as usize | stay.bits())
            }
            RawChange::ModeFor(stay, mode, number) => mode.change_to(number, stay.bits()),
        })
    }))
}

/// [`Ops::set`](crate::Ops::set) without types, for the C API. `calls` are the table's static calls, with their targets. Calls no hooks.
///
/// # Errors
/// As [`Ops::set`](crate::Ops::set); [`Error::NoSuchMode`]; or the first error among the items.
///
/// # Safety
/// As for [`commit_all`].
#[doc(hidden)]
pub unsafe fn set_ops<'patchable, E: From<Error>>(
    ops: &'patchable RawOps,
    backend: usize,
    calls: impl IntoIterator<Item = Result<(&'patchable RawCall, usize), E>>,
) -> Result<Outcome, E> {
    let calls = calls.into_iter().map(|call| {
        let (call, target) = call?;
        Ok(call.request(target)?)
    });
    commit_each(core::iter::once(Ok(Request::new(ops, backend))).chain(calls))
}

fn commit_each<'patchable, E: From<Error>>(
    requests: impl Iterator<Item = Result<Request<'patchable>, E>>,
) -> Result<Outcome, E> {
    let mut refused = None;
    let mut requests = requests.map(|request| request.map_err(|error| refused = Some(error)).ok());
    let outcome = with_all(&mut requests, patch::commit);
    refused.map_or(outcome.map_err(E::from), Err)
}

/// Calls `run` with all requests. If there are none, or if one is `None`, does nothing. Neither the iterator nor the error of a request has a
/// type here, so that arrays of C's, of three sorts, and keys that are prepared have one copy of this.
fn with_all<'patchable>(
    requests: &mut dyn Iterator<Item = Option<Request<'patchable>>>,
    run: fn(&mut [Request<'patchable>]) -> Result<Outcome, Error>,
) -> Result<Outcome, Error> {
    let mut requests = requests.fuse();
    let Some(first) = requests.next().flatten() else { return Ok(Outcome::default()) };
    let (mut few, mut len) = ([first; 32], 1);
    for (place, request) in few[1..].iter_mut().zip(&mut requests) {
        let Some(request) = request else { return Ok(Outcome::default()) };
        *place = request;
        len += 1;
    }
    let Some(more) = requests.next() else { return run(&mut few[..len]) };
    let mut many = Owned::new(platform::platform());
    for request in few.into_iter().map(Some).chain([more]).chain(requests) {
        let Some(request) = request else { return Ok(Outcome::default()) };
        many.push(request)?;
    }
    run(many.list.as_mut_slice())
}
