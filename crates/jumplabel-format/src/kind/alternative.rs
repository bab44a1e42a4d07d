//! Alternatives. The site of an alternative holds instructions of the program. If the processor has a feature, the site holds other instructions
//! instead, or a jump to them. Its kind is that of an operation in place ([`op`](super::op)), but there are two differences: the site can hold
//! several instructions, and its entry says how many bytes change. A thread can be between two instructions of the site, so the site must change
//! only while the process has a single thread.

use crate::Code;

/// Nops by their lengths. Each nop is one instruction (Intel SDM volume 2, `NOP`). The assembler pads sites with the same nops.
pub(crate) const NOPS: [&[u8]; 8] = [
    &[],
    &[0x90],
    &[0x66, 0x90],
    &[0x0f, 0x1f, 0x00],
    &[0x0f, 0x1f, 0x40, 0],
    &[0x0f, 0x1f, 0x44, 0, 0],
    &[0x66, 0x0f, 0x1f, 0x44, 0, 0],
    &[0x0f, 0x1f, 0x80, 0, 0, 0, 0],
];

/// How an instruction set makes the contents of alternatives' sites. Only x86-64 has alternatives.
pub trait Alternative {
    /// The first `size` bytes that a site at address `to` must hold, so that it does exactly what the instructions `bytes` at address
    /// `from` do. `None` if the decoder does not know one of these instructions, or if one of them works only at its own address.
    fn placed(bytes: &[u8], from: usize, to: usize, size: usize) -> Option<Code>;
}
