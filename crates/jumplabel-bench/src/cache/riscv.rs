//! Counts the instructions, loads and fences of a check on RISC-V, in the code that rustc and the linker make of test-crates/checks.
//!
//! ```text
//!   before(); if CHECK { guarded(); } after();        the instructions of this path, minus those of the path with a constant
//! ```

use std::path::{Path, PathBuf};

use object::elf::FileHeader64;
use object::read::elf::{FileHeader as _, SectionHeader as _, Sym as _};
use object::{LittleEndian, elf};
use serde_json::{Value, json};

use crate::Result;
use crate::report::{Report, Table};

const TARGET: &str = "riscv64imac-unknown-none-elf";

/// The ways in the order of the table. Each has the name of its function in the program.
const WAYS: [(&str, &str); 7] = [
    ("constant", "constant"),
    ("naked", "naked key"),
    ("site", "site"),
    ("plain", "plain load"),
    ("relaxed", "relaxed load"),
    ("acquire", "acquire load"),
    ("seq_cst", "SeqCst load"),
];

/// Adds the table to the report. If the program cannot be built, the report gets a note that says why.
pub fn count(report: &mut Report) {
    match build(TARGET)
        .and_then(|program| Image::read(&program))
        .and_then(|image| WAYS.map(|(name, _)| image.path(name)).into_iter().collect())
    {
        Ok(paths) => table(report, &paths),
        Err(error) => {
            report.fact("riscv64", Value::Null);
            report.note(format!("n/a: RISC-V: {error}"));
        }
    }
}

fn table(report: &mut Report, paths: &Vec<[i64; 3]>) {
    let title = format!("a check on RISC-V ({TARGET}), off, more than a constant");
    let mut table = Table::new(title, &["", "instructions", "loads", "fences"]);
    let mut facts = Vec::new();
    for ((_, name), path) in WAYS.iter().zip(paths) {
        let more = [0, 1, 2].map(|at| path[at] - paths[0][at]);
        table.row([(*name).to_owned()].into_iter().chain(more.map(|count| count.to_string())));
        facts.push(json!({ "way": name, "instructions": more[0], "loads": more[1], "fences": more[2] }));
    }
    report.table(table);
    report.fact("riscv64", facts.into());
    report.note("RISC-V: the call of a naked key is two instructions, or one if the linker relaxes it: then the key takes one more than a relaxed load,");
    report.note("as the note says");
}

/// Builds the program for a target. Returns its path.
pub fn build(built_for: &str) -> Result<PathBuf> {
    let target = crate::cargo::directory("checks");
    let mut command = crate::cargo::build("checks", &target);
    command.args(["--target", built_for]);
    let output = command.output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(format!("test-crates/checks is not built; rustup target add {built_for}\n{said}").into());
    }
    Ok(target.join(built_for).join("release/checks"))
}

/// The program's code, and the addresses of its functions.
pub struct Image {
    pub code: Vec<u8>,
    /// The address of the first byte of the code.
    pub at: u64,
    functions: Vec<(String, u64)>,
}

impl Image {
    pub fn read(path: &Path) -> Result<Image> {
        let data = std::fs::read(path)?;
        let header = FileHeader64::<LittleEndian>::parse(&*data)?;
        let endian = header.endian()?;
        let sections = header.sections(endian, &*data)?;
        let (_, text) = sections.section_by_name(endian, b".text").ok_or("test-crates/checks has no code")?;
        let symbols = sections.symbols(endian, &*data, elf::SHT_SYMTAB)?;
        let mut functions = Vec::new();
        for symbol in symbols.iter().filter(|symbol| symbol.st_type() == elf::STT_FUNC) {
            let name = String::from_utf8_lossy(symbols.symbol_name(endian, symbol)?).into_owned();
            functions.push((name, symbol.st_value(endian)));
        }
        Ok(Image { code: text.data(endian, &*data)?.to_vec(), at: text.sh_addr(endian), functions })
    }

    pub fn address(&self, name: &str) -> Result<u64> {
        let found = self.functions.iter().find(|(function, _)| function == name);
        Ok(found.ok_or(format!("test-crates/checks has no {name}"))?.1)
    }

    /// The instruction at an address. An instruction of two bytes is in the lower half of the result.
    fn word(&self, at: u64) -> Result<u32> {
        let from = at.wrapping_sub(self.at) as usize;
        let half = |from: usize| Some(u16::from_le_bytes(self.code.get(from..from + 2)?.try_into().ok()?));
        let low = half(from).ok_or("the path leaves the code")?;
        let high = if low & 3 == 3 { half(from + 2).ok_or("the path leaves the code")? } else { 0 };
        Ok(u32::from(high) << 16 | u32::from(low))
    }

    /// Counts instructions, loads and fences from a function's entry to its return. The path takes no branch. It enters a called function only if
    /// that is the function of a naked key; `before` and `after` are not counted.
    fn path(&self, name: &str) -> Result<[i64; 3]> {
        let work = [self.address("before")?, self.address("after")?];
        let guarded = self.address("guarded")?;
        let (mut at, mut counts, mut upper, mut back) = (self.address(name)?, [0; 3], 0, None);
        for _ in 0..100 {
            let word = self.word(at)?;
            let (step, next) = (Step::of(word), at + if word & 3 == 3 { 4 } else { 2 });
            counts[0] += 1;
            counts[1] += i64::from(matches!(step, Step::Load));
            counts[2] += i64::from(matches!(step, Step::Fence));
            at = match step {
                Step::Upper(more) => {
                    upper = at.wrapping_add_signed(more);
                    next
                }
                Step::Call(from, offset) => {
                    let target = if from == From::Here { at } else { upper }.wrapping_add_signed(offset);
                    if target == guarded {
                        return Err(format!("{name}: what the check guards is in line").into());
                    }
                    if work.contains(&target) {
                        next
                    } else {
                        back = Some(next);
                        target
                    }
                }
                Step::Return => match back.take() {
                    Some(caller) => caller,
                    None => return Ok(counts),
                },
                Step::Jump => return Err(format!("{name}: a jump in the middle").into()),
                Step::Load | Step::Fence | Step::Other => next,
            };
        }
        Err(format!("{name} does not end").into())
    }
}

/// The kinds of instructions that a path distinguishes. Source: The RISC-V Instruction Set Manual, volume I, chapter "RV32/64G Instruction Set
/// Listings", and the chapter on the extension "C" for instructions of two bytes.
#[derive(Clone, Copy)]
enum Step {
    Load,
    Fence,
    /// `auipc`, with the number that it adds.
    Upper(i64),
    /// `jal` or `jalr` that stores a return address, with the offset of the target.
    Call(From, i64),
    /// `jr` through the first or the fifth register, which hold return addresses.
    Return,
    Jump,
    Other,
}

/// The address to which a call's offset is added.
#[derive(Clone, Copy, PartialEq)]
enum From {
    Here,
    /// The result of the `auipc` before the call.
    Upper,
}

impl Step {
    fn of(word: u32) -> Step {
        let to = word >> 7 & 31;
        if word & 3 != 3 {
            return match (word & 3, word >> 13 & 7) {
                (0, 2 | 3) | (2, 2 | 3) => Step::Load,
                (1, 5) => Step::Jump,
                (2, 4) if word >> 2 & 31 == 0 && word >> 12 & 1 == 0 => Step::of_jump(to),
                _ => Step::Other,
            };
        }
        match word & 0x7f {
            0x03 => Step::Load,
            0x0f => Step::Fence,
            0x17 => Step::Upper(i64::from((word & 0xffff_f000).cast_signed())),
            0x67 if to == 0 => Step::of_jump(word >> 15 & 31),
            0x67 => Step::Call(From::Upper, i64::from(word.cast_signed() >> 20)),
            0x6f if to == 0 => Step::Jump,
            0x6f => {
                let word = word.cast_signed();
                let offset =
                    (word >> 31 << 20) | (word & 0xf_f000) | (word >> 20 & 1) << 11 | (word >> 21 & 0x3ff) << 1;
                Step::Call(From::Here, offset.into())
            }
            _ => Step::Other,
        }
    }

    fn of_jump(by: u32) -> Step {
        if matches!(by, 1 | 5) { Step::Return } else { Step::Jump }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests code from an assembler: `lb a0, 0(a0)`, `c.ld a0, 0(a0)`, `c.ldsp ra, 8(sp)`, `fence rw, rw`, `ret` in both lengths, `jr t0`, `c.j`,
    /// `nop`.
    #[test]
    fn steps() {
        let names =
            [0x0005_0503, 0x6108, 0x60a2, 0x0330_000f, 0x0000_8067, 0x8082, 0x8282, 0xa001, 0x0000_0013, 0x0001].map(
                |word| match Step::of(word) {
                    Step::Load => "load",
                    Step::Fence => "fence",
                    Step::Return => "return",
                    Step::Jump => "jump",
                    _ => "other",
                },
            );
        assert_eq!(names, ["load", "load", "load", "fence", "return", "return", "return", "jump", "other", "other"]);
        // `auipc ra, 0xfffff`, `jalr -6(ra)`, `jal ra, -4`, `jal t0, 0x802`.
        assert!(matches!(Step::of(0xffff_f097), Step::Upper(-4096)));
        assert!(matches!(Step::of(0xffa0_80e7), Step::Call(From::Upper, -6)));
        assert!(matches!(Step::of(0xffdf_f0ef), Step::Call(From::Here, -4)));
        assert!(matches!(Step::of(0x0030_02ef), Step::Call(From::Here, 0x802)));
    }
}
