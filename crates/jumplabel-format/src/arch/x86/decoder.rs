//! A decoder of the x86-64 instructions that the sites of operations and alternatives can hold. It finds the length of an instruction, the part
//! that is relative to the instruction's own place, and anything that makes the instruction unfit for an operation (Intel SDM volume 2, chapter
//! 2 and appendix A).
//!
//! ```text
//!   prefixes                              Reader::behind_prefixes
//!   opcode; VEX or EVEX with it           Reader::form
//!   ModRM byte, SIB byte, displacement    Reader::memory; displacement of a jump: Reader::jump
//!   immediate operand                     Reader::end
//! ```

use crate::kind::op::Fault;

/// The length of the longest instruction, in bytes.
pub const MAX: usize = 15;

/// The decoder's findings about one instruction.
pub struct Instruction {
    pub len: usize,
    /// The offset of the instruction's four-byte displacement that counts from the end of the instruction, if it has one.
    relative: Option<usize>,
    /// The one-byte displacement of a short jump, if the instruction is one. It also counts from the end of the instruction.
    pub short: Option<i8>,
    /// The reason why the instruction is unfit for an operation, if there is one.
    pub fault: Option<Fault>,
}

/// The parts of an instruction after its opcode.
#[derive(Clone, Copy, PartialEq)]
enum Form {
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
type Unfit = (Form, Option<Fault>);

const fn fit(form: Form) -> Unfit {
    (form, None)
}

const fn jumps(form: Form) -> Unfit {
    (form, Some(Fault::Jumps))
}

const fn stack(form: Form) -> Unfit {
    (form, Some(Fault::Stack))
}

impl Instruction {
    /// Decodes the first instruction in `bytes`.
    pub fn of(bytes: &[u8]) -> Result<Instruction, Fault> {
        let mut reader = Reader::behind_prefixes(bytes)?;
        let opcode = reader.byte()?;
        let (form, fault) = reader.form(opcode)?;
        match form {
            Plain(immediate) => Ok(reader.end(immediate, fault)),
            Memory(immediate) => reader.memory(opcode, immediate, fault),
            // A jump with the prefix 66 (operands of two bytes) is refused: processors disagree about the length of its displacement.
            Relative(bytes) if !reader.is_short => reader.jump(bytes, fault),
            Relative(_) | Unknown => Err(fault.unwrap_or(Fault::Length)),
        }
    }

    /// Adjusts the four-byte displacement in `bytes`, which are this instruction's bytes, so that they mean the same at an address that is lower by
    /// `by`. Returns false if the displacement cannot hold the new distance. Within one object, it always can.
    pub fn shift(&self, bytes: &mut [u8], by: usize) -> bool {
        let Some(place) = self.relative.and_then(|at| bytes.get_mut(at..at + 4)) else { return true };
        let distance = place.iter().rev().fold(0_u32, |word, byte| word << 8 | u32::from(*byte)).cast_signed();
        let there = i64::from(distance).wrapping_add(by.cast_signed() as i64);
        place.copy_from_slice(&(there as i32).to_le_bytes());
        i64::from(there as i32) == there
    }
}

/// Reads the bytes of an instruction, in order.
struct Reader<'bytes> {
    bytes: &'bytes [u8],
    /// The offset of the next byte to read.
    next: usize,
    /// The prefix REX, or 0. After a prefix VEX or EVEX: its bits that mean the same as those of REX.
    rex: u8,
    /// Whether REX gives the operands eight bytes.
    is_wide: bool,
    /// Whether the prefix 66 gives the operands two bytes.
    is_short: bool,
}

impl<'bytes> Reader<'bytes> {
    /// Returns a reader that has already read the prefixes in front of the opcode.
    fn behind_prefixes(bytes: &'bytes [u8]) -> Result<Reader<'bytes>, Fault> {
        let mut reader = Reader { bytes, next: 0, rex: 0, is_wide: false, is_short: false };
        while let prefix @ (0x26 | 0x2e | 0x36 | 0x3e | 0x64..=0x67 | 0xf0 | 0xf2 | 0xf3) = reader.peek()? {
            reader.is_short |= prefix == 0x66;
            reader.next += 1;
        }
        if let prefix @ 0x40..=0x4f = reader.peek()? {
            (reader.rex, reader.is_wide) = (prefix, prefix & 8 != 0);
            reader.next += 1;
        }
        Ok(reader)
    }

    fn peek(&self) -> Result<u8, Fault> {
        self.bytes.get(self.next).copied().ok_or(Fault::Length)
    }

    fn byte(&mut self) -> Result<u8, Fault> {
        let byte = self.peek()?;
        self.next += 1;
        Ok(byte)
    }

    /// The field `reg` of the next byte, which must be a ModRM byte. The field names a register, or holds three more bits of the opcode.
    fn reg(&self) -> Result<u8, Fault> {
        self.peek().map(|modrm| modrm >> 3 & 7)
    }

    /// Returns the form of an instruction whose first opcode byte is `opcode`. Reads the rest of the opcode.
    fn form(&mut self, opcode: u8) -> Result<Unfit, Fault> {
        let word = if self.is_short && !self.is_wide { 2 } else { 4 };
        Ok(match opcode {
            0x0f => self.escaped()?,
            0xc4 | 0xc5 => self.vex(opcode)?,
            0x62 => self.evex()?,
            0xf6 => fit(Memory(u8::from(self.reg()? < 2))),
            0xf7 => fit(Memory(if self.reg()? < 2 { word } else { 0 })),
            0xc6 | 0xc7 if self.reg()? != 0 => jumps(Unknown),
            0xff if matches!(self.reg()?, 2..=5) => jumps(Memory(0)),
            0xff if self.reg()? == 6 => stack(Memory(0)),
            0xff if self.reg()? == 7 => stack(Unknown),
            // The lowest three bits of these opcodes name register 4, which is the stack pointer unless REX extends the number.
            0x94 if self.rex & 1 == 0 => stack(Plain(0)),
            0xbc if self.rex & 1 == 0 => stack(Plain(if self.is_wide { 8 } else { word })),
            0xb8..=0xbf if self.is_wide => fit(Plain(8)),
            _ => of_first_map(opcode, word),
        })
    }

    /// The form of an instruction whose opcode has two or three bytes. The first of them, 0f, has been read.
    fn escaped(&mut self) -> Result<Unfit, Fault> {
        Ok(match self.byte()? {
            // `movdir64b`, `enqcmd`: they write to the address in the register that the ModRM byte names.
            0x38 if self.byte()? == 0xf8 => {
                if self.reg()? == 4 && self.rex & 4 == 0 {
                    stack(Memory(0))
                } else {
                    fit(Memory(0))
                }
            }
            0x38 => fit(Memory(0)),
            0x3a => {
                self.byte()?;
                fit(Memory(1))
            }
            // System instructions (`vmcall` and others). Some of them do not continue with the next instruction.
            0x01 if self.peek()? >= 0xc0 => jumps(Memory(0)),
            second => of_second_map(second),
        })
    }

    /// The form of an instruction with a VEX prefix of three bytes or two. The prefix has the bits of REX inverted; this function sets `rex` to what
    /// a REX prefix would hold.
    fn vex(&mut self, prefix: u8) -> Result<Unfit, Fault> {
        let first = self.byte()?;
        let map = if prefix == 0xc4 {
            self.rex = (first ^ 0xe0) >> 5 & 7;
            self.byte()?;
            first & 0x1f
        } else {
            self.rex = (first ^ 0x80) >> 5 & 4;
            1
        };
        Ok(match (map, self.byte()?) {
            (1, second) => of_second_map(second),
            (2, _) => fit(Memory(0)),
            (3, _) => fit(Memory(1)),
            _ => fit(Unknown),
        })
    }

    /// The form of an instruction with an EVEX prefix. Sets `rex` as [`vex`](Self::vex) does. The instructions of maps 5 and 6 have no immediate
    /// operands; the decoder does not know map 4.
    fn evex(&mut self) -> Result<Unfit, Fault> {
        let first = self.byte()?;
        self.rex = (first ^ 0xe0) >> 5 & 7;
        self.next += 2;
        Ok(match (first & 7, self.byte()?) {
            (1, second) => of_second_map(second),
            (2 | 5 | 6, _) => fit(Memory(0)),
            (3, _) => fit(Memory(1)),
            _ => fit(Unknown),
        })
    }

    /// Finishes an instruction of which only an immediate operand remains to be read.
    fn end(&self, immediate: u8, fault: Option<Fault>) -> Instruction {
        Instruction { len: self.next + usize::from(immediate), relative: None, short: None, fault }
    }

    /// Finishes a jump of which only the displacement remains to be read.
    fn jump(&self, bytes: u8, fault: Option<Fault>) -> Result<Instruction, Fault> {
        let short = if bytes == 1 { Some(self.peek()?.cast_signed()) } else { None };
        let relative = (bytes == 4).then_some(self.next);
        Ok(Instruction { relative, short, ..self.end(bytes, fault) })
    }

    /// Finishes an instruction of which three parts remain to be read: a ModRM byte, the bytes that this byte asks for, and an immediate
    /// operand.
    fn memory(&mut self, opcode: u8, immediate: u8, mut fault: Option<Fault>) -> Result<Instruction, Fault> {
        let modrm = self.byte()?;
        let (mode, base) = (modrm >> 6, modrm & 7);
        if is_stack_operand(opcode, modrm, self.rex) {
            fault = fault.or(Some(Fault::Stack));
        }
        let (mut displacement, mut relative) = ([0_u8, 1, 4, 0][usize::from(mode)], None);
        if mode != 3 && base == 4 {
            match self.byte()? & 7 {
                4 if self.rex & 1 == 0 => fault = fault.or(Some(Fault::Stack)),
                5 if mode == 0 => displacement = 4,
                _ => {}
            }
        } else if mode == 0 && base == 5 {
            (relative, displacement) = (Some(self.next), 4);
        }
        Ok(Instruction { relative, ..self.end(displacement + immediate, fault) })
    }
}

/// Whether the ModRM byte names the stack pointer as an operand. Looks only at one-byte opcodes whose operands are longer than a byte.
fn is_stack_operand(opcode: u8, modrm: u8, rex: u8) -> bool {
    let names_stack =
        |register: u8, bit: u8| (opcode & 1 == 1 || matches!(opcode, 0x8c | 0x8e)) && register == 4 && rex & bit == 0;
    let has_register = matches!(opcode, 0x01..=0x3b | 0x63 | 0x69 | 0x6b | 0x85..=0x8d);
    let is_word = has_register || matches!(opcode, 0x81 | 0x8e | 0x83 | 0xc1 | 0xc7 | 0xd1 | 0xd3 | 0xf7 | 0xff);
    opcode != 0x0f
        && (has_register && names_stack(modrm >> 3 & 7, 4) || is_word && modrm >> 6 == 3 && names_stack(modrm & 7, 1))
}

/// The form of an instruction whose opcode is one byte. `word` is the length of an immediate operand that is as long as the other operands.
fn of_first_map(opcode: u8, word: u8) -> Unfit {
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
fn of_second_map(opcode: u8) -> Unfit {
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
