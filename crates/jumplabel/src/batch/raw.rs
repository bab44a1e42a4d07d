//! Changes without types, for the C API and for requests of operators.

use super::commit_each;
use crate::call::RawCall;
use crate::error::Error;
use crate::key::RawKey;
use crate::notify::AskedBy;
use crate::ops::RawOps;
use crate::patch::{self, Outcome, Request};
use crate::platform::notices::PROGRAM;
use crate::raw::count::Change;
use crate::switch::RawMode;

/// A change without types, for the C API and for requests of operators.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub enum RawChange<'patchable> {
    Key(&'patchable RawKey, bool),
    Inc(&'patchable RawKey),
    Dec(&'patchable RawKey),
    Call(&'patchable RawCall, usize),
    Mode(&'patchable RawMode, usize),
    /// A change of a key for a while, or the end of such a change. If the program has set the key in between, the end changes nothing.
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

/// Like [`set_all`], for keys, static calls and modes. Reads all items before it changes anything, so if an item is an error, nothing changes.
///
/// # Errors
/// The errors of [`set_all`]; [`Error::NoSuchMode`]; or the first error among the items.
///
/// # Safety
/// The number beside a [`RawCall`] is the address of a function of the call's type, or 0 for the call's default.
#[doc(hidden)]
pub unsafe fn commit_all<'patchable, E: From<Error>>(
    changes: impl IntoIterator<Item = Result<RawChange<'patchable>, E>>,
) -> Result<Outcome, E> {
    // SAFETY: the caller says that each number beside a call is the address of a function of the call's type, or 0.
    unsafe { commit_all_by(AskedBy::Program, changes) }
}

/// Like [`commit_all`]. The caller says who asks for the change.
///
/// # Errors
/// The errors of [`commit_all`].
///
/// # Safety
/// The contract of [`commit_all`].
#[doc(hidden)]
pub unsafe fn commit_all_by<'patchable, E: From<Error>>(
    by: AskedBy,
    changes: impl IntoIterator<Item = Result<RawChange<'patchable>, E>>,
) -> Result<Outcome, E> {
    commit_each(
        by.numbers(),
        changes.into_iter().map(|change| {
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
        }),
    )
}

/// [`Ops::set`](crate::Ops::set) without types, for the C API. `calls` are the table's static calls, with the targets that they get. Calls no
/// hooks.
///
/// # Errors
/// The errors of [`Ops::set`](crate::Ops::set); [`Error::NoSuchMode`]; or the first error among the items.
///
/// # Safety
/// The contract of [`commit_all`].
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
    commit_each(PROGRAM, core::iter::once(Ok(Request::new(ops, backend))).chain(calls))
}
