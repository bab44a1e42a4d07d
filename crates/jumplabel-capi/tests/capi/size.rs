//! The size that the library adds to a C program: code, constants, unwind tables. Prints each row, and compares it with a limit:
//!
//! ```sh
//! cargo test -p jumplabel-capi --test capi size -- --nocapture
//! ```

use std::path::Path;
use std::process::Command;

use crate::compiler::{GCC, Language};
use crate::exports::{EXPORTS, linked, not_installed};
use crate::prefix::{prefix, printed, scratch, succeeds};

/// The sizes of sections, in bytes.
#[derive(Debug)]
struct Sizes {
    code: usize,
    constants: usize,
    unwind: usize,
    /// The column `text` of the tool `size`: all read-only parts, including names and relocations for the dynamic loader.
    text: usize,
}

impl Sizes {
    fn of(file: &Path) -> Sizes {
        let listed = printed(&succeeds(Command::new("size").arg("-A").arg(file)));
        let sum = |names: &[&str]| -> usize {
            let rows = listed.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
            let is_one = |row: &Vec<&str>| row.len() == 3 && names.contains(&row[0]);
            rows.filter(is_one).map(|row| row[1].parse::<usize>().unwrap()).sum()
        };
        let total = printed(&succeeds(Command::new("size").arg(file)));
        let text = total.lines().last().and_then(|row| row.split_whitespace().next()).unwrap().parse().unwrap();
        let sizes = Sizes {
            code: sum(&[".text"]),
            constants: sum(&[".rodata"]),
            unwind: sum(&[".eh_frame", ".eh_frame_hdr", ".gcc_except_table"]),
            text,
        };
        assert!(sizes.code > 50_000 && sizes.unwind > 0, "{listed}");
        sizes
    }

    /// Prints a row. Returns true if code and constants are within the limit.
    fn keep_to(&self, limit: usize, what: &str) -> bool {
        let Sizes { code, constants, unwind, text } = self;
        println!(
            "{what}: code and constants {code} + {constants}, at most {limit}; unwind tables {unwind}; text of `size` {text}"
        );
        code + constants <= limit
    }
}

/// Compiles and links a program with an archive.
fn program(name: &str, source: &str, flags: &str, archive: &Path) -> Sizes {
    let directory = scratch("size");
    let file = directory.join(format!("{name}.c"));
    std::fs::write(&file, source).unwrap();
    let flags = format!("-O2 {flags}");
    let libraries = format!("{} -lpthread -ldl -lm", linked(archive));
    Sizes::of(&GCC.build(Language::C, &flags, &[file.to_str().unwrap()], &libraries, &directory.join(name)))
}

const ONE: &str = "#include <jumplabel.h>\nstatic DEFINE_STATIC_KEY_FALSE(key);\nint main(void)\n{\n\
    \treturn jumplabel_enable(&key.key) || !static_branch_unlikely(&key);\n}\n";

/// A program that uses each function of the library.
fn all() -> String {
    let names: Vec<_> = EXPORTS.split_whitespace().collect();
    let declared: String = names.iter().map(|name| format!("void {name}(void);\n")).collect();
    format!(
        "{declared}void (*const all[])(void) = {{ {} }};\nint main(int count, char **words)\n{{\n\t(void)words;\n\t\
             all[count]();\n\treturn 0;\n}}\n",
        names.join(", ")
    )
}

#[test]
fn limits() {
    let archive = prefix().join("lib/libjumplabel.a");
    let of_cargo = not_installed();
    for flags in ["-Wl,--gc-sections", "-Wl,--gc-sections -fuse-ld=lld"] {
        let one = |archive| program("one", ONE, flags, archive);
        assert!(one(&archive).keep_to(64_000, &format!("one key, {flags}")));
        // The broken twin: with std, the archive is too large.
        assert!(!one(&of_cargo).keep_to(64_000, &format!("one key, with std, {flags}")));
        assert!(program("all", &all(), flags, &archive).keep_to(124_000, &format!("all functions, {flags}")));
    }
    assert!(program("whole", ONE, "", &archive).keep_to(124_000, "one key, all of the archive"));
    assert!(Sizes::of(&prefix().join("lib/libjumplabel.so")).keep_to(124_000, "libjumplabel.so"));
    // The libraries for operators, which contain std.
    let started = ONE.replacen('\n', "\n#include <jumplabel/agent.h>\nJUMPLABEL_STARTUP();\n", 1);
    let agent = program("agent", &started, "-Wl,--gc-sections", &prefix().join("lib/libjumplabel-agent.a"));
    assert!(agent.keep_to(800_000, "one key, libjumplabel-agent.a"));
    assert!(Sizes::of(&prefix().join("lib/libjumplabel-agent.so")).keep_to(800_000, "libjumplabel-agent.so"));
}

/// The names of functions and data from Rust's standard library, or from its dependencies for backtraces.
fn of_std(library: &Path) -> Vec<String> {
    let symbols = printed(&succeeds(Command::new("nm").arg("-C").arg(library)));
    let of_std = ["std::", "gimli::", "addr2line::", "miniz_oxide::", "_Unwind_"];
    symbols.lines().filter(|line| of_std.iter().any(|name| line.contains(name))).map(String::from).collect()
}

#[test]
fn no_std() {
    let installed = |name: &str| prefix().join("lib").join(name);
    for library in ["libjumplabel.a", "libjumplabel.so"].map(installed) {
        let symbols = printed(&succeeds(Command::new("nm").arg("-C").arg(&library)));
        assert!(symbols.contains("jumplabel::patch::"), "{}: it has no symbols", library.display());
        assert_eq!(of_std(&library), [""; 0], "{}", library.display());
    }
    // These libraries do contain std.
    for library in ["libjumplabel-fail.a", "libjumplabel-agent.so"].map(installed) {
        assert!(of_std(&library).len() > 100, "{}", library.display());
    }
}
