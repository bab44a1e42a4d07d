//! LoongArch, decoded here by the fields of the manual's volume 1, appendix B (`ANDI`, `B`). This decoder is our own. So encoding/assembled.rs
//! compares the encodings with those of an assembler, which knows nothing of this project.

use std::ops::RangeInclusive;

use jumplabel_format::arch::loongarch64::Loongarch64;

use super::{Effect, Machine, Steps, assembled};

pub(super) struct Oracle;

impl Machine for Oracle {
    type A = Loongarch64;
    const UNIT: i64 = 4;
    const REACH: RangeInclusive<i32> = -0x800_0000..=0x7ff_fffc;
    const DISPLACEMENTS: &'static [i32] = &[-0x800_0000, -0x7ff_fffc, 0x7ff_fffc, -4, 0, 4, 0x0555_5554];
    const BROKEN: &'static [Steps] = &[assembled::half::<Self>, assembled::elsewhere::<Self>];

    fn effect(bytes: &[u8], displacement: i32) -> Result<Effect, String> {
        let word = u32::from_le_bytes(bytes.try_into().unwrap());
        // ANDI: ten bits of opcode, ui12, rj, rd. Writes r0, which stays 0, whatever it reads; this one reads r0 and 0.
        let (andi, operands) = (word >> 22, word & 0x3f_ffff);
        // B: six bits of opcode, offs[15:0], offs[25:16], a number of words.
        let (branch, low, high) = (word >> 26, word >> 10 & 0xffff, word & 0x3ff);
        let words = i64::from(high << 16 | low) - if high >> 9 == 1 { 1 << 26 } else { 0 };
        match (andi, branch) {
            (0b00_0000_1101, _) if operands == 0 => Ok(Effect::FallsThrough),
            (_, 0b01_0100) if words * 4 == i64::from(displacement) => Ok(Effect::Jumps),
            _ => Err(format!("{word:08x} at displacement {displacement:#x}")),
        }
    }
}

assembled::tests! { Oracle, "loongarch64-linux-gnu", "b" }
