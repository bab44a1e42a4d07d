//! Measures the work of compilers for checks, and compares it with atomic loads. Compiles a file with many functions that have one check each, and a
//! file with few such functions, whose cost is subtracted because it is mostly that of the start and the header. Counts instructions of the compiler
//! and the assembler with valgrind. Times are not used, because on a busy machine they differ by half from run to run.
//!
//! ```sh
//! cargo test --release -p jumplabel-capi --test capi compile_time -- --ignored --nocapture
//! ```

use std::fmt::Write;
use std::fs::DirEntry;
use std::path::Path;
use std::process::Command;

use crate::compiler::{CLANG, Compiler, Language};
use crate::prefix::{scratch, succeeds};

/// Functions that differ, so that the compiler does not compare each with all others.
fn source(start: &str, check: &str, functions: usize) -> String {
    let mut text = String::from(start);
    for number in 0..functions {
        let (cold, operator) = (number % 7, ["+", "-", "*", "^", "|", "&"][number % 6]);
        writeln!(
            text,
            "void cold{cold}(int x, const int *list);\nint f{number}(const int *list, int count);\n\
             int f{number}(const int *list, int count)\n{{\n\tint x = {number};\n\n\
             \tfor (int i = 0; i < count; i++)\n\t\tx = x * {number} {operator} list[i];\n\
             \tif ({check})\n\t\tcold{cold}(x, list);\n\treturn x {operator} {number};\n}}"
        )
        .unwrap();
    }
    text
}

/// The number of instructions of a command and all its children.
fn instructions(command: &Command, logs: &Path) -> f64 {
    let _ = std::fs::remove_dir_all(logs);
    std::fs::create_dir(logs).unwrap();
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", "--trace-children=yes"]);
    valgrind.arg(format!("--log-file={}/%p", logs.display()));
    succeeds(valgrind.arg(command.get_program()).args(command.get_args()));
    let count = |entry: std::io::Result<DirEntry>| -> f64 {
        let log = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        let line = log.lines().find_map(|line| line.split_once(" refs:")).unwrap_or_else(|| panic!("{log}"));
        line.1.trim().replace(',', "").parse().unwrap()
    };
    std::fs::read_dir(logs).unwrap().map(count).sum()
}

/// The number of functions that both files have. The first check costs more than others, because of what a file needs once.
const FEW: usize = 10;

/// The compiler's work for a check, divided by that for an atomic load, with this many functions.
fn against_atomic_loads(compiler: Compiler, level: &str, functions: usize) -> f64 {
    const ATOMIC: &str =
        "static int word;\nvoid set(int x);\nvoid set(int x)\n{\n\t__atomic_store_n(&word, x, __ATOMIC_RELAXED);\n}\n";
    const KEY: &str = "#include <jumplabel.h>\nstatic DEFINE_STATIC_KEY_FALSE(key);\n";
    let directory = scratch(&format!("compile-time{level}-{functions}"));
    let [atomic, key] = [
        (ATOMIC, "__builtin_expect(__atomic_load_n(&word, __ATOMIC_RELAXED) > 0, 0)"),
        (KEY, "static_branch_unlikely(&key)"),
    ]
    .map(|(start, check)| {
        let [whole, few] = [FEW + functions, FEW].map(|functions| {
            let file = directory.join("file.c");
            std::fs::write(&file, source(start, check, functions)).unwrap();
            let mut command = compiler.command(Language::C, &format!("{level} -Wno-unused-variable -c"));
            command.arg(&file).arg("-o").arg(directory.join("file.o"));
            instructions(&command, &directory.join("logs"))
        });
        (whole - few) / functions as f64 / 1e3
    });
    let ratio = key / atomic;
    println!(
        "{} {level}: {atomic:.0} thousand instructions a function, with a key {key:.0}: {ratio:.2} times",
        compiler.c
    );
    ratio
}

/// Shows the use of `<jumplabel/site_macros.h>`. Numbers of instructions do not depend on the machine's load.
#[test]
fn clang_without_optimisation() {
    let ratio = against_atomic_loads(CLANG, "-O0", 40);
    assert!(ratio <= 2.0, "{ratio}");
}

#[test]
#[ignore = "a figure"]
fn all_against_atomic_loads() {
    for compiler in Compiler::ALL {
        for level in ["-O0", "-O2"] {
            against_atomic_loads(compiler, level, 500);
        }
    }
}
