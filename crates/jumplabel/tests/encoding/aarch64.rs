//! AArch64: decoded by yaxpeax.

use std::ops::RangeInclusive;

use jumplabel_format::arch::aarch64::Aarch64;
use yaxpeax_arch::{Decoder, U8Reader};
use yaxpeax_arm::armv8::a64::InstDecoder;

use super::{Effect, Machine, Steps, assembled};

pub(super) struct Oracle;

impl Machine for Oracle {
    type A = Aarch64;
    const UNIT: i64 = 4;
    const REACH: RangeInclusive<i32> = -0x800_0000..=0x7ff_fffc;
    const DISPLACEMENTS: &'static [i32] = &[-0x800_0000, -0x7ff_fffc, 0x7ff_fffc, -4, 0, 4, 0x0555_5554];
    const BROKEN: &'static [Steps] = &[assembled::half::<Self>, assembled::elsewhere::<Self>];

    fn effect(bytes: &[u8], displacement: i32) -> Result<Effect, String> {
        let wrong = |what: &str| Err(format!("{bytes:02x?} at displacement {displacement:#x} {what}"));
        let instruction = match InstDecoder::default().decode(&mut U8Reader::new(bytes)) {
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
}

assembled::tests! { Oracle, "aarch64-linux-gnu", "b" }
