//! A32: decoded by yaxpeax, but for the nop, which it does not know (Arm ARM A8.8.119, encoding A1).

use std::ops::RangeInclusive;

use jumplabel_format::arch::arm::Arm;
use yaxpeax_arch::{Decoder, U8Reader};
use yaxpeax_arm::armv7::InstDecoder;

use super::{Effect, Machine, Steps, assembled};

pub(super) struct Oracle;

impl Machine for Oracle {
    type A = Arm;
    const ORIGIN: u64 = 8;
    const BITS: u32 = 32;
    const UNIT: i64 = 4;
    const REACH: RangeInclusive<i32> = -0x200_0000..=0x1ff_fffc;
    const DISPLACEMENTS: &'static [i32] = &[-0x200_0000, -0x1ff_fffc, 0x1ff_fffc, -4, 0, 4, 0x0155_5554];
    const BROKEN: &'static [Steps] = &[assembled::half::<Self>, assembled::elsewhere::<Self>];

    fn effect(bytes: &[u8], displacement: i32) -> Result<Effect, String> {
        let wrong = |what: &str| Err(format!("{bytes:02x?} at displacement {displacement:#x} {what}"));
        if bytes == 0xe320_f000_u32.to_le_bytes() {
            return Ok(Effect::FallsThrough);
        }
        let instruction = match InstDecoder::default().decode(&mut U8Reader::new(bytes)) {
            Ok(instruction) => instruction.to_string(),
            Err(error) => return wrong(&error.to_string()),
        };
        // From the site, as the decoder has it, which adds the 8 before it extends the sign: wrong for the last two words of the
        // reach, which the assembler is asked about too.
        let displacement = (displacement + Self::ORIGIN as i32) << 6 >> 6;
        let sign = if displacement < 0 { '-' } else { '+' };
        match &*instruction {
            jump if jump == format!("b ${sign}{:#x}", displacement.unsigned_abs()) => Ok(Effect::Jumps),
            other => wrong(other),
        }
    }
}

assembled::tests! { Oracle, "armv7a-linux-gnueabihf", "b #" }
