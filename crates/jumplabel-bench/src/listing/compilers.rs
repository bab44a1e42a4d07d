//! The code that C compilers make of a check, and that rustc makes of it in a program without an operating system. This code is always optimised,
//! even if this command is not.
//!
//! ```text
//!   gcc, clang    programs/parent.c, -O2: the same function as in this command
//!   rustc         test-crates/checks, whose code for RISC-V `cache` counts
//! ```

use object::{Object as _, ObjectSection, ObjectSymbol, SymbolKind};
use serde_json::{Value, json};

use crate::Result;
use crate::cache::riscv::Image;
use crate::programs::build::{self, COMPILERS, Compiler};
use crate::programs::object;
use crate::report::{Report, Table};
use crate::site::decode::Path;

/// The checks. Each has the macro with which programs/parent.c is compiled for it.
const WAYS: [(&str, &str); 3] = [("without a check", "CONSTANT"), ("static key", "SITE"), ("relaxed load", "RELAXED")];
/// The names of the functions with these checks in test-crates/checks.
const FUNCTIONS: [&str; 3] = ["constant", "site", "relaxed"];
const TARGET: &str = "x86_64-unknown-none";

/// The bytes of a function, if they are known, and the instructions and loads on the path of a check that fails.
type Counts = (Option<u64>, [usize; 2]);

pub fn tables(report: &mut Report) -> Result<()> {
    let mut facts = Vec::new();
    let mut all: Vec<(&str, Result<[Counts; 3]>)> = vec![("rustc", rustc())];
    all.extend(COMPILERS.iter().map(|compiler| (compiler.name, c(compiler))));
    let mut table = Table::new(
        "a check by each compiler, optimised",
        &["", "bytes of the function", "instructions of the check", "bytes of the check", "loads of the check"],
    );
    for (compiler, counts) in all {
        let counts = match counts {
            Ok(counts) => counts,
            Err(error) => {
                report.note(format!("n/a: {compiler}: {error}"));
                continue;
            }
        };
        let passed = counts.iter().map(|(_, path)| *path).collect::<Vec<_>>();
        for ((name, _), (bytes, path)) in WAYS.iter().zip(&counts) {
            let [instructions, loads] = [0, 1].map(|at| path[at] as i64 - passed[0][at] as i64);
            let right = match *name {
                "without a check" => instructions == 0 && loads == 0,
                "static key" => instructions == 1 && loads == 0,
                _ => instructions >= 2 && loads == 1,
            };
            if !right {
                return Err(format!(
                    "{compiler}: {name} is {instructions} instructions and {loads} loads: not measured"
                )
                .into());
            }
            let of_function = bytes.map(|bytes| bytes.to_string()).unwrap_or_default();
            let more = bytes.zip(counts[0].0).map(|(bytes, none)| (bytes - none).to_string()).unwrap_or_default();
            table.row([format!("{compiler}: {name}"), of_function, instructions.to_string(), more, loads.to_string()]);
            report.count(format!("instructions of a check, {compiler}: {name}"), instructions as f64);
            facts.push(json!({ "compiler": compiler, "check": name, "bytes": bytes, "instructions": instructions, "loads": loads }));
        }
    }
    report.table(table);
    report.note("bytes of the check: those of its arm, too, and of what aligns it");
    report.fact("compilers", Value::Array(facts));
    Ok(())
}

fn c(compiler: &'static Compiler) -> Result<[Counts; 3]> {
    let _lock = build::lock()?;
    build::install()?;
    let (source, own) =
        (build::sources().join("parent.c"), format!("-I{}", build::sources().join("asserted").display()));
    let objects = WAYS.map(|(_, option)| {
        let name = format!("parent-{}-{}", compiler.name, option.to_lowercase());
        object(compiler, &source, &name, &["-O2", &format!("-D{option}"), &own])
    });
    build::compile(&objects)?;
    let mut counts = [(None, [0; 2]); 3];
    for (of, object) in counts.iter_mut().zip(&objects) {
        let data = std::fs::read(object.file())?;
        let file = object::File::parse(&*data)?;
        let functions = file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text);
        let function = functions.into_iter().find(|symbol| symbol.name() == Ok("parent_of")).ok_or("no parent_of")?;
        let section = file.section_by_index(function.section_index().ok_or("no section")?)?;
        let code = Code::of(section.data()?);
        *of = (Some(function.size()), code.path(function.address() as usize));
    }
    Ok(counts)
}

fn rustc() -> Result<[Counts; 3]> {
    let image = Image::read(&crate::cache::riscv::build(TARGET)?)?;
    let code = Code::of(&image.code);
    let mut counts = [(None, [0; 2]); 3];
    for (of, name) in counts.iter_mut().zip(FUNCTIONS) {
        of.1 = code.path((image.address(name)? - image.at) as usize);
    }
    Ok(counts)
}

/// Code that is read and not run. After it come as many bytes as the longest instruction has, because the decoder may read past the code.
struct Code(Vec<u8>);

impl Code {
    fn of(bytes: &[u8]) -> Code {
        Code([bytes, &[0xcc; 16]].concat())
    }

    /// The numbers of instructions and loads from a function's entry to its return.
    fn path(&self, at: usize) -> [usize; 2] {
        let path = Path::of_call(self.0.as_ptr() as usize + at);
        [path.len(), path.loads()]
    }
}
