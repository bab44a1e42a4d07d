//! The form of an x86-64 instruction, by its opcode: the parts after the opcode, and whether the instruction is unfit for an operation (Intel SDM
//! volume 2, appendix A).

use crate::kind::op::Fault;

/// The parts of an instruction after its opcode.
#[derive(Clone, Copy, PartialEq)]
pub enum Form {
    /// Only an immediate operand of this many bytes, or nothing.
    Plain(u8),
    /// A ModRM byte with the bytes that it asks for, and an immediate operand of this many bytes.
    Memory(u8),
    /// The displacement of a jump, of this many bytes.
    Relative(u8),
    /// Parts that the decoder does not read. Such an instruction is always refused.
    Unknown,
}
use Form::{Memory, Plain, Relative, Unknown};

/// The form of an instruction, and the reason why the instruction is unfit for an operation; `None` if it is fit.
pub type Unfit = (Form, Option<Fault>);

pub const fn fit(form: Form) -> Unfit {
    (form, None)
}

pub const fn jumps(form: Form) -> Unfit {
    (form, Some(Fault::Jumps))
}

pub const fn stack(form: Form) -> Unfit {
    (form, Some(Fault::Stack))
}

/// The form of an instruction whose opcode is one byte. `word` is the length of an immediate operand that is as long as the other operands.
pub fn of_first_map(opcode: u8, word: u8) -> Unfit {
    match opcode {
        0x00..=0x3f => fit(match opcode & 7 {
            0..=3 => Memory(0),
            4 => Plain(1),
            5 => Plain(word),
            _ => Unknown,
        }),
        0x50..=0x5f | 0x9c | 0x9d | 0xc9 => stack(Plain(0)),
        0x68 => stack(Plain(word)),
        0x6a => stack(Plain(1)),
        0x8f => stack(Memory(0)),
        0xc8 => stack(Plain(3)),
        0x70..=0x7f | 0xe0..=0xe3 | 0xeb => jumps(Relative(1)),
        0xe8 | 0xe9 => jumps(Relative(4)),
        0xc2 | 0xca => jumps(Plain(2)),
        0xc3 | 0xcb | 0xcc | 0xcf | 0xf1 | 0xf4 => jumps(Plain(0)),
        0xcd => jumps(Plain(1)),
        0xce => jumps(Unknown),
        0x63 | 0x84..=0x8e | 0xd0..=0xd3 | 0xd8..=0xdf | 0xfe | 0xff => fit(Memory(0)),
        0x69 | 0x81 | 0xc7 => fit(Memory(word)),
        0x6b | 0x80 | 0x83 | 0xc0 | 0xc1 | 0xc6 => fit(Memory(1)),
        0x6c..=0x6f
        | 0x90..=0x99
        | 0x9b
        | 0x9e
        | 0x9f
        | 0xa4..=0xa7
        | 0xaa..=0xaf
        | 0xd7
        | 0xec..=0xef
        | 0xf5
        | 0xf8..=0xfd => fit(Plain(0)),
        0xa8 | 0xb0..=0xb7 | 0xe4..=0xe7 => fit(Plain(1)),
        0xa9 | 0xb8..=0xbf => fit(Plain(word)),
        0xa0..=0xa3 => fit(Plain(8)),
        // In 64-bit mode, all other opcodes are not instructions.
        _ => fit(Unknown),
    }
}

/// The form of an instruction whose opcode is 0f and `opcode`.
pub fn of_second_map(opcode: u8) -> Unfit {
    match opcode {
        0x05 | 0x07 | 0x0b | 0x34 | 0x35 | 0xaa => jumps(Plain(0)),
        0x80..=0x8f => jumps(Relative(4)),
        0xb9 | 0xff => jumps(Memory(0)),
        0xa0 | 0xa1 | 0xa8 | 0xa9 => stack(Plain(0)),
        0x06 | 0x08 | 0x09 | 0x0e | 0x30..=0x33 | 0x37 | 0x77 | 0xa2 | 0xc8..=0xcf => fit(Plain(0)),
        0x70..=0x73 | 0xa4 | 0xac | 0xba | 0xc2 | 0xc4..=0xc6 => fit(Memory(1)),
        _ => fit(Memory(0)),
    }
}
