//! Tables of operations: tiny operations with a native instruction, and backends that can replace this instruction at run time (Linux: paravirt ops).
//!
//! ```text
//!   LOCK.set(Backend::Xen)       site, native             site, with a backend
//!                                lock inc dword ptr [rdi]  jmp stub     stub:  the backend's body, on the site's registers
//!                                ...                       ...                 jmp after the site
//! ```
//!
//! ```
//! use core::sync::atomic::{AtomicU32, Ordering};
//!
//! jumplabel::ops! {
//!     /// How events are counted.
//!     pub static COUNTER: Counting = { Plain, Silent, Twice };
//!
//!     /// Counts one event.
//!     ///
//!     /// # Safety
//!     /// `counter` is a number.
//!     pub unsafe fn count(counter: *const u32) {
//!         Plain => plain, x86_64 unsafe { "{{disp32}} lock inc dword ptr [{counter}]" };
//!         Silent => nothing;
//!         Twice => twice;
//!     }
//! }
//!
//! unsafe extern "C" fn plain(counter: *const u32) {
//!     unsafe { &*counter.cast::<AtomicU32>() }.fetch_add(1, Ordering::Relaxed);
//! }
//!
//! unsafe extern "C" fn twice(counter: *const u32) {
//!     unsafe { &*counter.cast::<AtomicU32>() }.fetch_add(2, Ordering::Relaxed);
//! }
//! ```

mod declare;
#[cfg(jumplabel_in_place)]
mod in_place;
#[doc(hidden)] // Public for the macros.
pub mod nothing;
mod rules;

use core::marker::PhantomData;

use crate::error::Error;
use crate::format::MODE;
use crate::key_record::declaration::Keys;
#[doc(hidden)]
pub use crate::patch::Request;
use crate::patch::{self, Outcome};
pub use crate::raw::ops::RawOps;
use crate::switch::{Declared, StaticMode};

/// A table of operations: all its operations use the same backend. Declare it with [`ops!`](crate::ops). 8 bytes.
#[repr(transparent)]
pub struct Ops<D> {
    mode: StaticMode<D>,
}

impl<D> Keys for Ops<D> {
    const COUNT: usize = 1;
    const STRIDE: usize = 0;
    const DEFAULT: bool = false;
    const WHAT: u32 = MODE;
}

/// A type that stands for one table of operations. [`ops!`](crate::ops) makes this type.
///
/// # Safety
/// `requests` passes only `table` and requests for the table's calls to `commit`.
#[doc(hidden)]
pub unsafe trait Table: Declared {
    const HOOKS: &'static [Hooks];
    fn requests(
        table: Request<'_>,
        backend: Self::Modes,
        commit: &mut dyn FnMut(&[Request<'_>]) -> Result<Outcome, Error>,
    ) -> Result<Outcome, Error>;
}

/// A type that stands for one operation.
///
/// # Safety
/// If `request` returns a request, it is for the operation's static call.
#[doc(hidden)]
pub unsafe trait Operation<B> {
    /// Makes the request that leads the operation's static call to the function of `backend`. Returns `None` for an operation in place: such an
    /// operation has no static call, and the table's own request changes its sites.
    fn request(backend: B) -> Option<Result<Request<'static>, Error>>;
}

/// A type that the arguments and the result of an operation in place can have. A function takes such a value in a general register, and assumes
/// nothing about the bits of the register outside the value. (Integers of 8 and 16 bits are not operands: the ABI of x86-64 does not say whether the
/// caller or the function extends them, and compilers differ.)
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no operand of an operation in place",
    label = "takes integers of 32 and 64 bits, and raw pointers",
    note = "convert it around the operation; or leave the templates out: a static call takes any type"
)]
pub trait Operand {}

macro_rules! operands {
    ($($type:ty)*) => { $(impl Operand for $type {})* };
}
operands! { i32 u32 i64 u64 isize usize }
impl<T> Operand for *const T {}
impl<T> Operand for *mut T {}

/// Whether `template` contains `{call}`, the label of the stub that calls the function of its arm (`else call`).
#[doc(hidden)]
#[must_use]
pub const fn names_call(template: &str) -> bool {
    let (text, word) = (template.as_bytes(), b"{call}");
    let mut from = 0;
    while from + word.len() <= text.len() {
        let mut same = 0;
        while same < word.len() && text[from + same] == word[same] {
            same += 1;
        }
        if same == word.len() {
            return true;
        }
        from += 1;
    }
    false
}

/// The hooks of a backend: functions that are called when the backend is set, and when threads start and end.
#[derive(Clone, Copy, Debug)]
pub struct Hooks {
    /// Called by [`Ops::set`] before anything changes (Linux: `xen_init_spinlocks`).
    pub init: Option<fn()>,
    /// Called by [`Ops::thread`] (Linux: `xen_init_lock_cpu`).
    pub thread_start: Option<fn()>,
    /// Called when the result of [`Ops::thread`] is dropped (Linux: `xen_uninit_lock_cpu`).
    pub thread_exit: Option<fn()>,
}

impl Hooks {
    /// No hooks.
    pub const NONE: Hooks = Hooks { init: None, thread_start: None, thread_exit: None };
}

impl<D: Table> Ops<D> {
    #[doc(hidden)]
    #[must_use]
    #[allow(clippy::new_without_default)] // `Default` is not const, and a table must be a static.
    pub const fn new() -> Self {
        Ops { mode: StaticMode::of(true) }
    }

    /// Returns the table without its type.
    #[must_use]
    pub const fn raw(&'static self) -> &'static RawOps {
        RawOps::of(self.mode.raw())
    }

    /// Switches all operations to `backend` in one transaction, all or nothing. Calls the backend's `init` first. If `backend` is already the current
    /// one, `set` looks at all objects, and switches those that were loaded later and still have another backend.
    ///
    /// Operations in place change whole instructions. So while other threads run, only the writer `remap` can make the change; before the second
    /// thread starts, any writer can. While a change is going on, threads use either the old backend or the new one for each operation. A thread can
    /// stay in an operation of the old backend as long as that operation takes. So each backend must be able to work with the state that the other
    /// one leaves.
    ///
    /// # Errors
    /// [`Error::MultiThreaded`] if other threads run and `remap` is refused; [`Error::UnfitOp`]; [`Error::Sealed`]; and every error of a transaction.
    /// On any error except [`Error::RollbackFailed`], nothing has changed, but `init` has run.
    pub fn set(&'static self, backend: D::Modes) -> Result<Outcome, Error> {
        if let Some(init) = Self::hooks(backend).init {
            init();
        }
        D::record();
        let table = Request::new(self.raw(), usize::from(crate::switch::Modes::index(backend)));
        D::requests(table, backend, &mut |requests| patch::commit(requests))
    }

    /// Switches all operations to the first backend of the declaration, like [`set`](Self::set).
    ///
    /// # Errors
    /// The errors of [`set`](Self::set).
    pub fn native(&'static self) -> Result<Outcome, Error> {
        self.set(Self::first())
    }

    /// Returns the current backend. Another thread can set the backend as soon as this returns, unless the caller prevents that.
    #[must_use]
    pub fn query(&self) -> D::Modes {
        self.mode.get()
    }

    /// Forbids all further changes. Idempotent.
    ///
    /// # Errors
    /// If the lock cannot be taken, the errors of [`RawKey::seal`](crate::RawKey::seal).
    pub fn seal(&self) -> Result<(), Error> {
        self.mode.seal()
    }

    /// Whether the table was sealed.
    #[must_use]
    pub fn is_sealed(&self) -> bool {
        self.mode.is_sealed()
    }

    /// Calls the current backend's hook for the start of a thread (`thread_start`). When the result is dropped, the backend's hook for the end of a
    /// thread is called (`thread_exit`). If a backend has these hooks, each thread calls `thread` before it uses the operations, and again after a
    /// change of the backend. Without hooks, `thread` costs a load.
    pub fn thread(&self) -> Thread {
        let hooks = Self::hooks(self.query());
        if let Some(start) = hooks.thread_start {
            start();
        }
        Thread { exit: hooks.thread_exit, own: PhantomData }
    }

    fn first() -> D::Modes {
        <D::Modes as crate::switch::Modes>::ALL[usize::from(D::DEFAULT)]
    }

    fn hooks(backend: D::Modes) -> Hooks {
        D::HOOKS.get(usize::from(crate::switch::Modes::index(backend))).copied().unwrap_or(Hooks::NONE)
    }
}

impl<D: Table> core::fmt::Debug for Ops<D> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Ops({:?})", self.query())
    }
}

/// The result of [`Ops::thread`]. When it is dropped, the backend's hook for the end of a thread is called.
#[derive(Debug)]
#[must_use = "the backend is told that the thread ends when this is dropped"]
pub struct Thread {
    exit: Option<fn()>,
    /// Keeps this value on the thread that made it.
    own: PhantomData<*mut ()>,
}

impl Drop for Thread {
    fn drop(&mut self) {
        if let Some(exit) = self.exit {
            exit();
        }
    }
}
