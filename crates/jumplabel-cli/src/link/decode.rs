//! Finds where instructions begin and end. A disassembler starts at the beginning of each function.

use iced_x86::{Decoder, DecoderOptions};
use object::{LittleEndian as LE, elf};

use super::elf::Symbol;
use super::program::Program;
use crate::failure::Failure;

/// The functions of a program, in the order of their addresses: address, and size in bytes.
pub struct Functions(Vec<(u64, u64)>);

/// The size of a displacement, in bytes.
const DISPLACEMENT: u64 = 4;

impl Functions {
    /// Reads the functions from the symbols.
    pub fn read(program: &Program) -> Result<Functions, Failure> {
        let mut functions = Vec::new();
        for section in 0..program.elf.sections.len() {
            let is_function = |symbol: &&Symbol| symbol.st_type() == elf::STT_FUNC && symbol.st_shndx.get(LE) != 0;
            let symbols = program.elf.symbols(&program.bytes, section)?.iter().filter(is_function);
            functions.extend(symbols.map(|symbol| (symbol.st_value.get(LE), symbol.st_size.get(LE))));
        }
        functions.sort_unstable();
        Ok(Functions(functions))
    }

    /// For each of these displacements, whether an instruction ends with it. The displacements must be in the order of their addresses. If no symbol
    /// covers the code, nothing says where its instructions begin. The answer is then yes.
    pub fn end_with(&self, program: &Program, displacements: &[u64]) -> Vec<bool> {
        let mut rest = displacements;
        let mut all = Vec::with_capacity(displacements.len());
        while let [first, ..] = rest {
            let behind = self.0.partition_point(|&(start, _)| start <= *first);
            let has = |&&(start, bytes): &&(u64, u64)| first - start < bytes.saturating_sub(DISPLACEMENT - 1);
            let function = self.0[..behind].iter().rev().take(8).find(has);
            let count = function.map_or(1, |(start, bytes)| rest.partition_point(|one| one - start < *bytes));
            let (these, others) = rest.split_at(count);
            let code = function.and_then(|&(start, bytes)| Some((start, program.image.slice(start, bytes as usize)?)));
            match code {
                Some((start, code)) => ends(code, start, these, &mut all),
                None => all.extend(these.iter().map(|_| function.is_none())),
            }
            rest = others;
        }
        all
    }
}

/// [`Functions::end_with`] for displacements in one function.
fn ends(code: &[u8], start: u64, displacements: &[u64], all: &mut Vec<bool>) {
    let mut decoder = Decoder::with_ip(64, code, start, DecoderOptions::NONE);
    let mut end = start;
    for place in displacements {
        while end < place + DISPLACEMENT && decoder.can_decode() {
            end = decoder.decode().next_ip();
        }
        all.push(end == place + DISPLACEMENT);
    }
}
