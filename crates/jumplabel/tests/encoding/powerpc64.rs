//! POWER: by the fields of Power ISA book I, 2.4 (I-form) and 3.3.12 (`ori`); the assembler of encoding/assembled.rs is what
//! knows nothing of this project.

use std::ops::RangeInclusive;

use jumplabel::arch::SITE_SIZE;

use super::{Effect, Steps, assembled};

pub use super::assembled::{NAKED, STATES, effect_of, look_alike};

/// What displacements count from.
pub const ORIGIN: usize = 0;
pub const UNIT: i64 = 4;
pub const REACH: RangeInclusive<i32> = -0x200_0000..=0x1ff_fffc;
pub const ENDS: bool = true;
pub const DISPLACEMENTS: [i32; 7] = [*REACH.start(), *REACH.start() + 4, *REACH.end(), -4, 0, 4, 0x0155_5554];
pub const BROKEN: [Steps; 2] = [assembled::half, assembled::elsewhere];
pub const BROKEN_NAKED: [Steps; 2] = BROKEN;

/// The effect of `bytes`, or what is wrong with them.
pub fn effect(bytes: [u8; SITE_SIZE], displacement: i32) -> Result<Effect, String> {
    let word = u32::from_le_bytes(bytes);
    let (opcode, absolute, link) = (word >> 26, word >> 1 & 1, word & 1);
    let distance = (word << 6) as i32 >> 6 & !3;
    match opcode {
        24 if word << 6 == 0 => Ok(Effect::FallsThrough),
        18 if absolute == 0 && link == 0 && distance == displacement => Ok(Effect::Jumps),
        _ => Err(format!("{word:08x} at displacement {displacement:#x}")),
    }
}

assembled::jumps! { "b .+" }
