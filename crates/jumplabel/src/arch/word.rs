//! Sites of one word: an aligned 4-byte instruction that is a nop or a jump, replaced by one store. What the arch files of
//! such instruction sets have in common.
//!
//! ```text
//!  pristine   nop        falls through
//!  jump       b target   jumps
//! ```

use super::Piece;

/// What a site can hold, where there are two instructions only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum State {
    /// A nop. Falls through.
    Pristine,
    /// A jump.
    Jump,
}

impl State {
    /// The state that the compiler emits. A naked function has the same two: one return is behind the nop, and one where the
    /// jump leads.
    #[must_use]
    pub const fn emitted(_naked: bool, jump: bool) -> State {
        if jump { State::Jump } else { State::Pristine }
    }

    /// Whether a naked function, or any other site, can hold it.
    #[must_use]
    pub const fn is_of(self, _naked: bool) -> bool {
        true
    }

    /// Whether execution goes on behind the site.
    #[must_use]
    pub const fn falls_through(self) -> bool {
        matches!(self, State::Pristine)
    }

    /// The state to go to.
    #[must_use]
    pub const fn toward(self, jump: bool) -> State {
        State::emitted(false, jump)
    }

    /// A word for listings.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            State::Pristine => "nop",
            State::Jump => "jump",
        }
    }
}

/// `distance` from the site at `address`, if the site is a word and a jump can encode it: a signed number of `bits` bits, a
/// multiple of `unit`.
pub(super) const fn displacement(address: usize, distance: isize, bits: u32, unit: isize) -> Option<i32> {
    let reach = 1 << (bits - 1);
    let encodable = address.is_multiple_of(4) && distance % unit == 0 && -reach <= distance && distance < reach;
    if encodable { Some(distance as i32) } else { None }
}

/// The state of a site that holds `bytes`, of which `nop` and `jump` are all that it can hold.
pub(super) fn decode(bytes: [u8; 4], nop: [u8; 4], jump: [u8; 4]) -> Option<State> {
    match bytes {
        bytes if bytes == nop => Some(State::Pristine),
        bytes if bytes == jump => Some(State::Jump),
        _ => None,
    }
}

/// The one step: the whole word.
pub(super) fn step<State: PartialEq>(from: State, to: State, word: [u8; 4]) -> Option<Piece> {
    (from != to).then_some(Piece { offset: 0, len: 4, bytes: word })
}
