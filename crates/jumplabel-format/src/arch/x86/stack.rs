//! Whether a ModRM byte, or a prefix VEX, names the stack pointer as a register operand (Intel SDM volume 2, appendix A).
//!
//! The stack pointer is general register 4. Whether a field of the ModRM byte names a general register at all depends on the opcode: in other
//! instructions, 4 is a vector, a mask or a segment. A memory operand with the stack pointer as its base is not looked for here: the decoder finds it
//! in the SIB byte.

/// A table of opcodes: the bytes in front of the opcode, or the map that a prefix VEX or EVEX names.
#[derive(Clone, Copy)]
pub enum Map {
    First,
    /// After 0f.
    Second,
    /// After 0f 38.
    Third,
    /// After 0f 3a.
    Fourth,
    /// After VEX or EVEX with this number of a map.
    Vector(u8),
}

/// An instruction's opcode, and the prefixes that determine what its operands are.
pub struct Opcode {
    pub map: Map,
    pub byte: u8,
    /// Whether the prefix 66 is in front of it: it gives words two bytes.
    pub is_short: bool,
    /// Whether the prefix f2 or f3 is in front of it, or a prefix VEX or EVEX stands for one of them.
    pub is_scalar: bool,
}

/// What a field of the ModRM byte names.
#[derive(Clone, Copy, PartialEq)]
enum Field {
    /// No general register.
    Other,
    /// A general register, of which an instruction without REX uses the lowest or the second byte: number 4 is `ah` then.
    Byte,
    /// A general register.
    Word,
}
use Field::{Byte, Other, Word};

impl Opcode {
    /// Whether an operand is the stack pointer. `rex` is the prefix REX, or 0, or the bits of VEX or EVEX that mean the same. `third` is the register
    /// that VEX names beside the ModRM byte.
    pub fn names_stack(&self, modrm: u8, rex: u8, third: u8) -> bool {
        let is_stack = |field, register: u8, extension: u8| {
            let is_word = field == Word || field == Byte && rex != 0;
            is_word && register & 7 == 4 && rex & extension == 0
        };
        let (reg, rm) = self.fields();
        is_stack(reg, modrm >> 3, 4) || modrm >= 0xc0 && is_stack(rm, modrm, 1) || self.has_third() && third == 4
    }

    /// What the fields `reg` and `rm` name. (`rm` names memory instead if the ModRM byte says so.)
    fn fields(&self) -> (Field, Field) {
        match self.map {
            Map::First => of_first_map(self.byte),
            Map::Second => self.of_second_map(),
            Map::Third => match self.byte {
                0x80..=0x82 => (Word, Other),
                0xf0 => (Word, Byte),
                0xf1..=0xff => (Word, Word),
                _ => (Other, Other),
            },
            Map::Fourth => (Other, self.of_extraction()),
            Map::Vector(1 | 5) => self.of_vectors(),
            Map::Vector(2) => match self.byte {
                0x7a..=0x7c => (Other, Word),
                0xe0..=0xef | 0xf2..=0xf7 => (Word, Word),
                _ => (Other, Other),
            },
            Map::Vector(3) if self.byte == 0xf0 => (Word, Word),
            Map::Vector(3) => (Other, self.of_extraction()),
            Map::Vector(_) => (Other, Other),
        }
    }

    fn of_second_map(&self) -> (Field, Field) {
        let scalar = if self.is_scalar { Word } else { Other };
        let other = if self.is_scalar { Other } else { Word };
        match self.byte {
            0x00 | 0x20..=0x23 | 0x6e | 0xae | 0xba | 0xc4 | 0xc7 => (Other, Word),
            0x1e | 0x2a => (Other, scalar),
            0x2c | 0x2d => (scalar, Other),
            0x7e => (Other, other),
            // `vmread`, `vmwrite`. With a prefix, these are instructions with vectors.
            0x78 | 0x79 if !self.is_short => (other, other),
            0x90..=0x9f => (Other, Byte),
            0x50 | 0xb2 | 0xb4 | 0xb5 | 0xc3 | 0xc5 | 0xd7 => (Word, Other),
            0xb0 | 0xc0 => (Byte, Byte),
            0xb6 | 0xbe => (Word, Byte),
            0x02
            | 0x03
            | 0x40..=0x4f
            | 0xa3..=0xa5
            | 0xab..=0xad
            | 0xaf
            | 0xb1
            | 0xb3
            | 0xb7
            | 0xb8
            | 0xbb..=0xbd
            | 0xbf
            | 0xc1 => (Word, Word),
            _ => (Other, Other),
        }
    }

    /// The fields of instructions that move numbers between general registers and vectors or masks: VEX and EVEX, maps 1 and 5.
    fn of_vectors(&self) -> (Field, Field) {
        match self.byte {
            0x2c | 0x2d | 0x6c | 0x6d | 0x78 | 0x79 if self.is_scalar => (Word, Other),
            0x2a | 0x7b if self.is_scalar => (Other, Word),
            0x50 | 0x93 | 0xc5 | 0xd7 => (Word, Other),
            0x6e | 0x92 | 0xc4 => (Other, Word),
            0x7e if !self.is_scalar => (Other, Word),
            _ => (Other, Other),
        }
    }

    /// The field `rm` of instructions that take a number out of a vector, or put one there.
    fn of_extraction(&self) -> Field {
        if matches!(self.byte, 0x14..=0x17 | 0x20 | 0x22) { Word } else { Other }
    }

    /// Whether the third register is a general one.
    fn has_third(&self) -> bool {
        matches!((self.map, self.byte), (Map::Vector(2), 0xe0..=0xef | 0xf2..=0xf7))
    }
}

fn of_first_map(opcode: u8) -> (Field, Field) {
    let size = if opcode & 1 == 0 { Byte } else { Word };
    match opcode {
        0x00..=0x3f | 0x84..=0x8b => (size, size),
        0x63 | 0x69 | 0x6b => (Word, Word),
        0x8d => (Word, Other),
        // The field `reg` names a segment.
        0x8c | 0x8e => (Other, Word),
        0x80..=0x83 | 0xc0 | 0xc1 | 0xc6 | 0xc7 | 0xd0..=0xd3 | 0xf6 | 0xf7 | 0xfe | 0xff => (Other, size),
        _ => (Other, Other),
    }
}
