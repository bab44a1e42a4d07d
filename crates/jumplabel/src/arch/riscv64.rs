//! RV64: one word, which any thread fetches whole, old or new, if it is aligned. With compressed instructions the assembler aligns to 2
//! bytes only, so a site aligns itself. (RISC-V unprivileged ISA: 2.5.1, `JAL`; 3, "Zifencei".)
//!
//! ```text
//!  nop     13 00 00 00    addi x0, x0, 0
//!  jump    imm20 | 6f     jal x0, target    +-1 MiB
//!
//!  false   13 05 00 00    li a0, 0          the first of two instructions of a naked key's function; `jr t0` follows
//!  true    13 05 10 00    li a0, 1
//! ```
//!
//! A site and its other arm are in one function, so a mebibyte is far. If the arm is farther away, a site that starts as a jump is an
//! error of the assembler or linker, and one that starts as a nop an `OutOfRange` at the first flip. A stub in reach would cost each
//! site a register.

use super::branch::Branch;
use super::jump::Jump;
use super::naked::Naked;
use super::op::Op;
use super::{Arch, Code, State, word};
use crate::format::NAKED;

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

impl Op for Riscv64 {}
