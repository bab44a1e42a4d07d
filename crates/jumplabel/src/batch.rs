//! Changes several keys, static calls and modes at once, all or nothing.

mod raw;

use core::fmt;
use core::mem::MaybeUninit;

use crate::error::Error;
use crate::key::RawKey;
use crate::patch::{self, Outcome, Request, Settable};
use crate::platform::notices::{By, PROGRAM};
use crate::platform::{self, list::Owned};
use crate::raw::count::Change;
pub use raw::{RawChange, Stay, commit_all, commit_all_by, set_ops};

/// A set of changes that one transaction carries out, all or nothing.
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
/// On any error except [`Error::RollbackFailed`], nothing has changed. When `commit` returns `Ok`, every check that starts later takes its new arm.
/// While `commit` runs, a thread can meet some sites in their new state and others in their old state. The whole batch costs one core sync, or three
/// if it changes pristine sites, static calls or modes. If a key is named twice, the last change wins.
///
/// A batch has room for `N` changes (32 by default), and allocates nothing. [`set_all`] takes any number of changes. A build without sites and
/// without `std` has no memory for more than 32 changes, and refuses more with [`Error::OutOfMemory`].
///
/// The functions that fill a batch are inlined, so that an optimised program fills the batch in place, and does not copy it.
#[must_use = "a batch does nothing until it is committed"]
pub struct Batch<'key, const N: usize = 32> {
    /// The changes. The first `len` of them are initialised.
    requests: [MaybeUninit<Request<'key>>; N],
    /// The number of changes. If this number is more than `N`, only the first `N` changes are in the list.
    len: usize,
    /// The error of the first change that could not become a request.
    error: Option<Error>,
}

impl Batch<'_> {
    /// An empty batch for up to 32 changes.
    #[allow(clippy::new_without_default)]
    #[inline(always)]
    pub const fn new() -> Self {
        Self::with_capacity()
    }
}

impl<'key, const N: usize> Batch<'key, N> {
    /// An empty batch for up to `N` changes: `Batch::<1024>::with_capacity()`.
    #[inline(always)]
    pub const fn with_capacity() -> Self {
        Batch { requests: [const { MaybeUninit::uninit() }; N], len: 0, error: None }
    }

    /// Turns `key` on. If the batch is full, [`commit`](Self::commit) fails.
    #[inline(always)]
    pub const fn enable(self, key: &'key RawKey) -> Self {
        self.push(Request::of_key(key, Change::Enable))
    }

    /// Turns `key` off.
    #[inline(always)]
    pub const fn disable(self, key: &'key RawKey) -> Self {
        self.push(Request::of_key(key, Change::Disable))
    }

    /// Sets `patchable` to `value`: turns a key on or off, leads a static call to a target, or changes a mode.
    #[inline(always)]
    pub fn set<S: Settable>(mut self, patchable: &'key S, value: S::Value) -> Self {
        match patchable.request(value) {
            Ok(request) => self.push(request),
            Err(error) => {
                self.error.get_or_insert(error);
                self
            }
        }
    }

    #[inline(always)]
    const fn push(mut self, request: Request<'key>) -> Self {
        if self.len < N {
            self.requests[self.len] = MaybeUninit::new(request);
        }
        self.len += 1;
        self
    }

    /// Carries out the changes.
    ///
    /// # Errors
    /// [`Error::BatchFull`]; and the errors of [`RawKey::enable`]. On any error except [`Error::RollbackFailed`], no key and no site has changed.
    #[inline(always)]
    pub fn commit(self) -> Result<Outcome, Error> {
        commit_listed(self.listed(), self.len, self.error)
    }

    /// The changes for which the batch had room.
    #[inline(always)]
    fn listed(&self) -> &[Request<'key>] {
        // SAFETY: `push` has initialised the first `len` elements or, if `len` is more than `N`, all elements.
        unsafe { initialised(&self.requests, self.len.min(N)) }
    }
}

impl<const N: usize> fmt::Debug for Batch<'_, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch").field("requests", &self.listed()).field("error", &self.error).finish_non_exhaustive()
    }
}

/// The first `len` elements of `list`.
///
/// # Safety
/// The first `len` elements are initialised.
#[inline(always)]
const unsafe fn initialised<'a, 'key>(list: &'a [MaybeUninit<Request<'key>>], len: usize) -> &'a [Request<'key>] {
    // SAFETY: the caller says that these elements are initialised. A `MaybeUninit` has the layout of its contents.
    unsafe { core::slice::from_raw_parts(list.as_ptr().cast(), len) }
}

/// [`Batch::commit`] for batches of all sizes. `wanted` is the number of all changes; `listed` are those for which there was room.
#[inline(never)]
fn commit_listed(listed: &[Request<'_>], wanted: usize, error: Option<Error>) -> Result<Outcome, Error> {
    match error {
        Some(error) => Err(error),
        None if wanted > listed.len() => Err(Error::BatchFull { capacity: listed.len() }),
        None if wanted == 0 => Ok(Outcome::default()),
        None => patch::commit(listed),
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
/// The function makes the list of changes before it takes the lock. A list of up to 32 keys (8 in a kernel) is on the stack. A longer list is in
/// memory from the platform; the function never calls the program's allocator. Safe in signal handlers, if the iterator is safe there.
///
/// # Errors
/// [`Error::OutOfMemory`] if there is no memory for the list; and the errors of [`RawKey::enable`]. On any error except [`Error::RollbackFailed`], no
/// key and no site has changed.
pub fn set_all<'key>(keys: impl IntoIterator<Item = (&'key RawKey, bool)>) -> Result<Outcome, Error> {
    commit_each(PROGRAM, keys.into_iter().map(|(key, on)| Ok(Request::of_key(key, Change::to(on)))))
}

/// Like [`prepare`](crate::prepare), but patches only sites of `keys`: those that load and should fall through. It patches all of these sites, or
/// none. [`Outcome::sites`] is the number of patched sites.
///
/// A library calls this for its own keys declared `or_load`, and leaves other keys to the program. A site that loads and should jump continues to
/// load until its key is flipped: see [`OrLoadKey`](crate::OrLoadKey).
///
/// Costs the same as [`prepare`](crate::prepare), and a flip of these sites. Safe in signal handlers, in constructors, and before and after
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
/// The same as for [`prepare`](crate::prepare) and [`set_all`]. On any error except [`Error::RollbackFailed`], nothing has changed.
pub fn prepare_keys<'key>(keys: impl IntoIterator<Item = &'key RawKey>) -> Result<Outcome, Error> {
    let mut requests = keys.into_iter().map(|key| Some(Request::of_key(key, Change::to(key.is_enabled()))));
    with_all(&mut requests, PROGRAM, |requests, _| patch::prepare_these(requests))
}

/// The largest number of changes in a list on the stack. In a kernel, stacks are small, and memory costs little.
const FEW: usize = if cfg!(all(target_os = "none", jumplabel_sites)) { 8 } else { 32 };

fn commit_each<'patchable, E: From<Error>>(
    by: By,
    requests: impl Iterator<Item = Result<Request<'patchable>, E>>,
) -> Result<Outcome, E> {
    let mut refused = None;
    let mut requests = requests.map(|request| request.map_err(|error| refused = Some(error)).ok());
    let outcome = with_all(&mut requests, by, patch::commit_by);
    refused.map_or(outcome.map_err(E::from), Err)
}

/// Calls `run` with all requests. Does nothing if there are none, or if one is `None`. The iterator is a trait object, so one copy of this code
/// serves all types of iterators: those of the C API, of `set_all` and of `prepare_keys`.
fn with_all<'patchable>(
    requests: &mut dyn Iterator<Item = Option<Request<'patchable>>>,
    by: By,
    run: fn(&[Request<'patchable>], By) -> Result<Outcome, Error>,
) -> Result<Outcome, Error> {
    let (mut few, mut len) = ([const { MaybeUninit::uninit() }; FEW], 0);
    let mut many = Owned::new(platform::platform());
    for request in requests {
        let Some(request) = request else { return Ok(Outcome::default()) };
        if let Some(place) = few.get_mut(len) {
            *place = MaybeUninit::new(request);
            len += 1;
            continue;
        }
        if many.list.is_empty() {
            // SAFETY: the loop has initialised all elements of `few`.
            unsafe { initialised(&few, FEW) }.iter().try_for_each(|few| many.push(*few))?;
        }
        many.push(request)?;
    }
    match len {
        0 => Ok(Outcome::default()),
        // SAFETY: the loop has initialised the first `len` elements.
        _ if many.list.is_empty() => run(unsafe { initialised(&few, len) }, by),
        _ => run(&many.list, by),
    }
}
