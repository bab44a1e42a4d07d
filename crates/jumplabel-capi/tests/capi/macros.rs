//! In C without optimisation, clang gets the text of a check as an assembler macro: `<jumplabel/site_macros.h>`.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::compiler::{CLANG, Compiler, GCC, Language};
use crate::prefix::{file, printed, scratch, succeeds};

/// Compiles a file of the program.
fn part(compiler: Compiler, part: usize, flags: &str, directory: &Path) -> PathBuf {
    let object = directory.join(format!("{part}.o"));
    let mut command =
        compiler.command(Language::C, &format!("{flags} -DPART={part} -c -Wno-unused-command-line-argument"));
    succeeds(command.arg(file("tests/c/macros.c")).arg("-o").arg(&object));
    object
}

/// Links files of the program with `flags`, and runs it.
fn runs(compiler: Compiler, flags: &str, objects: &[&Path], directory: &Path, said: &str) {
    let names: Vec<&str> = objects.iter().map(|object| object.to_str().unwrap()).collect();
    // The linked files are not C sources.
    let flags = format!("{flags} -x none");
    let program = compiler.build(Language::C, &flags, &names, "-ljumplabel", &directory.join("program"));
    assert_eq!(printed(&succeeds(&mut Command::new(program))), "ok\n", "{compiler:?} {said}");
}

/// Two files with the macros, and an optimised one without, in one program; with Intel's syntax; with an external assembler.
#[test]
fn files_with_and_without_them() {
    let directory = scratch("macros");
    let flags = ["", "-fPIC", "-DJUMPLABEL_FOREIGN_KEYS", "-masm=intel", "-fno-integrated-as", "-g"];
    let others =
        Compiler::others().filter(|compiler| compiler.c.starts_with("clang")).map(|compiler| (compiler, "-fPIC"));
    for (compiler, flags) in flags.map(|flags| (CLANG, flags)).into_iter().chain(others) {
        let objects = [(1, "-O0"), (2, "-O0"), (3, "-O2")]
            .map(|(number, level)| part(compiler, number, &format!("{level} {flags}"), &directory));
        runs(compiler, "", &objects.each_ref().map(PathBuf::as_path), &directory, flags);
    }
}

/// Link-time optimisation joins the assembler texts of all files, or compiles each file with its own.
#[test]
fn link_time_optimisation() {
    let directory = scratch("macros-lto");
    for flags in ["-flto", "-flto=thin"] {
        let objects = [(1, "-O0"), (2, "-O0"), (3, "-O2")]
            .map(|(number, level)| part(CLANG, number, &format!("{level} {flags}"), &directory));
        runs(CLANG, flags, &objects.each_ref().map(PathBuf::as_path), &directory, flags);
    }
}

/// An entry leads to the key of its own file, even if a library exports the key.
#[test]
fn local_keys_that_are_shown() {
    let directory = scratch("macros-local");
    for compiler in [GCC, CLANG] {
        let first = part(compiler, 1, "-O0 -fPIC -DJUMPLABEL_LOCAL_KEYS -fvisibility=default", &directory);
        let library = directory.join("libfirst.so");
        let shared = "-shared -x none";
        compiler.build(Language::C, shared, &[first.to_str().unwrap()], "-ljumplabel", &library);
        let others = [2, 3].map(|number| part(compiler, number, "-O0 -DJUMPLABEL_FOREIGN_KEYS -fPIC", &directory));
        runs(compiler, "", &[&others[0], &others[1], &library], &directory, "a library");
    }
}
