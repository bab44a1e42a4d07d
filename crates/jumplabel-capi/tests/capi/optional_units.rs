//! `jumplabel-optional.h` in several linked files, and in namespaces.

use std::process::Command;

use jumplabel_testing::breadth;

use crate::optional::{build, compiler, linked, says, vendored};
use crate::prefix::{file, printed, succeeds};

/// A program and a shared library of it both have JUMPLABEL_STARTUP(): each key is set.
#[test]
fn startup_in_both() {
    let directory = vendored("optional-both");
    for with in [false, true] {
        let library = directory.join("liboptional.so");
        let mut shared = compiler("gcc", "-std=c11 -O2 -fPIC -shared");
        shared.arg("-I").arg(&directory).arg(file("tests/c/startup_library.c")).arg("-o").arg(&library);
        let mut program = compiler("gcc", "-std=c11 -O2");
        program.arg("-I").arg(&directory).arg(file("tests/c/startup_both.c")).arg(&library);
        program.arg(format!("-Wl,-rpath,{}", directory.display())).arg("-o").arg(directory.join("program"));
        for command in [&mut shared, &mut program] {
            if with {
                linked(command);
            }
            succeeds(command);
        }
        for (variable, said) in [
            ("*.key=on", "library 1 program 1\n"),
            ("library.key=on", "library 1 program 0\n"),
            ("program.key+1", "library 0 program 1\n"),
        ] {
            let output = succeeds(Command::new(directory.join("program")).env("JUMPLABEL", variable));
            assert_eq!(String::from_utf8_lossy(&output.stdout), said, "{with} {variable}");
        }
    }
}

#[test]
fn in_a_namespace() {
    let directory = vendored("optional-namespace");
    for (flags, with) in [("-std=c++11", false), ("-std=c++17", false), ("-std=c++17", true)] {
        for name in ["g++", "clang++-16"].into_iter().filter(|name| breadth::has(name)) {
            let program = build(&directory, &mut compiler(name, flags), &["namespaces.cc"], with);
            says(&program, "ok 0\n");
            let output = succeeds(Command::new(&program).env("JUMPLABEL", "app.three[1]=on,app.one=on"));
            assert_eq!(printed(&output), "ok 3\n");
        }
    }
}
