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

use super::form::Form::{Memory, Plain, Relative, Unknown};
use super::form::{Unfit, fit, jumps, of_first_map, of_second_map, stack};
use super::stack::{Map, Opcode};
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

impl Instruction {
    /// Decodes the first instruction in `bytes`.
    pub fn of(bytes: &[u8]) -> Result<Instruction, Fault> {
        let mut reader = Reader::behind_prefixes(bytes)?;
        let (form, fault) = reader.form()?;
        match form {
            Plain(immediate) => Ok(reader.end(immediate, fault)),
            Memory(immediate) => reader.memory(immediate, fault),
            // A jump with the prefix 66 (operands of two bytes) is refused: processors disagree about the length of its displacement.
            Relative(bytes) if !reader.opcode.is_short => reader.jump(bytes, fault),
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
    /// The register that a prefix VEX names beside those of the ModRM byte.
    third: u8,
    /// Whether REX gives the operands eight bytes.
    is_wide: bool,
    opcode: Opcode,
}

impl<'bytes> Reader<'bytes> {
    /// Returns a reader that has already read the prefixes in front of the opcode.
    fn behind_prefixes(bytes: &'bytes [u8]) -> Result<Reader<'bytes>, Fault> {
        let opcode = Opcode { map: Map::First, byte: 0, is_short: false, is_scalar: false };
        let mut reader = Reader { bytes, next: 0, rex: 0, third: 0, is_wide: false, opcode };
        while let prefix @ (0x26 | 0x2e | 0x36 | 0x3e | 0x64..=0x67 | 0xf0 | 0xf2 | 0xf3) = reader.peek()? {
            reader.opcode.is_short |= prefix == 0x66;
            reader.opcode.is_scalar |= prefix >= 0xf2;
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

    /// Reads the next byte of the opcode, which is one of this map.
    fn opcode(&mut self, map: Map) -> Result<u8, Fault> {
        (self.opcode.map, self.opcode.byte) = (map, self.byte()?);
        Ok(self.opcode.byte)
    }

    /// The field `reg` of the next byte, which must be a ModRM byte. The field names a register, or holds three more bits of the opcode.
    fn reg(&self) -> Result<u8, Fault> {
        self.peek().map(|modrm| modrm >> 3 & 7)
    }

    /// Reads the opcode. Returns the instruction's form.
    fn form(&mut self) -> Result<Unfit, Fault> {
        let opcode = self.opcode(Map::First)?;
        let word = if self.opcode.is_short && !self.is_wide { 2 } else { 4 };
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
            // With REX, this byte register is the lowest byte of the stack pointer.
            0xb4 if self.rex != 0 && self.rex & 1 == 0 => stack(Plain(1)),
            0xbc if self.rex & 1 == 0 => stack(Plain(if self.is_wide { 8 } else { word })),
            0xb8..=0xbf if self.is_wide => fit(Plain(8)),
            _ => of_first_map(opcode, word),
        })
    }

    /// The form of an instruction whose opcode has two or three bytes. The first of them, 0f, has been read.
    fn escaped(&mut self) -> Result<Unfit, Fault> {
        Ok(match self.opcode(Map::Second)? {
            0x38 => {
                self.opcode(Map::Third)?;
                fit(Memory(0))
            }
            0x3a => {
                self.opcode(Map::Fourth)?;
                fit(Memory(1))
            }
            0xcc if self.rex & 1 == 0 => stack(Plain(0)),
            // `mov` of control registers: the ModRM byte always names a register, even if it seems to name memory.
            0x20..=0x23 if self.peek()? < 0xc0 => fit(Unknown),
            // System instructions (`vmcall` and others). Some of them do not continue with the next instruction.
            0x01 if self.peek()? >= 0xc0 => jumps(Memory(0)),
            second => of_second_map(second),
        })
    }

    /// The form of an instruction with a VEX prefix of three bytes or two. The prefix has the bits of REX inverted; this function sets `rex` to what
    /// a REX prefix would hold.
    fn vex(&mut self, prefix: u8) -> Result<Unfit, Fault> {
        let first = self.byte()?;
        let (map, last) = if prefix == 0xc4 {
            self.rex = (first ^ 0xe0) >> 5 & 7;
            (first & 0x1f, self.byte()?)
        } else {
            self.rex = (first ^ 0x80) >> 5 & 4;
            (1, first)
        };
        (self.third, self.opcode.is_scalar) = (!last >> 3 & 15, last & 2 != 0);
        Ok(match (map, self.opcode(Map::Vector(map))?) {
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
        self.opcode.is_scalar = self.byte()? & 2 != 0;
        self.next += 1;
        let map = first & 7;
        Ok(match (map, self.opcode(Map::Vector(map))?) {
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
    fn memory(&mut self, immediate: u8, mut fault: Option<Fault>) -> Result<Instruction, Fault> {
        let modrm = self.byte()?;
        let (mode, base) = (modrm >> 6, modrm & 7);
        if self.opcode.names_stack(modrm, self.rex, self.third) {
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
