//! Keys, static calls and modes that change together: tests/c/batches.c.

use std::process::Command;

use crate::compiler::{Compiler, GCC, Language};
use crate::prefix::{printed, scratch, succeeds};

/// A batch with a key, a mode, and five more sites. The write of each site is refused in turn, at each place in the batch.
#[test]
fn all_or_nothing() {
    let program = scratch("batches").join("program");
    for compiler in Compiler::ALL {
        for language in [Language::C, Language::Cxx] {
            for (flags, said) in [
                ("-O2", "ok 7\n"),
                ("-O0", "ok 7\n"),
                ("-O2 -fPIC", "ok 7\n"),
                ("-O2 -flto -static", "ok 7\n"),
                ("-O2 -DJUMPLABEL_FALLBACK", "ok 0\n"),
            ] {
                compiler.build(language, flags, &["batches.c"], "-ljumplabel", &program);
                assert_eq!(printed(&succeeds(&mut Command::new(&program))), said, "{compiler:?} {language:?} {flags}");
            }
        }
    }
}

/// The test notices a twin that commits one request after the other.
#[test]
fn broken_twin_commits_one_by_one() {
    for (flags, words) in [("-O2 -DONLY_WRITES", "memcmp"), ("-O2 -DJUMPLABEL_FALLBACK", "state() == before")] {
        let program = scratch("batches-twin").join("program");
        let flags = format!("{flags} -DBREAK_TOGETHER");
        GCC.build(Language::C, &flags, &["batches.c"], "-ljumplabel", &program);
        let output = Command::new(program).output().unwrap();
        assert!(!output.status.success() && printed(&output).contains(words), "{flags}: {}", printed(&output));
    }
}
