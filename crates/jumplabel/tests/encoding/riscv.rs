//! RISC-V, of 64 and of 32 bits: decoded by raki.

use std::marker::PhantomData;
use std::ops::RangeInclusive;

use jumplabel_format::arch::{riscv32::Riscv32, riscv64::Riscv64};
use jumplabel_format::{CodeChange, Demand, Sites, StepBytes};
use raki::{BaseIOpcode, Decode, Isa, OpcodeKind};

use super::{Effect, Machine, Steps, assembled};

/// What differs.
trait Width: Sites {
    const BITS: u32;
    const ISA: Isa;
}

impl Width for Riscv32 {
    const BITS: u32 = 32;
    const ISA: Isa = Isa::Rv32;
}

impl Width for Riscv64 {
    const BITS: u32 = 64;
    const ISA: Isa = Isa::Rv64;
}

pub(super) struct Oracle<A>(PhantomData<A>);
pub(super) type Oracle32 = Oracle<Riscv32>;
pub(super) type Oracle64 = Oracle<Riscv64>;

impl<A: Width> Machine for Oracle<A> {
    type A = A;
    const LOADS: bool = true;
    const BITS: u32 = A::BITS;
    const UNIT: i64 = 2;
    const REACH: RangeInclusive<i32> = -0x10_0000..=0xf_fffe;
    const DISPLACEMENTS: &'static [i32] = &[-0x10_0000, -0xf_fffe, 0xf_fffe, -2, 0, 0x800, 0x5_5554];
    const BROKEN: &'static [Steps] = &[assembled::half::<Self>, assembled::elsewhere::<Self>];
    const BROKEN_NAKED: &'static [Steps] = &[two];

    fn effect(bytes: &[u8], displacement: i32) -> Result<Effect, String> {
        let wrong = |what: &str| Err(format!("{bytes:02x?} at displacement {displacement:#x} {what}"));
        let Ok(instruction) = u32::from_le_bytes(bytes.try_into().unwrap()).decode(A::ISA) else {
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

assembled::tests! { Oracle64, "riscv64-linux-gnu", "jal zero," }

/// The assembler for 32 bits makes the same jumps.
#[test]
fn as_the_assembler_for_32_bits_does() {
    assembled::compare::<Oracle32>("riscv32-unknown-elf", "jal zero,");
}
