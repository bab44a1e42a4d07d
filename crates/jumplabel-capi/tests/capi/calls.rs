//! Static calls in different objects (tests/c/calls_host.c, calls_plugin.c), in C++ (tests/c/calls.cc), under threads.

use std::process::Command;

use crate::compiler::{Compiler, GCC, Language};
use crate::prefix::{printed, scratch, succeeds};

/// The program and the plugin call and update each other's static calls, with one shared instance of the library, and with one in each.
#[test]
fn in_other_objects() {
    let directory = scratch("calls-objects");
    let copy = "-Wl,-Bstatic -ljumplabel -Wl,-Bdynamic";
    for compiler in Compiler::ALL {
        for (flags, host_flags, library) in [
            ("-O2", "-fPIE -pie", "-ljumplabel"),
            ("-O0", "-fno-pie -no-pie", "-ljumplabel"),
            ("-O2 -flto", "-fPIE -pie", "-ljumplabel"),
            ("-O2 -fvisibility=hidden -Wl,--gc-sections -ffunction-sections", "-fPIE -pie", "-ljumplabel"),
            ("-O2 -fuse-ld=lld", "", "-ljumplabel"),
            ("-O2 -fuse-ld=gold", "", "-ljumplabel"),
            ("-O2 -fuse-ld=mold", "", "-ljumplabel"),
            ("-O2 -fno-plt", "-fno-pie -no-pie", copy),
            ("-O2 -DJUMPLABEL_FALLBACK", "-fPIE -pie", "-ljumplabel"),
        ] {
            let plugin = |name: &str, more: &str| {
                let flags = format!("{flags} -fPIC -shared {more}");
                compiler.build(Language::C, &flags, &["calls_plugin.c"], library, &directory.join(name))
            };
            let plugins = [plugin("plugin.so", ""), plugin("refused.so", "-DUPDATES_A_TRAMP")];
            let flags = format!("{flags} {host_flags} -rdynamic");
            let libraries = format!("{library} -ldl");
            let host = compiler.build(Language::C, &flags, &["calls_host.c"], &libraries, &directory.join("host"));
            for writer in ["procmem", "mprotect"] {
                let mut host = Command::new(&host);
                let output = succeeds(host.env("JUMPLABEL_WRITER", writer).args(&plugins));
                assert_eq!(printed(&output), "ok\n", "{compiler:?} {flags}");
            }
        }
    }
}

#[test]
fn cxx() {
    let directory = scratch("calls-cxx");
    for compiler in Compiler::ALL {
        for flags in ["", "-fPIC", "-fno-pie -no-pie", "-fcf-protection=full -std=gnu++20", "-DJUMPLABEL_FALLBACK"] {
            for optimisation in ["-O0", "-O3 -flto"] {
                let flags = format!("{optimisation} {flags}");
                let program = directory.join("calls");
                compiler.build(Language::Cxx, &flags, &["calls.cc"], "-ljumplabel", &program);
                assert!(printed(&succeeds(&mut Command::new(program))).starts_with("ok "), "{compiler:?} {flags}");
            }
        }
    }
}

/// 100,000 updates while threads call: each result is that of the old or the new target.
#[test]
fn many_updates() {
    let files = ["conformance.c", "elsewhere.c", "base.c", "main.c"];
    for flags in ["-O2 -DCALL_UPDATES=100000", "-O2 -DCALL_UPDATES=100000 -DJUMPLABEL_FALLBACK"] {
        let program = GCC.build(Language::C, flags, &files, "-ljumplabel", &scratch("calls-many").join("many"));
        assert!(printed(&succeeds(&mut Command::new(program))).starts_with("ok "), "{flags}");
    }
}

/// With link-time optimisation, gcc may put the directive that exports a name into another file than the one that hides it.
#[test]
fn exports_in_another_partition() {
    let directory = scratch("calls-partitions");
    for partition in ["max", "1to1", "one"] {
        let flags = format!("-O2 -flto -flto-partition={partition} -fPIC -shared");
        let plugin = GCC.build(Language::C, &flags, &["calls_plugin.c"], "-ljumplabel", &directory.join("plugin.so"));
        let symbols = printed(&succeeds(Command::new("nm").args(["-D", "--defined-only"]).arg(plugin)));
        for name in ["__SCT__plugin_call", "__SCC__plugin_call", "__SCT__plugin_tramp"] {
            assert!(symbols.lines().any(|line| line.ends_with(name)), "{partition} {name}: {symbols}");
        }
    }
}
