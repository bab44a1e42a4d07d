//! What an alternative holds: instructions of the program, or others in their place if the processor has a feature, or a jump to these. Its
//! site is like that of an operation in place ([`op`](super::op)), except that it may have several instructions, and that its entry says
//! how many bytes change. A thread may be between two instructions, so the site may change only while there is one thread.

use crate::Code;

/// Nops by their lengths, each one instruction (Intel SDM volume 2, `NOP`). What pads a site in the assembler is the same.
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

/// An instruction set's alternatives: those of x86-64.
pub trait Alternative {
    /// What the first `size` bytes of a site at `to` have to be, so that it does what the instructions at `from` do and nothing else. `None`
    /// if one of them is not known, or works only where it is.
    fn placed(bytes: &[u8], from: usize, to: usize, size: usize) -> Option<Code>;
}
