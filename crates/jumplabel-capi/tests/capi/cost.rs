//! The cost of the interface: prints figures. Only counts are limited.
//!
//! ```sh
//! cargo test --release -p jumplabel-capi --test capi cost -- --ignored --nocapture
//! ```

use std::fmt::Write;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::compiler::{Compiler, GCC, Language};
use crate::prefix::{prefix, printed, scratch, succeeds};

const SITES: usize = 10_000;

/// A library of 100 functions with 100 checks each.
fn library(name: &str, flags: &str, check: &str) -> String {
    let directory = scratch("cost");
    let source = directory.join(format!("{name}.c"));
    let mut text =
        String::from("#include <jumplabel.h>\nDEFINE_STATIC_KEY_FALSE(key);\nextern int number;\nint number;\n");
    for function in 0..SITES / 100 {
        writeln!(text, "int f{function}(int x);\nint f{function}(int x)\n{{").unwrap();
        text += &format!("\tif ({check}) x *= 3;\n").repeat(100);
        text += "\treturn x;\n}\n";
    }
    std::fs::write(&source, text).unwrap();
    let library = directory.join(format!("lib{name}.so"));
    let flags = format!("-O1 -fPIC -shared {flags}");
    GCC.build(Language::C, &flags, &[source.to_str().unwrap()], "-Wl,--no-as-needed -ljumplabel", &library);
    library.to_str().unwrap().into()
}

fn relocations(library: &str) -> usize {
    let listed = printed(&succeeds(Command::new("readelf").arg("-rW").arg(library)));
    listed.lines().filter(|line| line.contains("R_X86_64_")).count()
}

/// `dlopen` of a library with 10,000 sites, compared with one that tests a variable as often.
#[test]
#[ignore = "a figure"]
fn dlopen() {
    let libraries = [
        library("variable", "", "number"),
        library("sites", "", "static_branch_unlikely(&key)"),
        library("local", "-DJUMPLABEL_LOCAL_KEYS -fvisibility=hidden", "static_branch_unlikely(&key)"),
    ];
    for library in &libraries {
        println!("{library}: {} relocations", relocations(library));
    }
    assert!(relocations(&libraries[1]) < relocations(&libraries[0]) + 10);
    let program = GCC.build(
        Language::C,
        "-O2",
        &["dlopen.c"],
        "-Wl,--no-as-needed -ljumplabel -ldl",
        &scratch("cost").join("dlopen"),
    );
    println!("library, p10 us, p50 us of 200 times");
    print!("{}", printed(&succeeds(Command::new(program).args(libraries))));
}

/// The time that `#include <jumplabel.h>` adds to a compilation.
#[test]
#[ignore = "a figure"]
fn header() {
    const ROUNDS: usize = 20;
    let directory = scratch("cost");
    let sources = [("empty", "int x;\n"), ("header", "#include <jumplabel.h>\nint x;\n")];
    for compiler in Compiler::ALL {
        for language in [Language::C, Language::Cxx] {
            let mut times = [const { Vec::new() }; 2];
            for _ in 0..ROUNDS {
                for ((name, text), times) in sources.iter().zip(&mut times) {
                    let source = directory.join(name);
                    std::fs::write(&source, text).unwrap();
                    let mut command = compiler.command(language, "-O2 -c -o /dev/null");
                    let start = Instant::now();
                    succeeds(command.arg(&source));
                    times.push(start.elapsed());
                }
            }
            let [empty, header] = times.map(|mut times: Vec<Duration>| {
                times.sort_unstable();
                times[ROUNDS / 2].as_secs_f64() * 1e3
            });
            println!("{compiler:?} {language:?}: {empty:.1} ms, with the header {header:.1} ms");
        }
    }
    assert!(prefix().exists());
}
