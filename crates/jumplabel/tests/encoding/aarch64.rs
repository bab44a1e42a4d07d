//! AArch64: decoded by yaxpeax.

use std::ops::RangeInclusive;

use jumplabel::arch::SITE_SIZE;
use yaxpeax_arch::{Decoder, U8Reader};
use yaxpeax_arm::armv8::a64::InstDecoder;

use super::{Effect, Steps, assembled};

pub use super::assembled::{NAKED, STATES, effect_of, look_alike};

/// What displacements count from.
pub const ORIGIN: usize = 0;
pub const UNIT: i64 = 4;
pub const REACH: RangeInclusive<i32> = -0x800_0000..=0x7ff_fffc;
pub const ENDS: bool = true;
pub const DISPLACEMENTS: [i32; 7] = [*REACH.start(), *REACH.start() + 4, *REACH.end(), -4, 0, 4, 0x0555_5554];
pub const BROKEN: [Steps; 2] = [assembled::half, assembled::elsewhere];

pub const BROKEN_NAKED: [Steps; 2] = BROKEN;

/// The effect of `bytes`, or what is wrong with them.
pub fn effect(bytes: [u8; SITE_SIZE], displacement: i32) -> Result<Effect, String> {
    let wrong = |what: &str| Err(format!("{bytes:02x?} at displacement {displacement:#x} {what}"));
    let instruction = match InstDecoder::default().decode(&mut U8Reader::new(&bytes)) {
        Ok(instruction) => instruction.to_string(),
        Err(error) => return wrong(&error.to_string()),
    };
    let sign = if displacement < 0 { '-' } else { '+' };
    match &*instruction {
        "nop" => Ok(Effect::FallsThrough),
        jump if jump == format!("b ${sign}{:#x}", displacement.unsigned_abs()) => Ok(Effect::Jumps),
        other => wrong(other),
    }
}

assembled::jumps! { "b" }
