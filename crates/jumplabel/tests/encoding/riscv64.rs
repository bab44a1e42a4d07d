//! RV64: decoded by raki.

use std::ops::RangeInclusive;

use jumplabel::arch::{Piece, SITE_SIZE, State};
use raki::{BaseIOpcode, Decode, Isa, OpcodeKind};

use super::{Effect, Steps, assembled};

pub use super::assembled::{STATES, look_alike};

/// What displacements count from.
pub const ORIGIN: usize = 0;
pub const UNIT: i64 = 2;
pub const REACH: RangeInclusive<i32> = -0x10_0000..=0xf_fffe;
pub const ENDS: bool = true;
pub const DISPLACEMENTS: [i32; 7] = [*REACH.start(), *REACH.start() + 2, *REACH.end(), -2, 0, 0x800, 0x5_5554];
pub const BROKEN: [Steps; 2] = [assembled::half, assembled::elsewhere];

pub const NAKED: [State; 2] = [State::False, State::True];
pub const BROKEN_NAKED: [Steps; 1] = [two];

/// A naked function that returned another number for true.
fn two(_: u8, _: State, to: State, _: i32) -> Option<Piece> {
    let word: u32 = if to == State::True { 0x20_0513 } else { 0x513 };
    Some(Piece { offset: 0, len: 4, bytes: word.to_le_bytes() })
}

/// What a thread should do.
pub fn effect_of(state: State) -> Effect {
    match state {
        State::False => Effect::Loads(0),
        State::True => Effect::Loads(1),
        State::Pristine => Effect::FallsThrough,
        State::Jump => Effect::Jumps,
    }
}

/// The effect of `bytes`, or what is wrong with them.
pub fn effect(bytes: [u8; SITE_SIZE], displacement: i32) -> Result<Effect, String> {
    let wrong = |what: &str| Err(format!("{bytes:02x?} at displacement {displacement:#x} {what}"));
    let Ok(instruction) = u32::from_le_bytes(bytes).decode(Isa::Rv64) else { return wrong("is no instruction") };
    let (zero, immediate) = (instruction.rd == Some(0), instruction.imm);
    match instruction.opc {
        OpcodeKind::BaseI(BaseIOpcode::ADDI) if zero && instruction.rs1 == Some(0) && immediate == Some(0) => {
            Ok(Effect::FallsThrough)
        }
        OpcodeKind::BaseI(BaseIOpcode::ADDI) if instruction.rd == Some(10) && instruction.rs1 == Some(0) => {
            immediate.map(Effect::Loads).ok_or_else(|| instruction.to_string())
        }
        OpcodeKind::BaseI(BaseIOpcode::JAL) if zero && immediate == Some(displacement) => Ok(Effect::Jumps),
        _ => wrong(&instruction.to_string()),
    }
}

assembled::jumps! { ".option norvc\njal zero," }
