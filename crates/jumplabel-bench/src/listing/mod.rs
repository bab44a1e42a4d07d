//! `listing`: the bytes and instructions of one function without a check, with a key, and with a load. Linux's document on static keys has such a
//! listing.
//!
//! The document's function is `getppid` with an `if` around a `printk`. The function here also reads a word through a pointer. The function with a
//! short site is in a program of its own (test-crates/short), which is built with `--cfg jumplabel_short` and processed by `jumplabel link`.

mod compilers;
mod function;

use std::hint::black_box;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use iced_x86::{Decoder, DecoderOptions, FlowControl, Formatter, Instruction, IntelFormatter};
use jumplabel::{static_branch_unlikely, static_key};
use object::elf::FileHeader64;
use object::read::elf::{FileHeader, Sym};
use object::{LittleEndian, Object, ObjectSection, elf};
use serde_json::json;

use crate::report::{Report, Table, figure};
use crate::{Result, cargo};
use function::{Task, ask, parents, said};

static_key! { static KEY: false; }
static FLAG: AtomicBool = AtomicBool::new(false);

parents! {
    without: false;
    with_key: static_branch_unlikely!(KEY);
    with_load: FLAG.load(Ordering::Relaxed);
}

/// A name, and a function.
type Named = (&'static str, fn(&Task) -> u64);

const FUNCTIONS: [Named; 3] =
    [("without a check", without), ("static key", with_key), ("relaxed load (the fallback)", with_load)];

/// Figures of the document (static-keys.rst): bytes of `sys_getppid` with a key, and without jump labels.
const PUBLISHED: [(&str, usize); 2] =
    [("Linux's getppid, static key", 64), ("Linux's getppid, without jump labels", 80)];

/// The code of a function, from memory or from a file.
struct Listing {
    name: &'static str,
    code: Vec<u8>,
    all: Vec<Instruction>,
    /// The instructions on the path of a check that fails.
    path: Vec<Instruction>,
}

pub fn run(quick: bool) -> Result<Report> {
    FLAG.store(black_box(false), Ordering::Relaxed);
    let mut listings = Vec::new();
    for (name, function) in FUNCTIONS {
        if ask(function) != 3 {
            return Err(format!("{name}: another number").into());
        }
        listings.push(Listing::of(name, function as usize)?);
    }
    listings.insert(2, short()?);
    let [without, key, short, load] = &listings[..] else { return Err("four functions".into()) };
    let of_check = |listing: &Listing| listing.path.len() as i64 - without.path.len() as i64;
    // As in the document, the instructions and bytes are those of a check that is not taken.
    if !cfg!(debug_assertions) && (of_check(key) != 1 || of_check(short) != 1 || of_check(load) < 2) {
        return Err(format!("a key is {} instructions, a load {}: not measured", of_check(key), of_check(load)).into());
    }
    let mut report = Report::new("listing", quick);
    let head =
        ["", "bytes", "of that, the way of who passes", "instructions there", "of the check", "bytes of the check"];
    let mut table = Table::new("a function that reads its parent's number", &head);
    let mut facts = Vec::new();
    for listing in &listings {
        let passed = |listing: &Listing| listing.path.iter().map(Instruction::len).sum::<usize>();
        let more = passed(listing) as i64 - passed(without) as i64;
        let counts =
            [listing.code.len() as i64, passed(listing) as i64, listing.path.len() as i64, of_check(listing), more];
        table.row([listing.name.to_owned()].into_iter().chain(counts.map(|count| count.to_string())));
        facts.push(json!({ "function": listing.name, "bytes": counts[0], "bytes_passed": counts[1],
            "instructions": counts[2], "instructions_of_check": counts[3], "bytes_of_check": counts[4] }));
        if !cfg!(debug_assertions) {
            report.count(format!("bytes of the check, {}", listing.name), counts[4] as f64);
        }
    }
    for (name, bytes) in PUBLISHED {
        let of = figure(bytes as f64, 0);
        let check = if bytes == 64 { ["1", "5"] } else { ["3", "10"] };
        table.row([name.to_owned(), of, String::new(), String::new()].into_iter().chain(check.map(str::to_owned)));
    }
    report.table(table);
    for listing in &listings {
        let mut table = Table::new(listing.name, &["address", "bytes", "instruction"]);
        listing.lines().for_each(|cells| table.row(cells));
        report.table(table);
    }
    compilers::tables(&mut report)?;
    report.note("Linux's check without jump labels: mov (6 bytes), test (2), jne (2); the 16 bytes are 20 % of the function, alignment included");
    report.fact("functions", json!(facts));
    report.fact("optimised", json!(!cfg!(debug_assertions)));
    Ok(report)
}

impl Listing {
    fn of(name: &'static str, entry: usize) -> Result<Listing> {
        let data = std::fs::read("/proc/self/exe")?;
        let place = entry - (&raw const __ehdr_start).addr();
        let (_, bytes) = function(&data, |_, at| at == place as u64)?;
        // SAFETY: the bytes are code of this program.
        let code = unsafe { std::slice::from_raw_parts(entry as *const u8, bytes) };
        Ok(Listing::read(name, code, entry as u64))
    }

    fn read(name: &'static str, code: &[u8], entry: u64) -> Listing {
        let all: Vec<_> = Decoder::with_ip(64, code, entry, DecoderOptions::NONE).into_iter().collect();
        let mut path = Vec::new();
        let mut at = entry;
        while let Some(instruction) = all.iter().find(|instruction| instruction.ip() == at) {
            path.push(*instruction);
            at = match instruction.flow_control() {
                FlowControl::Return => break,
                FlowControl::UnconditionalBranch => instruction.near_branch_target(),
                _ => instruction.next_ip(),
            };
        }
        Listing { name, code: code.to_vec(), all, path }
    }

    /// The lines of the listing. Addresses count from the function's beginning. `>` marks the instructions on the path of a check that fails.
    fn lines(&self) -> impl Iterator<Item = [String; 3]> {
        let start = self.all.first().map_or(0, Instruction::ip);
        self.all.iter().map(move |instruction| {
            let mut text = String::new();
            IntelFormatter::new().format(instruction, &mut text);
            let bytes = &self.code[(instruction.ip() - start) as usize..][..instruction.len()];
            let hex = bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ");
            let is_passed = self.path.iter().any(|passed| passed.ip() == instruction.ip());
            let mark = if is_passed { ">" } else { " " };
            [format!("{mark} {:02x}", instruction.ip() - start), hex, text]
        })
    }
}

unsafe extern "C" {
    static __ehdr_start: u8;
}

/// The listing of the function with a short site, from a program that `jumplabel link` has processed.
fn short() -> Result<Listing> {
    let target = cargo::directory("listing");
    let mut build = cargo::build("short", &target);
    build.args(["--bin", "parent"]).env("RUSTFLAGS", "--cfg jumplabel_short").stdout(std::io::stderr());
    let program = target.join("release/parent");
    let mut itself = Command::new(&program);
    itself.stdout(std::io::stderr());
    succeeds(&mut build)?;
    let words = ["jumplabel".into(), "link".into(), program.clone().into_os_string()];
    if jumplabel_cli::run(words, &mut std::io::sink(), &mut std::io::stderr()) != 0 {
        return Err(format!("{}: not linked", program.display()).into());
    }
    succeeds(&mut itself)?;
    let data = std::fs::read(&program)?;
    let (address, bytes) = function(&data, |name, _| name == b"with_short_key")?;
    let file = object::File::parse(&*data)?;
    let code = file.sections().find_map(|section| section.data_range(address, bytes as u64).ok().flatten());
    Ok(Listing::read("short site after `link`", code.ok_or("no code")?, address))
}

fn succeeds(command: &mut Command) -> Result<()> {
    if command.status()?.success() { Ok(()) } else { Err(format!("{command:?} failed").into()) }
}

/// The address and size of a function, found in the symbols of a program.
fn function(data: &[u8], is: impl Fn(&[u8], u64) -> bool) -> Result<(u64, usize)> {
    let header = FileHeader64::<LittleEndian>::parse(data)?;
    let endian = header.endian()?;
    let sections = header.sections(endian, data)?;
    let symbols = sections.symbols(endian, data, elf::SHT_SYMTAB)?;
    let is_it = |symbol: &&elf::Sym64<LittleEndian>| {
        symbol.st_type() == elf::STT_FUNC
            && is(symbols.symbol_name(endian, symbol).unwrap_or_default(), symbol.st_value(endian))
    };
    let found = symbols.iter().find(is_it).ok_or("the program has no symbols: do not strip it")?;
    Ok((found.st_value(endian), found.st_size(endian) as usize))
}
