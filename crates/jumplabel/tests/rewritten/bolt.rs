//! BOLT, which copies code and does not change the table.

use std::path::Path;
use std::process::Command;

use jumplabel_testing::cargo::{self, Build};
use jumplabel_testing::{headers, programs};

use crate::{BOTH, Copies, NAMES, has};

/// BOLT copies code and leaves the table: flips say that the copies run, of the program's keys and of a plugin's, stripped or not. The same
/// files from before flip.
#[test]
fn bolt() {
    let tool = Path::new("llvm-bolt-16");
    if !has(tool) {
        return;
    }
    let emit = "-Clink-arg=-Wl,--emit-relocs";
    let build = Build::of("objects").args(&["--workspace"]).env("RUSTFLAGS", emit);
    let built = build.results_in("rewritten-bolt", &NAMES);
    let copies = Copies(built[0].with_file_name(format!("bolt-{}", std::process::id())));
    // The plugin only says whether its flip was refused.
    for (bolted, case, says) in [(NAMES[0], "early", "CopiedCode"), (NAMES[1], "two", "flipped || result == 0")] {
        std::fs::create_dir_all(&copies.0).unwrap();
        for (from, to) in built.iter().zip(copies.files()) {
            programs::copy(from, &to).unwrap();
        }
        copies.passes("as built");
        let file = copies.0.join(bolted);
        let new = file.with_extension("new");
        cargo::run(Command::new(tool).arg("--use-gnu-stack").arg(&file).arg("-o").arg(&new));
        std::fs::rename(&new, &file).unwrap();
        for strip in [None, Some("strip"), Some("eu-strip")] {
            if let Some(strip) = strip {
                cargo::run(Command::new(strip).arg(&file));
            }
            let output = copies.run(case);
            let printed = cargo::printed(&output);
            assert!(!output.status.success() && printed.contains(says), "{bolted} {strip:?}\n{printed}");
        }
    }
}

/// BOLT 22 leaves the table for unwinders and the program headers where they were, and turns PT_GNU_STACK into its segment of code. Here, only
/// the headers are those of BOLT. The twin: files of a linker that was told to leave PT_GNU_STACK out flip.
#[test]
fn code_for_stack() {
    for linked in BOTH {
        for bolted in [NAMES[0], NAMES[1]] {
            let copies = linked.copy();
            let file = copies.0.join(bolted);
            let (whole, mode) = (std::fs::read(&file).unwrap(), file.metadata().unwrap().permissions());
            let write = |edit: fn(&mut [u8])| {
                let mut bytes = whole.clone();
                edit(&mut bytes);
                std::fs::remove_file(&file).unwrap();
                programs::write(&file, &bytes).unwrap();
                std::fs::set_permissions(&file, mode.clone()).unwrap();
            };
            write(headers::without_stack);
            copies.passes("without PT_GNU_STACK");
            write(headers::code_for_stack);
            let (case, says) =
                if bolted == NAMES[0] { ("early", "CopiedCode") } else { ("two", "flipped || result == 0") };
            let output = copies.run(case);
            let printed = cargo::printed(&output);
            assert!(!output.status.success() && printed.contains(says), "{bolted}\n{printed}");
        }
    }
}
