//! RV64: decoded by raki.

use std::ops::RangeInclusive;

use jumplabel_format::{CodeChange, Demand, StepBytes, arch::riscv64::Riscv64};
use raki::{BaseIOpcode, Decode, Isa, OpcodeKind};

use super::{Effect, Machine, Steps, assembled};

pub(super) struct Oracle;

impl Machine for Oracle {
    type A = Riscv64;
    const LOADS: bool = true;
    const UNIT: i64 = 2;
    const REACH: RangeInclusive<i32> = -0x10_0000..=0xf_fffe;
    const DISPLACEMENTS: &'static [i32] = &[-0x10_0000, -0xf_fffe, 0xf_fffe, -2, 0, 0x800, 0x5_5554];
    const BROKEN: &'static [Steps] = &[assembled::half::<Self>, assembled::elsewhere::<Self>];
    const BROKEN_NAKED: &'static [Steps] = &[two];

    fn effect(bytes: &[u8], displacement: i32) -> Result<Effect, String> {
        let wrong = |what: &str| Err(format!("{bytes:02x?} at displacement {displacement:#x} {what}"));
        let Ok(instruction) = u32::from_le_bytes(bytes.try_into().unwrap()).decode(Isa::Rv64) else {
            return wrong("is no instruction");
        };
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
}

/// A broken twin: a naked function that returns another number for true.
fn two(_: u8, change: CodeChange) -> Option<StepBytes> {
    let returns_true = change.new[2] != 0;
    let [a, b, c, d] = if returns_true { 0x20_0513_u32 } else { 0x513 }.to_le_bytes();
    Some(StepBytes { offset: 0, len: 4, bytes: [a, b, c, d, 0, 0, 0, 0], demand: Demand::SingleStore })
}

assembled::tests! { Oracle, "riscv64-linux-gnu", "jal zero," }
