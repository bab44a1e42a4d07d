//! LoongArch, 64 bits: a site is one aligned word.
//!
//! ```text
//!  nop    00 00 40 03          andi $zero, $zero, 0
//!  jump   14 | lo16 | hi10     b target    +-128 MiB
//! ```
//!
//! The manual (LoongArch Reference Manual, volume 1) says that hardware keeps instruction caches coherent with stores of other processors
//! (2.1.7.1), and that a fetch after `IBAR` sees all stores before the `IBAR` (2.2.8.2). The manual does not say what happens if a thread
//! runs a word while another thread stores it. Linux's own jump labels assume that the thread runs the old or the new word, for this nop
//! and this `b`. So the function of a naked key has a site with the same two instructions, and no instruction whose immediate changes.

use super::word;
use crate::kind::branch::Branch;
use crate::kind::jump::Jump;
use crate::kind::naked::Naked;
use crate::kind::op::Op;
use crate::{Arch, Code, State};

/// The instruction set.
#[derive(Clone, Copy, Debug)]
pub struct Loongarch64;

impl Arch for Loongarch64 {
    fn displacement(address: u64, target: u64) -> Option<i32> {
        word::displacement(address, target.wrapping_sub(address).cast_signed(), 28, 4)
    }
}

impl Branch for Loongarch64 {
    fn encode(state: State, displacement: i32) -> Code {
        let words = displacement as u32 >> 2;
        word::branch(state, 0x0340_0000, 0x5000_0000 | (words & 0xffff) << 10 | words >> 16 & 0x3ff)
    }
}

impl Jump for Loongarch64 {}

impl Naked for Loongarch64 {}

impl Op for Loongarch64 {}
