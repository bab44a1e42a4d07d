//! Targets, compilers and languages that the headers do not support, with their messages.

use super::compile;
use crate::compiler::{CLANG, Compiler, GCC, Language};
use crate::prefix::scratch;

/// A target without sites falls back by itself, with one warning that says how to silence it. A language that is too old is an error. Other
/// architectures and compilers are simulated with their macros.
#[test]
fn unsupported() {
    const SILENCE: &str = "Define JUMPLABEL_FALLBACK to silence this";
    let directory = scratch("unsupported");
    let falls_back = |compiler: Compiler, language: Language, played: &str, words: &str| {
        // The system's headers come first, because they use the same macros.
        let header = directory.join("played.h");
        let text = format!("#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n{played}\n");
        std::fs::write(&header, text).unwrap();
        let body = "return static_branch_unlikely(&off);";
        let flags = format!("-Wno-error -include {}", header.display());
        let (compiles, said) = compile(compiler, language, &flags, body);
        assert!(compiles && said.contains(words) && said.contains(SILENCE), "{compiler:?} {played}: {said}");
        assert_eq!(said.matches("warning: ").count(), 1, "{compiler:?} {played}: {said}");
        let silenced = compile(compiler, language, &format!("{flags} -DJUMPLABEL_FALLBACK"), body);
        assert_eq!(silenced, (true, String::new()), "{compiler:?} {played}");
    };
    for compiler in Compiler::ALL {
        for language in [Language::C, Language::Cxx] {
            falls_back(compiler, language, "#undef __x86_64__", "no sites for this target");
            falls_back(compiler, language, "#undef __ELF__", "on Linux, on Windows (MinGW), and in kernels");
        }
        assert!(compile(compiler, Language::C, "-std=c99", "").1.contains("jumplabel needs C11 or later"));
        let said = compile(compiler, Language::Cxx, "-std=c++14", "").1;
        assert!(said.contains("jumplabel needs C++17 or later"), "{said}");
    }
    falls_back(CLANG, Language::C, "#undef __clang_major__\n#define __clang_major__ 13", "clang 14 and later");
    falls_back(GCC, Language::C, "#undef __GNUC__\n#define __GNUC__ 8", "gcc 9 and later");
}
