//! RV64: a site is one aligned word. A thread that runs the site during a change fetches the whole old word or the whole new word. If compressed
//! instructions are on, the assembler aligns instructions to 2 bytes only, so the library's macros align each site to 4. (RISC-V unprivileged ISA:
//! 2.5.1, `JAL`; 3, "Zifencei".)
//!
//! ```text
//!  nop     13 00 00 00    addi x0, x0, 0
//!  jump    imm20 | 6f     jal x0, target    +-1 MiB
//!
//!  false   13 05 00 00    li a0, 0          the first of two instructions of a naked key's function; `jr t0` follows
//!  true    13 05 10 00    li a0, 1
//! ```
//!
//! A site and its other arm are in one function, so a mebibyte is far enough. If the arm is farther away, the first state decides what happens. If
//! the site starts as a jump, the assembler or linker reports an error. If the site starts as a nop, the first flip fails with `OutOfRange`. A jump
//! to a nearby stub, which jumps on to the arm, would help, but would cost each site a register.

use super::word;
use crate::kind::branch::Branch;
use crate::kind::jump::Jump;
use crate::kind::naked::Naked;
use crate::kind::op::{Fault, Op};
use crate::layout::NAKED;
use crate::{Arch, Code, State};

/// The instruction set.
#[derive(Clone, Copy, Debug)]
pub struct Riscv64;

impl Arch for Riscv64 {
    fn displacement(address: u64, target: u64) -> Option<i32> {
        word::displacement(address, target.wrapping_sub(address).cast_signed(), 21, 2)
    }
}

impl Branch for Riscv64 {
    fn encode(state: State, displacement: i32) -> Code {
        let bits = displacement as u32;
        let field = (bits & 0x10_0000) << 11 | (bits & 0x7fe) << 20 | (bits & 0x800) << 9 | bits & 0xf_f000;
        word::branch(state, 0x13, field | 0x6f)
    }
}

impl Jump for Riscv64 {}

impl Naked for Riscv64 {
    fn encode(state: State, _displacement: i32) -> Code {
        word::code(NAKED, if state == State::TRUE { 0x10_0513 } else { 0x513 })
    }
}

impl Op for Riscv64 {
    /// Checks whether `bytes` can be the instruction of a site, by the RISC-V unprivileged ISA, "RV32/64G Instruction Set Listings".
    fn examine(bytes: &[u8]) -> Result<(), Fault> {
        let word = word::of(bytes)?;
        let register = |bit: u32| word >> bit & 31;
        let [result, first, second] = [7, 15, 20].map(|bit| register(bit) == 2);
        let names_stack = match word & 0x7f {
            // Branches, `jal`, `jalr`.
            0x63 | 0x67 | 0x6f => return Err(Fault::Jumps),
            // `ecall`, `ebreak`, and the instructions that return from a trap.
            0x73 if matches!(word >> 7, 0 | 0x2000 | 0x4000 | 0x20_4000 | 0x60_4000 | 0xe0_4000 | 0xf6_4000) => {
                return Err(Fault::Jumps);
            }
            0x17 => return Err(Fault::Place),
            // `lui`.
            0x37 => result,
            // Loads, except to floating-point registers. Arithmetic with an immediate. `fence`, and instructions for cache lines.
            0x03 | 0x13 | 0x1b | 0x0f => result || first,
            0x07 => first,
            // Arithmetic on registers; atomics.
            0x33 | 0x3b | 0x2f => result || first || second,
            0x23 => first || second,
            0x27 => first,
            // Instructions for control registers. Bit 14 tells whether the operand is a register or an immediate.
            0x73 => result || word & 0x4000 == 0 && first,
            // Floating point. In some of these instructions the result or the operand is a general register.
            0x53 => match word >> 27 {
                0b10100 | 0b11000 | 0b11100 => result,
                0b11010 | 0b11110 => first,
                _ => false,
            },
            0x43 | 0x47 | 0x4b | 0x4f => false,
            _ => return Err(Fault::Length),
        };
        if names_stack { Err(Fault::Stack) } else { Ok(()) }
    }
}
