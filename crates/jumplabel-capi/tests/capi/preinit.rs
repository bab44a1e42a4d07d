//! Flips before any constructor: tests/c/preinit.c, ifunc.c.

use std::process::Command;

use crate::compiler::{Compiler, GCC, Language};
use crate::prefix::{printed, scratch, succeeds};

/// The library is in the program, static or not, or in libjumplabel.so, whose constructors run later, too.
#[test]
fn preinit_array() {
    let archive = "-Wl,-Bstatic -ljumplabel -Wl,-Bdynamic";
    let ways =
        [("-O2", "-ljumplabel"), ("-O2", archive), ("-O2 -fno-pie -no-pie", archive), ("-O2 -static", "-ljumplabel")];
    for compiler in Compiler::ALL {
        for (flags, libraries) in ways {
            let program = scratch("preinit").join("program");
            compiler.build(Language::C, flags, &["preinit.c"], libraries, &program);
            assert_eq!(printed(&succeeds(&mut Command::new(&program))), "ok\n", "{compiler:?} {flags} {libraries}");
        }
    }
    let program = scratch("preinit").join("program");
    GCC.build(Language::Cxx, "-O0", &["preinit.c"], "-ljumplabel", &program);
    assert_eq!(printed(&succeeds(&mut Command::new(&program))), "ok\n");
}

#[test]
fn ifunc() {
    let archive = "-Wl,-Bstatic -ljumplabel -Wl,-Bdynamic";
    for compiler in Compiler::ALL {
        for flags in ["-O2", "-O2 -fno-pie -no-pie", "-O2 -static -DQUIET", "-O2 -static-pie -DQUIET"] {
            let program = scratch("ifunc").join("program");
            let libraries = if flags.contains("static") { "-ljumplabel" } else { archive };
            compiler.build(Language::C, flags, &["ifunc.c"], libraries, &program);
            // The refusals in the resolver are on stderr.
            assert_eq!(succeeds(&mut Command::new(&program)).stdout, b"ok\n", "{compiler:?} {flags}");
        }
    }
}
