//! z/Architecture: by the fields of the RIL-c format; the assembler of encoding/assembled.rs is what knows nothing of this
//! project.

use std::ops::RangeInclusive;

use jumplabel::arch::{Piece, SITE_SIZE, State};

use super::{Effect, Steps, assembled};

pub use super::assembled::{NAKED, STATES, effect_of, look_alike};

/// What displacements count from.
pub const ORIGIN: usize = 0;
pub const UNIT: i64 = 2;
pub const REACH: RangeInclusive<i32> = i32::MIN..=i32::MAX - 1;
pub const ENDS: bool = true;
pub const DISPLACEMENTS: [i32; 7] = [*REACH.start(), *REACH.start() + 2, *REACH.end(), -2, 0, 2, 0x5555_5554];
pub const BROKEN: [Steps; 2] = [sometimes, opcode_too];
pub const BROKEN_NAKED: [Steps; 2] = BROKEN;

/// As if one bit of the mask came late.
fn sometimes(_: u8, _: State, _: State, _: i32) -> Option<Piece> {
    Some(Piece { offset: 1, len: 1, bytes: [0x84, 0, 0, 0] })
}

/// As if a writer stored more than the mask.
fn opcode_too(_: u8, _: State, _: State, _: i32) -> Option<Piece> {
    Some(Piece { offset: 0, len: 2, bytes: [0xa7, 0xf4, 0, 0] })
}

/// The effect of `bytes`, or what is wrong with them.
pub fn effect(bytes: [u8; SITE_SIZE], displacement: i32) -> Result<Effect, String> {
    let [0xc0, second, a, b, c, d] = bytes else { return Err(format!("{bytes:02x?} is no brcl")) };
    let here = i64::from(i32::from_be_bytes([a, b, c, d])) * 2 == i64::from(displacement);
    match (second & 0xf, second >> 4) {
        (4, 0) => Ok(Effect::FallsThrough),
        (4, 15) if here => Ok(Effect::Jumps),
        _ => Err(format!("{bytes:02x?} at displacement {displacement:#x}")),
    }
}

assembled::jumps! { "brcl 15," }
