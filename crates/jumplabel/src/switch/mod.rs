//! N-way switches: a choice among arms at run time, for the price of one jump.
//!
//! ```text
//!   static_switch!(MODE, { Fast => a, Checked => b })
//!
//!          site:  jmp a            ◄── set(Checked): jmp b
//!                 jmp stub         only on x86 and s390x: a thread comes here while the first jump is being changed
//!          stub:  if MODE is Fast, jmp a; if MODE is Checked, jmp b; else jmp stub
//! ```
//!
//! ```
//! use jumplabel::{modes, static_mode, static_switch};
//!
//! modes! {
//!     /// How much is checked.
//!     pub enum Mode { Fast, Checked, Traced }
//! }
//!
//! static_mode! {
//!     /// Of all requests.
//!     pub static MODE: Mode = Fast;
//! }
//!
//! fn answer(request: u32) -> u32 {
//!     static_switch!(MODE, {
//!         Fast => request + 1,
//!         Checked => request.checked_add(1).unwrap_or(0),
//!         Traced => {
//!             eprintln!("{request}");
//!             request + 1
//!         },
//!     })
//! }
//!
//! assert_eq!(answer(1), 2);
//! MODE.set(Mode::Checked)?;
//! assert_eq!(answer(u32::MAX), 0);
//! # Ok::<(), jumplabel::Error>(())
//! ```

mod declare;
pub(crate) mod info;

use core::marker::PhantomData;

use crate::error::Error;
use crate::format::MODE;
use crate::key_record::declaration::Keys;
use crate::patch::{self, Lock, Outcome, Request, Settable};
pub use crate::raw::mode::RawMode;

/// An enum whose variants are the modes of a static mode. Declare it with [`modes!`](crate::modes).
///
/// # Safety
/// `ALL` has each variant once, in the order of the discriminants. The discriminants count from 0.
pub unsafe trait Modes: Copy + Eq + core::fmt::Debug + 'static {
    /// All modes.
    const ALL: &'static [Self];

    /// Returns the number of the mode: its index in `ALL`.
    fn index(self) -> u8;
}

/// A type that stands for one static mode or one table of operations. [`static_mode!`](crate::static_mode) and [`ops!`](crate::ops!) make this type.
///
/// # Safety
/// `DEFAULT` is the number of one of the modes.
#[doc(hidden)]
pub unsafe trait Declared: 'static {
    type Modes: Modes;
    const DEFAULT: u8;
    /// Does nothing. But the record in `__jump_keys` belongs to this function, so a call of this function makes the linker keep the record.
    fn record();
}

/// Returns the number of modes of the enum. Does not compile unless this number is from 2 to 255.
#[doc(hidden)]
#[must_use]
pub const fn count_of<M: Modes>() -> u8 {
    let count = M::ALL.len();
    assert!(
        count >= 2 && count <= 255,
        "a switch is among 2 modes at least, a table has 2 backends at least, and each 255 at most"
    );
    count as u8
}

/// A variable that holds one of a few modes. Each [`static_switch!`](crate::static_switch) of this variable jumps to the arm of that mode. Declare it
/// with [`static_mode!`](crate::static_mode). 8 bytes.
#[repr(transparent)]
pub struct StaticMode<D> {
    raw: RawMode,
    declared: PhantomData<fn() -> D>,
}

impl<D: Declared> Settable for StaticMode<D> {
    type Value = D::Modes;
    fn request(&self, mode: D::Modes) -> Result<Request<'_>, Error> {
        D::record();
        Ok(Request::new(&self.raw, usize::from(mode.index())))
    }
}

impl<D> Keys for StaticMode<D> {
    const COUNT: usize = 1;
    const STRIDE: usize = 0;
    const DEFAULT: bool = false;
    const WHAT: u32 = MODE;
}

impl<D: Declared> StaticMode<D> {
    /// Makes the static mode of the static for which [`static_mode!`](crate::static_mode) made the type `D`. The static mode holds its default.
    #[doc(hidden)]
    #[must_use]
    #[allow(clippy::new_without_default)] // `Default` is not const, and a mode must be a static.
    pub const fn new() -> Self {
        Self::of(false)
    }

    pub(crate) const fn of(is_table: bool) -> Self {
        StaticMode { raw: RawMode::new(D::DEFAULT, const { count_of::<D::Modes>() }, is_table), declared: PhantomData }
    }

    /// Returns the mode without its type.
    #[must_use]
    pub const fn raw(&'static self) -> &'static RawMode {
        &self.raw
    }

    /// Returns the current mode. Costs a load. Another thread can set the mode as soon as this returns, unless the caller prevents that. While
    /// [`set`](Self::set) runs, `get` returns the mode before the change.
    #[must_use]
    #[inline]
    pub fn get(&self) -> D::Modes {
        // SAFETY: the number is below the number of modes: `Declared` demands that of the default, and a change to any other number is refused
        // (`Error::NoSuchMode`).
        unsafe { *D::Modes::ALL.get_unchecked(usize::from(self.raw.get())) }
    }

    /// Makes all switches of this static mode take the arm of `mode` from now on. If `mode` is already the current mode, `set` only looks at the
    /// switches, and repairs each switch that something outside the library has changed.
    ///
    /// When `set` returns, every switch that starts later, on any thread, takes that arm. (If the system refuses core sync, this holds only a little
    /// later; the outcome then says [`Visibility::Eventual`](crate::Visibility::Eventual).) While `set` runs, each switch takes the old arm or the
    /// new one. Costs as much as the first flip of a key. Blocks while another thread flips. Safe in signal handlers, inside an arm, and before and
    /// after `fork`.
    ///
    /// # Errors
    /// [`Error::Sealed`], and every error of a transaction. [`Error::OutOfRange`] if an instruction at a switch cannot reach an arm (RISC-V: 1 MiB).
    /// On any error except [`Error::RollbackFailed`], nothing has changed. But switches that ran during the call may have taken the new arm.
    pub fn set(&self, mode: D::Modes) -> Result<Outcome, Error> {
        patch::commit(&[self.request(mode)?])
    }

    /// [`set`](Self::set) for a caller that holds the lock.
    ///
    /// # Errors
    /// The errors of [`set`](Self::set).
    pub fn set_locked(&'static self, mode: D::Modes, lock: &mut Lock) -> Result<Outcome, Error> {
        patch::commit_locked(&[self.request(mode)?], lock)
    }

    /// Forbids all further changes. Idempotent.
    ///
    /// # Errors
    /// If the lock cannot be taken, the errors of [`RawKey::seal`](crate::RawKey::seal).
    pub fn seal(&self) -> Result<(), Error> {
        self.raw.seal()
    }

    /// Whether the mode was sealed.
    #[must_use]
    pub fn is_sealed(&self) -> bool {
        self.raw.is_sealed()
    }
}

impl RawMode {
    /// Sets the mode to number `mode`: [`StaticMode::set`] for a mode whose type is not known.
    ///
    /// # Errors
    /// [`Error::NoSuchMode`], [`Error::IsTable`], and the errors of [`StaticMode::set`].
    pub fn set(&self, mode: usize) -> Result<Outcome, Error> {
        patch::commit(&[self.change_to(mode, 0)])
    }

    /// Makes the request to set the mode with this number. `stay` is 0, [`patch::LENT`] (a change for a while begins) or [`patch::RETURNED`] (it
    /// ends). A number that is too large becomes 255, which no mode has.
    pub(crate) fn change_to(&self, mode: usize, stay: usize) -> Request<'_> {
        Request::new(self, mode.min(u8::MAX.into()) | stay)
    }

    /// Forbids all further changes: [`StaticMode::seal`] for a mode whose type is not known.
    ///
    /// # Errors
    /// The errors of [`StaticMode::seal`].
    pub fn seal(&self) -> Result<(), Error> {
        let _lock = Lock::take()?;
        self.set_sealed();
        Ok(())
    }
}

impl<D: Declared> core::fmt::Debug for StaticMode<D> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "StaticMode({:?})", self.get())
    }
}
