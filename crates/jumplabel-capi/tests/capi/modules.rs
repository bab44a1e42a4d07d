//! tests/c/module.cc, module_user.cc: keys and checks in a C++20 module, and checks that other files import from it.

use std::path::Path;
use std::process::Command;

use crate::compiler::{Compiler, Language};
use crate::prefix::{file, prefix, printed, scratch, succeeds};

/// Compiles the module to checks.o, and makes the file that its importers read.
fn compile_module(compiler: Compiler, flags: &str, directory: &Path) {
    let source = file("tests/c/module.cc");
    let mut command = compiler.command(Language::Cxx, flags);
    command.current_dir(directory);
    if compiler.c.starts_with("gcc") {
        succeeds(command.args(["-fmodules-ts", "-c"]).arg(source).args(["-o", "checks.o"]));
        return;
    }
    succeeds(command.args(["--precompile", "-x", "c++-module"]).arg(source).args(["-o", "checks.pcm"]));
    let mut second = compiler.command(Language::Cxx, &format!("{flags} -Wno-unused-command-line-argument -x none"));
    succeeds(second.current_dir(directory).args(["-c", "checks.pcm", "-o", "checks.o"]));
}

/// Not for clang 14 and 15: with -fmodules-ts, they take any `module` for the keyword.
#[test]
fn imported_checks() {
    let directory = scratch("modules");
    let others = Compiler::others().filter(|compiler| !["clang-14", "clang-15"].contains(&compiler.c));
    for compiler in Compiler::ALL.into_iter().chain(others) {
        for mode in ["-O0", "-O2", "-O2 -DJUMPLABEL_FALLBACK"] {
            // clang 16 crashes when it instantiates a template with an `asm goto` that it has imported.
            let templates = if compiler.c == "clang-16" { "" } else { "-DTEMPLATES" };
            let flags = format!("-std=c++20 {mode} {templates}");
            compile_module(compiler, &flags, &directory);
            let import = if compiler.c.starts_with("gcc") { "-fmodules-ts" } else { "-fmodule-file=checks=checks.pcm" };
            let mut command = compiler.command(Language::Cxx, &format!("{flags} {import}"));
            command
                .current_dir(&directory)
                .arg(file("tests/c/module_user.cc"))
                .args(["-x", "none", "checks.o", "-o", "program"]);
            let library = prefix().join("lib");
            command.arg("-L").arg(&library).arg("-ljumplabel").arg(format!("-Wl,-rpath,{}", library.display()));
            succeeds(&mut command);
            let said = printed(&succeeds(&mut Command::new(directory.join("program"))));
            assert_eq!(said, "ok\n", "{compiler:?} {mode}");
        }
    }
}
