//! `size`: the growth of a Rust program by its first key, at opt-levels 3 and s, by section and by module.
//!
//! The bytes are counted, not timed. Two programs (test-crates/size) differ only in a key and one check of it. The linker has its default options.
//! The library's cost is all that is only in the program with the key: all writers, the search for other instances, the support of `dlopen`, and the
//! texts of `unwrap`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use object::elf::{FileHeader64, SHF_ALLOC, SHT_NOBITS, STT_FUNC};
use object::read::elf::{FileHeader, SectionHeader, Sym};
use object::{LittleEndian, elf};
use serde_json::{Value, json};

use crate::report::{Report, Table, Target};
use crate::{Result, cargo};

/// The opt-levels, and the limits of machine code in kilobytes (1,000 bytes). The target of `s` was 40; flips have made more checks since then, which
/// cost 3.6 (docs/benchmarks.md).
const LEVELS: [(&str, f64); 2] = [("3", 48.0), ("s", 44.0)];

/// The bytes of a program, by kind.
#[derive(Default)]
struct Sizes {
    /// Sections that are loaded and not removed by `strip`.
    sections: BTreeMap<&'static str, i64>,
    /// Functions, by the path of their module, or of their type in core or std.
    modules: BTreeMap<String, i64>,
    /// The whole file after `strip`.
    stripped: i64,
}

/// Kinds of sections, by the beginnings of their names. Other sections belong to the last kind.
const KINDS: [(&str, &[&str]); 5] = [
    ("machine code", &[".text"]),
    ("unwind tables", &[".eh_frame", ".gcc_except_table"]),
    ("constants", &[".rodata"]),
    ("addresses and their relocations", &[".rel", ".got", ".data"]),
    ("the rest", &[""]),
];

pub fn run(quick: bool) -> Result<Report> {
    let mut report = Report::new("size", quick);
    let mut differences = Vec::new();
    for (level, _) in LEVELS {
        let [plain, key] = [false, true].map(|with_key| build(level, with_key).and_then(|path| read(&path)));
        differences.push(key?.minus(&plain?));
    }
    by_section(&mut report, &differences);
    by_module(&mut report, &differences);
    Ok(report)
}

/// Builds the program. Returns its path.
fn build(level: &str, with_key: bool) -> Result<PathBuf> {
    let target = cargo::directory("size").join(format!("{level}-{with_key}"));
    let mut command = cargo::build("size", &target);
    if with_key {
        command.args(["--features", "key"]);
    }
    command.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", level);
    let status = command.stdout(std::io::stderr()).status()?;
    if !status.success() {
        return Err("cargo could not build test-crates/size".into());
    }
    Ok(target.join("release/size"))
}

fn read(path: &Path) -> Result<Sizes> {
    let data = std::fs::read(path)?;
    let data = &*data;
    let header = FileHeader64::<LittleEndian>::parse(data)?;
    let endian = header.endian()?;
    let sections = header.sections(endian, data)?;
    let mut sizes = Sizes::default();
    for section in sections.iter() {
        let loaded = section.sh_flags(endian) as u32 & SHF_ALLOC != 0 && section.sh_type(endian) != SHT_NOBITS;
        if loaded {
            let name = String::from_utf8_lossy(sections.section_name(endian, section)?);
            let is_of = |(_, starts): &&(&str, &[&str])| starts.iter().any(|start| name.starts_with(start));
            let kind = KINDS.iter().find(is_of).map_or("", |(kind, _)| kind);
            let bytes = section.sh_size(endian) as i64;
            *sizes.sections.entry(kind).or_default() += bytes;
            sizes.stripped += bytes;
        }
    }
    let symbols = sections.symbols(endian, data, elf::SHT_SYMTAB)?;
    for symbol in symbols.iter().filter(|symbol| symbol.st_type() == STT_FUNC) {
        let name = String::from_utf8_lossy(symbols.symbol_name(endian, symbol)?).into_owned();
        *sizes.modules.entry(module(&name)).or_default() += symbol.st_size(endian) as i64;
    }
    Ok(sizes)
}

/// The module of this library to which a function belongs, or else its crate.
fn module(symbol: &str) -> String {
    if symbol.starts_with("__jumplabel") {
        return "load".to_owned();
    }
    let name = format!("{:#}", rustc_demangle::demangle(symbol));
    let name = name.split("::{{closure}}").next().unwrap_or_default();
    let plain = name.replace(['<', '&', '('], "");
    // The name of a function in an `impl` contains the type: `jumplabel::sort::Slice<..> as ..`, `impl core::ops::Fn for jumplabel::..`.
    let path = name.find("jumplabel::").map_or(&*plain, |at| &name[at..]);
    let path = path.split([' ', '<', '>', ',']).next().unwrap_or_default();
    let parts: Vec<&str> = path.split("::").collect();
    match parts[..] {
        // Names of modules begin with a small letter. Names of functions do so, too, so the last part is left out.
        ["jumplabel", ref rest @ ..] => {
            let is_module = |part: &&&str| part.starts_with(char::is_lowercase);
            let modules: Vec<&str> =
                rest.iter().take(rest.len().saturating_sub(1)).take_while(is_module).copied().collect();
            modules.join("::")
        }
        [first, _, ..] => format!("({first})"),
        _ => "(others)".to_owned(),
    }
}

impl Sizes {
    fn minus(&self, other: &Sizes) -> Sizes {
        let mut difference = Sizes { stripped: self.stripped - other.stripped, ..Sizes::default() };
        for (kind, bytes) in &self.sections {
            difference.sections.insert(kind, bytes - other.sections.get(kind).unwrap_or(&0));
        }
        for (module, bytes) in &self.modules {
            difference.modules.insert(module.clone(), bytes - other.modules.get(module).unwrap_or(&0));
        }
        difference
    }
}

fn kilobytes(bytes: i64) -> String {
    format!("{:.1}", bytes as f64 / 1e3)
}

fn by_section(report: &mut Report, differences: &[Sizes]) {
    let mut head = vec!["kB more than without a key"];
    LEVELS.iter().for_each(|(level, _)| head.extend([*level, "target", ""]));
    let mut table = Table::new("A Rust program with one key, by opt-level", &head);
    let mut facts = Vec::new();
    for (kind, _) in KINDS {
        let mut row = vec![kind.to_owned()];
        for (difference, (level, limit)) in differences.iter().zip(LEVELS) {
            let bytes = difference.sections.get(kind).copied().unwrap_or(0);
            row.push(kilobytes(bytes));
            if kind == KINDS[0].0 {
                let target = Target { figure: bytes as f64 / 1e3, limit };
                let [_, limit, verdict] = target.cells();
                let what = format!("the first key of a Rust program, opt-level {level}: kB of machine code");
                report.judged(what, &kilobytes(bytes), &limit, &verdict);
                row.extend([limit, verdict]);
                facts.push(json!({ "opt_level": level, "stripped_bytes": difference.stripped, "code": target.json() }));
            } else {
                row.extend([String::new(), String::new()]);
            }
        }
        table.row(row);
    }
    let mut all = vec!["all that strip leaves".to_owned()];
    differences
        .iter()
        .for_each(|difference| all.extend([kilobytes(difference.stripped), String::new(), String::new()]));
    table.row(all);
    report.table(table);
    report.fact("programs", Value::Array(facts));
}

fn by_module(report: &mut Report, differences: &[Sizes]) {
    let head: Vec<&str> = ["bytes of functions"].into_iter().chain(LEVELS.map(|(level, _)| level)).collect();
    let mut table = Table::new("By module of the library, or by crate", &head);
    let bytes = |difference: &Sizes, module: &str| difference.modules.get(module).copied().unwrap_or(0);
    let mut modules: Vec<&String> = differences.iter().flat_map(|difference| difference.modules.keys()).collect();
    modules.sort_unstable();
    modules.dedup();
    modules.retain(|module| differences.iter().any(|difference| bytes(difference, module) != 0));
    modules.sort_by_key(|module| std::cmp::Reverse(bytes(&differences[0], module)));
    let mut facts = Vec::new();
    for module in modules {
        let each = differences.iter().map(|difference| bytes(difference, module));
        facts.push(json!({ "module": module, "bytes": each.clone().collect::<Vec<_>>() }));
        table.row([module.clone()].into_iter().chain(each.map(|bytes| bytes.to_string())));
    }
    report.table(table);
    report.fact("modules", Value::Array(facts));
}

#[cfg(test)]
mod tests {
    use super::module;

    #[test]
    fn modules_of_symbols() {
        for (symbol, expected) in [
            (
                "_ZN9jumplabel8platform5linux5write5remap5Remap4copy17h0123456789abcdefE",
                "platform::linux::write::remap",
            ),
            ("_ZN9jumplabel4sort9quicksort17h0123456789abcdefE", "sort"),
            ("_ZN9jumplabel5patch4plan5Edits7collect17h0123456789abcdefE", "patch::plan"),
            (
                "_ZN101_$LT$jumplabel..platform..linux..write..mprotect..Mprotect$u20$as$u20$jumplabel..platform..Writer$GT$5write17h0123456789abcdefE",
                "platform::linux::write::mprotect",
            ),
            ("_ZN4core5slice4sort8unstable7ipnsort17h0123456789abcdefE", "(core)"),
            ("_ZN9jumplabel5patch5write28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE", "patch"),
            ("__jumplabel_register_object", "load"),
            ("memcpy", "(others)"),
        ] {
            assert_eq!(module(symbol), expected, "{symbol}");
        }
    }
}
