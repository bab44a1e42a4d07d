//! z/Architecture, decoded here by the fields of the RIL-c format. This decoder is our own. So encoding/assembled.rs compares the encodings with
//! those of an assembler, which knows nothing of this project.

use std::ops::RangeInclusive;

use jumplabel_format::{CodeChange, Demand, StepBytes, arch::s390x::S390x};

use super::{Effect, Machine, Steps, assembled};

pub(super) struct Oracle;

impl Machine for Oracle {
    type A = S390x;
    const UNIT: i64 = 2;
    const REACH: RangeInclusive<i32> = i32::MIN..=i32::MAX - 1;
    const DISPLACEMENTS: &'static [i32] = &[i32::MIN, i32::MIN + 2, i32::MAX - 1, -2, 0, 2, 0x5555_5554];
    const BROKEN: &'static [Steps] = &[sometimes, opcode_too];

    fn effect(bytes: &[u8], displacement: i32) -> Result<Effect, String> {
        let &[0xc0, second, a, b, c, d] = bytes else { return Err(format!("{bytes:02x?} is no brcl")) };
        let here = i64::from(i32::from_be_bytes([a, b, c, d])) * 2 == i64::from(displacement);
        match (second & 0xf, second >> 4) {
            (4, 0) => Ok(Effect::FallsThrough),
            (4, 15) if here => Ok(Effect::Jumps),
            _ => Err(format!("{bytes:02x?} at displacement {displacement:#x}")),
        }
    }
}

/// Writes as if one bit of the mask came late.
fn sometimes(_: u8, _: CodeChange) -> Option<StepBytes> {
    Some(StepBytes { offset: 1, len: 1, bytes: [0x84, 0, 0, 0, 0, 0, 0, 0], demand: Demand::Nothing })
}

/// Writes as if a writer stored the first byte of the opcode, too, and not only the byte with the mask.
fn opcode_too(_: u8, _: CodeChange) -> Option<StepBytes> {
    Some(StepBytes { offset: 0, len: 2, bytes: [0xa7, 0xf4, 0, 0, 0, 0, 0, 0], demand: Demand::Nothing })
}

assembled::tests! { Oracle, "s390x-linux-gnu", "brcl 15," }
