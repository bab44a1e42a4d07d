//! No sites: a check is a load, a test and a jump (`cfg(jumplabel_fallback)`, Miri, instruction sets without a file).
//! The table is empty, so nothing here is ever asked to encode anything.

use super::word::State as Word;
use super::{Act, Caches, Piece};

/// Bytes of a site.
pub const SITE_SIZE: usize = 1;

/// Nothing is written.
pub const WHOLE: bool = false;

/// There are no sites, so no states.
pub type State = Word;

/// Never in reach.
#[must_use]
pub const fn displacement(_address: usize, _target: usize) -> Option<i32> {
    None
}

/// No bytes.
#[must_use]
pub const fn encode(_state: State, _displacement: i32) -> [u8; SITE_SIZE] {
    [0]
}

/// Foreign, whatever they are.
#[must_use]
pub const fn decode(_bytes: [u8; SITE_SIZE], _displacement: i32) -> Option<State> {
    None
}

/// No steps.
pub const STEPS: u8 = 1;

/// Nothing to write.
#[must_use]
pub const fn step(_step: u8, _from: State, _to: State, _displacement: i32) -> Option<Piece> {
    None
}

/// Nothing to undo.
#[must_use]
pub const fn undo(_step: u8, _from: State, _to: State, _displacement: i32) -> Option<Piece> {
    None
}

/// Nothing is stored.
#[must_use]
pub const fn caches() -> Caches {
    Caches::Coherent
}

/// Nothing to be done.
///
/// # Safety
/// None is needed.
pub const unsafe fn act(_: Act) {}
