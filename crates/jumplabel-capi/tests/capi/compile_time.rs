//! What checks cost to compile, beside atomic loads: 5,000 functions with one each. Ratios of the time of the processor, the best
//! of three runs in turn; and the size of the object file.
//!
//! ```sh
//! cargo test --release -p jumplabel-capi --test capi compile_time -- --ignored --nocapture
//! ```

use std::fmt::Write;
use std::process::Command;

use crate::compiler::{Compiler, Language};
use crate::prefix::{printed, scratch, succeeds};

const FUNCTIONS: usize = 5_000;

/// Functions that are not alike, so that the compiler does not compare each with all others.
fn source(start: &str, check: &str) -> String {
    let mut text = String::from(start);
    for number in 0..FUNCTIONS {
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

/// Seconds of the processor that a command took, as the shell counts them.
fn seconds(command: &Command) -> f64 {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_str().unwrap()).collect();
    let mut shell = Command::new("bash");
    let output = succeeds(shell.args(["-c", "TIMEFORMAT='%U %S'; time \"$@\"", "bash"]).args(words));
    let times = printed(&output);
    times.split_whitespace().map(|time| time.replace(',', ".").parse::<f64>().unwrap()).sum()
}

#[test]
#[ignore = "a figure"]
fn against_atomic_loads() {
    const ATOMIC: &str =
        "static int word;\nvoid set(int x);\nvoid set(int x)\n{\n\t__atomic_store_n(&word, x, __ATOMIC_RELAXED);\n}\n";
    const KEY: &str = "#include <jumplabel.h>\nstatic DEFINE_STATIC_KEY_FALSE(key);\n";
    let directory = scratch("compile-time");
    let files = [
        ("atomic", source(ATOMIC, "__builtin_expect(__atomic_load_n(&word, __ATOMIC_RELAXED) > 0, 0)")),
        ("key", source(KEY, "static_branch_unlikely(&key)")),
    ];
    let files = files.map(|(name, text)| {
        let file = directory.join(format!("{name}.c"));
        std::fs::write(&file, text).unwrap();
        file
    });
    for compiler in Compiler::ALL {
        for level in ["-O0", "-O2"] {
            let (mut best, mut bytes) = ([f64::MAX; 2], [0; 2]);
            for _ in 0..3 {
                for (which, file) in files.iter().enumerate() {
                    let object = file.with_extension("o");
                    let mut command = compiler.command(Language::C, &format!("{level} -c"));
                    command.arg(file).arg("-o").arg(&object);
                    best[which] = best[which].min(seconds(&command));
                    bytes[which] = std::fs::metadata(&object).unwrap().len() / 1000;
                }
            }
            let ratio = best[1] / best[0];
            println!(
                "{} {level}: {:.2} s, with keys {:.2} s: {ratio:.2} times; {} kB, with keys {} kB",
                compiler.c, best[0], best[1], bytes[0], bytes[1]
            );
        }
    }
}
