//! No sites: a check is a load, a test and a jump (`cfg(jumplabel_fallback)`, Miri, instruction sets without a file).
//! The table is empty, so nothing here is ever asked to encode anything.

use super::Piece;

/// Bytes of a site.
pub const SITE_SIZE: usize = 1;

/// There are no sites, so no states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum State {
    /// Falls through.
    Pristine,
    /// Jumps.
    Jump,
}

impl State {
    /// Whether execution goes on behind the site.
    #[must_use]
    pub const fn falls_through(self) -> bool {
        matches!(self, State::Pristine)
    }

    /// The state to go to.
    #[must_use]
    pub const fn toward(self, jump: bool) -> State {
        if jump { State::Jump } else { State::Pristine }
    }

    /// A word for listings.
    #[must_use]
    pub const fn name(self) -> &'static str {
        "none"
    }
}

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

/// Nothing to run.
#[must_use]
#[allow(dead_code)]
pub(crate) const fn canary() -> bool {
    false
}

/// No canary.
#[must_use]
#[allow(dead_code)]
pub(crate) const fn canary_code() -> usize {
    0
}

/// No canary.
#[must_use]
#[allow(dead_code)]
pub(crate) const fn canary_target() -> usize {
    0
}
