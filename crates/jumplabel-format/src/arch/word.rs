//! Sites of one word: an aligned 4-byte instruction, a nop or a jump, which one store replaces. The encoders of such instruction sets share the
//! parts in this file. All these instruction sets store instructions in little endian.

use crate::kind::op::Fault;
use crate::layout::BRANCH;
use crate::{Code, State};

/// Returns `distance`, the distance of the target from the site at `address`, if a jump can encode it. Returns `None` if the site is not an
/// aligned word, or if the distance is not a multiple of `unit` or does not fit into a signed number of `bits` bits.
pub(crate) const fn displacement(address: u64, distance: i64, bits: u32, unit: i64) -> Option<i32> {
    let reach = 1 << (bits - 1);
    let encodable = address.is_multiple_of(4) && distance % unit == 0 && -reach <= distance && distance < reach;
    if encodable { Some(distance as i32) } else { None }
}

/// The bytes of a site that is one word.
pub(crate) const fn code(kind: u8, word: u32) -> Code {
    Code::new(kind, &word.to_le_bytes())
}

/// The bytes of a check's site in `state`.
pub(crate) fn branch(state: State, nop: u32, jump: u32) -> Code {
    code(BRANCH, if state == State::JUMP { jump } else { nop })
}

/// The instruction `bytes` of an operation in place, as a word. [`Fault::Length`] if it does not have four bytes.
pub(crate) fn of(bytes: &[u8]) -> Result<u32, Fault> {
    bytes.try_into().map(u32::from_le_bytes).map_err(|_| Fault::Length)
}
