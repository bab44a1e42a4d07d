//! Keys that several files define. The linker keeps one of them, and all checks must be of that one.

use std::process::Command;

use crate::compiler::{CLANG, Compiler, GCC, Language};
use crate::prefix::{printed, scratch, succeeds};

fn runs(compiler: Compiler, language: Language, flags: &str, files: &[&str]) {
    let program = scratch(files[0]).join("program");
    compiler.build(language, flags, files, "-ljumplabel", &program);
    assert_eq!(printed(&succeeds(&mut Command::new(program))), "ok\n", "{compiler:?} {flags}");
}

/// tests/c/several.cc: `inline` keys, those of templates, and `static` ones in templates.
#[test]
fn inline_keys() {
    let files = ["several.cc", "several_other.cc"];
    for compiler in Compiler::ALL.into_iter().chain(Compiler::others()) {
        for flags in ["-O0", "-O2", "-O2 -fPIC", "-O2 -DJUMPLABEL_PRECISE_TABLE", "-O2 -DJUMPLABEL_SHORT"] {
            runs(compiler, Language::Cxx, flags, &files);
        }
    }
    for (compiler, linkers) in [(GCC, ["gold", "lld", "mold"]), (CLANG, ["gold", "lld-16", "mold"])] {
        for linker in linkers {
            for flags in ["-O0", "-O2 -ffunction-sections -Wl,--gc-sections", "-O2 -fPIC -DJUMPLABEL_LOCAL_KEYS"] {
                runs(compiler, Language::Cxx, &format!("{flags} -fuse-ld={linker}"), &files);
            }
        }
    }
}

/// tests/c/overridden.c: a weak key, and a key of the same name that is not weak.
#[test]
fn overridden_keys() {
    for compiler in Compiler::ALL {
        for flags in ["-O0", "-O2", "-O2 -fPIC", "-O2 -DJUMPLABEL_SHORT", "-O2 -fno-pie -no-pie", "-O3 -flto"] {
            runs(compiler, Language::C, flags, &["overridden.c", "overriding.c"]);
        }
    }
}
