//! The examples, compiled and run.

use std::process::Command;

use crate::compiler::{Compiler, GCC, Language};
use crate::prefix::{file, printed, scratch, succeeds};

fn example(compiler: Compiler, language: Language, flags: &str, name: &str) -> Command {
    let source = file("examples").join(name);
    let program = scratch("examples").join(format!("{}-{}", compiler.c, name.replace('/', "-")));
    Command::new(compiler.build(language, flags, &[source.to_str().unwrap()], "-ljumplabel", &program))
}

#[test]
fn indexer() {
    for compiler in Compiler::ALL {
        for flags in ["-O2", "-O2 -DJUMPLABEL_FALLBACK"] {
            let mut indexer = example(compiler, Language::C, flags, "c/indexer.c");
            let said = printed(&succeeds(indexer.arg("0.6")));
            assert!(said.contains("phase 3") && said.contains(" flips during "), "{compiler:?} {flags}: {said}");
        }
    }
    let mut indexer = example(GCC, Language::C, "-O2", "c/indexer.c");
    let said = printed(&succeeds(indexer.arg("0.3").arg(file("examples/c/indexer.c"))));
    assert!(said.contains("phase 3"), "{said}");
    assert_eq!(indexer.arg("one too many").output().unwrap().status.code(), Some(2));
}

#[test]
fn guard() {
    for compiler in Compiler::ALL {
        for flags in ["-O0", "-O2", "-O2 -DJUMPLABEL_FALLBACK"] {
            let said = printed(&succeeds(&mut example(compiler, Language::Cxx, flags, "cpp/guard.cpp")));
            let expected = "fibonacci(2)\nfibonacci(1)\nfibonacci(0)\ntwice\ntwice\n";
            assert_eq!(said, expected, "{compiler:?} {flags}");
        }
    }
}

#[test]
fn paravirt() {
    for compiler in Compiler::ALL {
        for flags in ["-O0", "-O2", "-O2 -DJUMPLABEL_FALLBACK"] {
            let said = printed(&succeeds(&mut example(compiler, Language::C, flags, "c/paravirt.c")));
            let counts: Vec<_> = said.lines().filter(|line| line.ends_with(" 200000 of 200000")).collect();
            assert_eq!(counts.len(), 3, "{compiler:?} {flags}: {said}");
        }
    }
}
