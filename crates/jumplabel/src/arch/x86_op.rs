//! Instructions of the program's on x86-64, at the sites of operations and alternatives: the length of one, the part that is relative to
//! its own place, and what makes it unfit for an operation (Intel SDM volume 2, chapter 2 and appendix A).

use super::Code;
use super::alternative::{Alternative, NOPS};
use super::op::{Fault, Op};
use super::x86::X86;
use crate::format::OP;

/// The longest instruction.
const MAX: usize = 15;
/// Bytes of a jump.
const JUMP: usize = 5;
/// The most bytes that change at a site.
const LONGEST: usize = 7;

impl<const BITS: u32> Op for X86<BITS> {
    /// On i686 there is none in place.
    fn examine(bytes: &[u8]) -> Result<(), Fault> {
        let instruction = Instruction::of(bytes)?;
        if BITS == 32 || bytes.len() < JUMP || instruction.len != bytes.len() {
            return Err(Fault::Length);
        }
        instruction.fault.map_or(Ok(()), Err)
    }

    fn moved(bytes: &[u8], from: usize, to: usize) -> Code {
        let mut moved = [0; MAX];
        moved.iter_mut().zip(bytes).for_each(|(place, byte)| *place = *byte);
        if let Ok(instruction) = Instruction::of(bytes) {
            let _ = instruction.shift(&mut moved, from.wrapping_sub(to));
        }
        Code::new(OP, moved.get(..JUMP).unwrap_or_default())
    }
}

impl<const BITS: u32> Alternative for X86<BITS> {
    /// Instruction after instruction, as far as they reach into what changes.
    fn placed(bytes: &[u8], from: usize, to: usize, size: usize) -> Option<Code> {
        let mut moved = [0; LONGEST + MAX];
        let mut next = 0;
        while next < bytes.len() && next < size {
            let rest = bytes.get(next..)?;
            let instruction = Instruction::of(rest).ok().filter(|instruction| instruction.len <= rest.len())?;
            let place = moved.get_mut(next..)?;
            place.iter_mut().zip(rest).take(instruction.len).for_each(|(place, byte)| *place = *byte);
            instruction.shift(place, from.wrapping_sub(to)).then_some(())?;
            next += instruction.len;
            // A short jump stays right if it leads to somewhere in the sequence.
            if let Some(distance) = instruction.short {
                let leads_to = next.checked_add_signed(distance.into());
                leads_to.filter(|&leads_to| leads_to <= bytes.len() && size >= bytes.len())?;
            }
        }
        let padding = NOPS.get(size.saturating_sub(next)).copied().unwrap_or_default();
        moved.get_mut(next..)?.iter_mut().zip(padding).for_each(|(place, byte)| *place = *byte);
        Some(Code::new(OP, moved.get(..size)?))
    }
}

/// What a decoder of lengths says of an instruction.
struct Instruction {
    len: usize,
    /// The offset of a displacement of four bytes that counts from the instruction's end.
    relative: Option<usize>,
    /// A displacement of one byte that does.
    short: Option<i8>,
    /// What makes it unfit for an operation.
    fault: Option<Fault>,
}

/// What follows an opcode.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    /// Nothing, but bytes of an immediate operand.
    Plain(usize),
    /// A ModRM byte and what belongs to it, and an immediate operand.
    Memory(usize),
    /// The displacement of a jump, of so many bytes.
    Relative(usize),
    /// None of those, or not known.
    Unknown,
}
use Form::{Memory, Plain, Relative, Unknown};

/// A form, and what makes an instruction of it unfit.
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
        let (form, mut fault) = match opcode {
            0x0f => {
                let second = at(next)?;
                next += 1;
                match second {
                    // `movdir64b`, `enqcmd`: they write to where the register leads that the ModRM byte names as an operand.
                    0x38 if at(next)? == 0xf8 => {
                        next += 1;
                        if reg(next)? == 4 && rex & 4 == 0 { stack(Memory(0)) } else { fit(Memory(0)) }
                    }
                    0x38 | 0x3a => {
                        next += 1;
                        fit(Memory(usize::from(second == 0x3a)))
                    }
                    // Of the system; some do not come back.
                    0x01 if at(next)? >= 0xc0 => jumps(Memory(0)),
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
                    (2, _) => fit(Memory(0)),
                    (3, _) => fit(Memory(1)),
                    _ => fit(Unknown),
                }
            }
            // EVEX: as VEX. Maps 5 and 6 have no immediate operands; map 4 is not known.
            0x62 => {
                let first = at(next)?;
                rex = (first ^ 0xe0) >> 5 & 7;
                next += 4;
                match (first & 7, at(next - 1)?) {
                    (1, second) => of_second_map(second),
                    (2 | 5 | 6, _) => fit(Memory(0)),
                    (3, _) => fit(Memory(1)),
                    _ => fit(Unknown),
                }
            }
            0xf6 => fit(Memory(usize::from(reg(next)? < 2))),
            0xf7 => fit(Memory(if reg(next)? < 2 { word } else { 0 })),
            0xc6 | 0xc7 if reg(next)? != 0 => jumps(Unknown),
            0xff if matches!(reg(next)?, 2..=5) => jumps(Memory(0)),
            0xff if reg(next)? == 6 => stack(Memory(0)),
            0xff if reg(next)? == 7 => stack(Unknown),
            // The stack pointer in the opcode's lowest bits.
            0x94 if rex & 1 == 0 => stack(Plain(0)),
            0xbc if rex & 1 == 0 => stack(Plain(if wide { 8 } else { word })),
            0xb8..=0xbf if wide => fit(Plain(8)),
            _ => of_first_map(opcode, word),
        };
        let (immediate, has_memory) = match form {
            Plain(immediate) => (immediate, false),
            Memory(immediate) => (immediate, true),
            // With a short operand, processors differ.
            Relative(bytes) if !short => {
                let distance = if bytes == 1 { Some(at(next)?.cast_signed()) } else { None };
                let relative = (bytes == 4).then_some(next);
                return Ok(Instruction { len: next + bytes, relative, short: distance, fault });
            }
            Relative(_) | Unknown => return Err(fault.unwrap_or(Fault::Length)),
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
                fault = fault.or(Some(Fault::Stack));
            }
            if mode != 3 && base == 4 {
                let sib = at(next)?;
                next += 1;
                match sib & 7 {
                    4 if rex & 1 == 0 => fault = fault.or(Some(Fault::Stack)),
                    5 if mode == 0 => displacement = 4,
                    _ => {}
                }
            } else if mode == 0 && base == 5 {
                (relative, displacement) = (Some(next), 4);
            }
            next += displacement;
        }
        Ok(Instruction { len: next + immediate, relative, short: None, fault })
    }

    /// Has it, in `bytes`, mean what it means so much farther on. False if it does not reach so far, as it always does in one object.
    fn shift(&self, bytes: &mut [u8], by: usize) -> bool {
        let Some(place) = self.relative.and_then(|at| bytes.get_mut(at..at + 4)) else { return true };
        let distance = place.iter().rev().fold(0_u32, |word, byte| word << 8 | u32::from(*byte)).cast_signed();
        let there = i64::from(distance).wrapping_add(by.cast_signed() as i64);
        place.copy_from_slice(&(there as i32).to_le_bytes());
        i64::from(there as i32) == there
    }
}

/// Opcodes of one byte. `word`: bytes of an immediate operand of the operand's size.
fn of_first_map(opcode: u8, word: usize) -> Unfit {
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
        // What is none in 64-bit mode.
        _ => fit(Unknown),
    }
}

/// Opcodes behind 0f.
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
