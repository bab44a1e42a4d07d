//! POWER, decoded here by the fields of Power ISA book I, 2.4 (I-form) and 3.3.12 (`ori`). This decoder is our own. So encoding/assembled.rs
//! compares the encodings with those of an assembler, which knows nothing of this project.

use std::ops::RangeInclusive;

use jumplabel_format::arch::powerpc64::Powerpc64;

use super::{Effect, Machine, Steps, assembled};

pub(super) struct Oracle;

impl Machine for Oracle {
    type A = Powerpc64;
    const UNIT: i64 = 4;
    const REACH: RangeInclusive<i32> = -0x200_0000..=0x1ff_fffc;
    const DISPLACEMENTS: &'static [i32] = &[-0x200_0000, -0x1ff_fffc, 0x1ff_fffc, -4, 0, 4, 0x0155_5554];
    const BROKEN: &'static [Steps] = &[assembled::half::<Self>, assembled::elsewhere::<Self>];

    fn effect(bytes: &[u8], displacement: i32) -> Result<Effect, String> {
        let word = u32::from_le_bytes(bytes.try_into().unwrap());
        let (opcode, absolute, link) = (word >> 26, word >> 1 & 1, word & 1);
        let distance = (word << 6) as i32 >> 6 & !3;
        match opcode {
            24 if word << 6 == 0 => Ok(Effect::FallsThrough),
            18 if absolute == 0 && link == 0 && distance == displacement => Ok(Effect::Jumps),
            _ => Err(format!("{word:08x} at displacement {displacement:#x}")),
        }
    }
}

assembled::tests! { Oracle, "powerpc64le-linux-gnu", "b .+" }
