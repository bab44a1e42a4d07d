//! Operations in place on x86-64: how long an instruction is, and what makes it unfit (Intel SDM volume 2, chapter 2 and appendix A).

use super::Code;
use super::op::{Fault, Op};
use super::x86::X86;
use crate::format::OP;

/// The longest instruction.
const MAX: usize = 15;
/// Bytes of a jump.
const JUMP: usize = 5;

impl<const BITS: u32> Op for X86<BITS> {
    /// On i686 there is none in place.
    fn examine(bytes: &[u8]) -> Result<(), Fault> {
        let instruction = Instruction::of(bytes)?;
        if BITS == 32 || bytes.len() < JUMP || instruction.len != bytes.len() { Err(Fault::Length) } else { Ok(()) }
    }

    fn moved(bytes: &[u8], from: usize, to: usize) -> Code {
        let mut moved = [0; MAX];
        moved.iter_mut().zip(bytes).for_each(|(place, byte)| *place = *byte);
        let relative = Instruction::of(bytes).ok().and_then(|instruction| instruction.relative);
        if let Some(place) = relative.and_then(|at| moved.get_mut(at..at + 4)) {
            let distance = place.iter().rev().fold(0_u32, |word, byte| word << 8 | u32::from(*byte));
            let distance = distance.wrapping_add(from.wrapping_sub(to) as u32);
            place.copy_from_slice(&distance.to_le_bytes());
        }
        Code::new(OP, moved.get(..JUMP).unwrap_or_default())
    }
}

/// What a decoder of lengths says of an instruction.
struct Instruction {
    len: usize,
    /// The offset of a displacement that counts from the instruction's end.
    relative: Option<usize>,
}

/// What follows an opcode.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    /// Nothing, but bytes of an immediate operand.
    Plain(usize),
    /// A ModRM byte and what belongs to it, and an immediate operand.
    Memory(usize),
    Unfit(Fault),
}
use Form::{Memory, Plain, Unfit};

impl Instruction {
    fn of(bytes: &[u8]) -> Result<Instruction, Fault> {
        let at = |place: usize| bytes.get(place).copied().ok_or(Fault::Length);
        let (mut next, mut wide, mut short) = (0, false, false);
        // Prefixes; `short`: the operand's size.
        while let prefix @ (0x26 | 0x2e | 0x36 | 0x3e | 0x64..=0x67 | 0xf0 | 0xf2 | 0xf3) = at(next)? {
            short |= prefix == 0x66;
            next += 1;
        }
        let mut rex = 0;
        if let prefix @ 0x40..=0x4f = at(next)? {
            (rex, wide) = (prefix, prefix & 8 != 0);
            next += 1;
        }
        let word = if short && !wide { 2 } else { 4 };
        let opcode = at(next)?;
        let reg = |place: usize| at(place).map(|modrm| modrm >> 3 & 7);
        next += 1;
        let form = match opcode {
            0x0f => {
                let second = at(next)?;
                next += 1;
                match second {
                    // It writes to where a register leads, which no ModRM byte says.
                    0x38 if at(next)? == 0xf8 => Unfit(Fault::Length),
                    0x38 | 0x3a => {
                        next += 1;
                        Memory(usize::from(second == 0x3a))
                    }
                    // Of the system; some do not come back.
                    0x01 if at(next)? >= 0xc0 => Unfit(Fault::Jumps),
                    _ => of_second_map(second),
                }
            }
            // VEX: three bytes or two; `rex` as if it were one, its bits inverted.
            0xc4 | 0xc5 => {
                let (first, length) = (at(next)?, usize::from(0xc7 - opcode));
                let map = if opcode == 0xc4 { first & 0x1f } else { 1 };
                rex = if opcode == 0xc4 { (first ^ 0xe0) >> 5 & 7 } else { (first ^ 0x80) >> 5 & 4 };
                next += length;
                match (map, at(next - 1)?) {
                    (1, second) => of_second_map(second),
                    (2, _) => Memory(0),
                    (3, _) => Memory(1),
                    _ => Unfit(Fault::Length),
                }
            }
            0xf6 => Memory(usize::from(reg(next)? < 2)),
            0xf7 => Memory(if reg(next)? < 2 { word } else { 0 }),
            0xc6 | 0xc7 if reg(next)? != 0 => Unfit(Fault::Jumps),
            0xff if matches!(reg(next)?, 2..=5) => Unfit(Fault::Jumps),
            0xff if reg(next)? >= 6 => Unfit(Fault::Stack),
            // The stack pointer in the opcode's lowest bits.
            0x94 | 0xbc if rex & 1 == 0 => Unfit(Fault::Stack),
            0xb8..=0xbf if wide => Plain(8),
            _ => of_first_map(opcode, word),
        };
        let (immediate, has_memory) = match form {
            Plain(immediate) => (immediate, false),
            Memory(immediate) => (immediate, true),
            Unfit(fault) => return Err(fault),
        };
        let mut relative = None;
        if has_memory {
            let modrm = at(next)?;
            next += 1;
            let (mode, base) = (modrm >> 6, modrm & 7);
            let mut displacement = [0, 1, 4, 0][usize::from(mode)];
            // Of opcodes with operands of a word.
            let names_stack = |register: u8, bit: u8| {
                (opcode & 1 == 1 || matches!(opcode, 0x8c | 0x8e)) && register == 4 && rex & bit == 0
            };
            let has_register = matches!(opcode, 0x01..=0x3b | 0x63 | 0x69 | 0x6b | 0x85..=0x8d);
            let is_word =
                has_register || matches!(opcode, 0x81 | 0x8e | 0x83 | 0xc1 | 0xc7 | 0xd1 | 0xd3 | 0xf7 | 0xff);
            if opcode != 0x0f
                && (has_register && names_stack(modrm >> 3 & 7, 4) || is_word && mode == 3 && names_stack(base, 1))
            {
                return Err(Fault::Stack);
            }
            if mode != 3 && base == 4 {
                let sib = at(next)?;
                next += 1;
                match sib & 7 {
                    4 if rex & 1 == 0 => return Err(Fault::Stack),
                    5 if mode == 0 => displacement = 4,
                    _ => {}
                }
            } else if mode == 0 && base == 5 {
                (relative, displacement) = (Some(next), 4);
            }
            next += displacement;
        }
        Ok(Instruction { len: next + immediate, relative })
    }
}

/// Opcodes of one byte. `word`: bytes of an immediate operand of the operand's size.
fn of_first_map(opcode: u8, word: usize) -> Form {
    match opcode {
        0x00..=0x3f => match opcode & 7 {
            0..=3 => Memory(0),
            4 => Plain(1),
            5 => Plain(word),
            _ => Unfit(Fault::Length),
        },
        0x50..=0x5f | 0x68 | 0x6a | 0x8f | 0x9c | 0x9d | 0xc8 | 0xc9 => Unfit(Fault::Stack),
        0x70..=0x7f | 0xc2 | 0xc3 | 0xca..=0xcf | 0xe0..=0xe3 | 0xe8 | 0xe9 | 0xeb | 0xf1 | 0xf4 => Unfit(Fault::Jumps),
        0x63 | 0x84..=0x8e | 0xd0..=0xd3 | 0xd8..=0xdf | 0xfe | 0xff => Memory(0),
        0x69 | 0x81 | 0xc7 => Memory(word),
        0x6b | 0x80 | 0x83 | 0xc0 | 0xc1 | 0xc6 => Memory(1),
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
        | 0xf8..=0xfd => Plain(0),
        0xa8 | 0xb0..=0xb7 | 0xe4..=0xe7 => Plain(1),
        0xa9 | 0xb8..=0xbf => Plain(word),
        0xa0..=0xa3 => Plain(8),
        // EVEX, and what is none in 64-bit mode.
        _ => Unfit(Fault::Length),
    }
}

/// Opcodes behind 0f.
fn of_second_map(opcode: u8) -> Form {
    match opcode {
        0x05 | 0x07 | 0x0b | 0x34 | 0x35 | 0x80..=0x8f | 0xaa | 0xb9 | 0xff => Unfit(Fault::Jumps),
        0xa0 | 0xa1 | 0xa8 | 0xa9 => Unfit(Fault::Stack),
        0x06 | 0x08 | 0x09 | 0x0e | 0x30..=0x33 | 0x37 | 0x77 | 0xa2 | 0xc8..=0xcf => Plain(0),
        0x70..=0x73 | 0xa4 | 0xac | 0xba | 0xc2 | 0xc4..=0xc6 => Memory(1),
        _ => Memory(0),
    }
}
