//! Several keys at once, all or nothing.

use crate::error::Error;
use crate::key::RawKey;
use crate::key::count::Change;
use crate::patch::{self, Outcome, Request};
use crate::text::{self, list::Owned};

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
/// All or nothing in the end: on an error nothing has changed; when `commit` returns `Ok`, every check takes the new arms.
/// While it runs, a thread may meet some sites in their new and others in their old state. Costs one core sync for the
/// whole batch, and three if pristine sites are among them. If a key is named twice, the last change wins.
///
/// A batch holds up to `N` changes in itself (32 unless told otherwise): nothing is allocated. [`set_all`] takes any number.
#[derive(Debug)]
#[must_use = "a batch does nothing until it is committed"]
pub struct Batch<'key, const N: usize = 32> {
    requests: [Option<Request<'key>>; N],
    len: usize,
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
        Batch { requests: [None; N], len: 0 }
    }

    /// Turns `key` on. If the batch is full, [`commit`](Self::commit) fails.
    pub const fn enable(self, key: &'key RawKey) -> Self {
        self.push(key, Change::Enable)
    }

    /// Turns `key` off.
    pub const fn disable(self, key: &'key RawKey) -> Self {
        self.push(key, Change::Disable)
    }

    /// Turns `key` on or off.
    pub const fn set(self, key: &'key RawKey, on: bool) -> Self {
        self.push(key, Change::to(on))
    }

    const fn push(mut self, key: &'key RawKey, change: Change) -> Self {
        if self.len < N {
            self.requests[self.len] = Some(Request::of_key(key, change));
        }
        self.len += 1;
        self
    }

    /// Carries the changes out.
    ///
    /// # Errors
    /// [`Error::BatchFull`]; otherwise as [`RawKey::enable`]. On any error, no key and no site has changed.
    pub fn commit(self) -> Result<Outcome, Error> {
        if self.len > N {
            return Err(Error::BatchFull { capacity: N });
        }
        // All slots up to `len` are filled; the rest is never looked at.
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
/// The list is made before the lock is taken: on the stack, and from the 33rd key on in memory of the platform, not of the
/// program's allocator. Safe in signal handlers, if the iterator is.
///
/// # Errors
/// [`Error::OutOfMemory`] where there is none for the list; otherwise as [`RawKey::enable`]. On any error, no key and no site has
/// changed.
pub fn set_all<'key>(keys: impl IntoIterator<Item = (&'key RawKey, bool)>) -> Result<Outcome, Error> {
    let mut requests = keys.into_iter().map(|(key, on)| Request::of_key(key, Change::to(on))).fuse();
    let Some(first) = requests.next() else { return Ok(Outcome::default()) };
    let (mut few, mut len) = ([first; 32], 1);
    for (place, request) in few[1..].iter_mut().zip(&mut requests) {
        *place = request;
        len += 1;
    }
    let Some(more) = requests.next() else { return patch::commit(&mut few[..len]) };
    let mut many = Owned::new(text::text());
    few.into_iter().chain([more]).chain(requests).try_for_each(|request| many.push(request))?;
    patch::commit(many.list.as_mut_slice())
}
