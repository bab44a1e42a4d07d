//! C, C++ and Rust in one process: test-crates/mixed and its files in C.

use std::path::PathBuf;
use std::process::Command;

use crate::compiler::{Compiler, GCC, Language};
use crate::prefix::{file, prefix, printed, scratch, succeeds};

/// Builds a crate of test-crates/mixed with these arguments. Returns the directory of the results.
pub fn cargo(directory: &str, words: &[&str], rustflags: &str) -> PathBuf {
    let target = scratch(directory);
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .args(["build", "--release", "--quiet", "--manifest-path"])
        .arg(file("../../test-crates/mixed/Cargo.toml"))
        .args(words);
    // All these crates need the same dependencies, which are built once (cargo 1.91).
    cargo.env("CARGO_TARGET_DIR", &target).env("CARGO_BUILD_BUILD_DIR", scratch("mixed/built"));
    cargo.env("RUSTFLAGS", rustflags).env_remove("CARGO_ENCODED_RUSTFLAGS");
    succeeds(&mut cargo);
    target.join("release")
}

fn says_ok(command: &mut Command) {
    assert_eq!(printed(&succeeds(command)), "ok\n", "{command:?}");
}

/// Two instances, with two tables.
#[test]
fn c_program_with_a_rust_library() {
    let results = cargo("rust-library", &["--package", "library"], "");
    for compiler in Compiler::ALL {
        let program = scratch("mixed").join(compiler.c);
        let libraries = format!("-L {} -llibrary -ljumplabel", results.display());
        let libraries = libraries.replace("-llibrary", "-l:liblibrary.so");
        compiler.build(Language::C, "-O2", &["mixed.c"], &libraries, &program);
        says_ok(Command::new(program).env("LD_LIBRARY_PATH", &results));
    }
}

/// One instance, with one table.
#[test]
fn c_and_rust_in_one_program() {
    let results = cargo("rust-both", &["--package", "library", "--features", "capi"], "");
    for compiler in Compiler::ALL {
        for flags in [
            "-fno-pie -no-pie",
            "-fPIE -pie",
            "-static",
            // Linkers that join the sections named __jump_table of C and of Rust only if their flags are the same.
            "-fuse-ld=mold",
            "-fuse-ld=mold -DJUMPLABEL_PRECISE_TABLE",
            "-fuse-ld=lld -ffunction-sections -Wl,--gc-sections",
        ] {
            let program = scratch("mixed").join(format!("{}-both", compiler.c));
            let libraries = format!("-L {} -l:liblibrary.a -lpthread -ldl", results.display());
            compiler.build(Language::C, &format!("-O2 -DONE_TABLE {flags}"), &["mixed.c"], &libraries, &program);
            says_ok(&mut Command::new(program));
        }
    }
}

/// One object cannot have two instances of the library, because both would define its record. The linker says so.
#[test]
fn two_instances_in_one_program() {
    let results = cargo("rust-library", &["--package", "library"], "");
    let mut command = GCC.command(Language::C, "-O2");
    command.arg(file("tests/c/mixed.c")).arg("-o").arg(scratch("mixed").join("two-instances"));
    command.arg("-L").arg(results).arg("-L").arg(prefix().join("lib")).args(["-l:liblibrary.a", "-l:libjumplabel.a"]);
    let output = command.output().unwrap();
    let expected = "multiple definition of `__jumplabel_register_object'";
    assert!(!output.status.success() && printed(&output).contains(expected), "{}", printed(&output));
}

#[test]
fn rust_program_with_a_c_library() {
    let directory = scratch("rust-program-side");
    GCC.build(Language::C, "-O2 -fPIC -shared", &["side.c"], "-ljumplabel", &directory.join("libside.so"));
    let (side, lib) = (directory.display(), prefix().join("lib"));
    let lib = lib.display();
    let rustflags = format!("-L native={side} -Clink-arg=-Wl,-rpath,{side}:{lib} -Clink-arg=-Wl,-rpath-link,{lib}");
    let results = cargo("rust-program", &["--package", "program"], &rustflags);
    says_ok(&mut Command::new(results.join("program")));
}
