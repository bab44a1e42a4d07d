//! Keys and sites in different objects (tests/c/host.c, plugin.c, keys.c, linked.c), with each compiler and linker.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::compiler::{Compiler, GCC, Language};
use crate::prefix::{printed, scratch, succeeds};

struct Objects {
    directory: PathBuf,
    host: PathBuf,
}

/// Builds all objects with these flags. The host is linked with `host_flags`, too.
fn build(compiler: Compiler, name: &str, flags: &str, host_flags: &str) -> Objects {
    let directory = scratch(&format!("objects-{}-{name}", compiler.c));
    let shared = format!("{flags} -fPIC -shared");
    let library = |output: &str, flags: &str, source: &str, libraries: &str| {
        compiler.build(Language::C, flags, &[source], libraries, &directory.join(output))
    };
    library("libkeys.so", &shared, "keys.c", "-ljumplabel");
    library("libplugin.so", &shared, "plugin.c", "-lkeys -ljumplabel");
    library("libunlinked.so", &shared, "plugin.c", "-ljumplabel");
    library("libsolo.so", &format!("{shared} -DSOLO"), "plugin.c", "-ljumplabel");
    let flags = format!("{flags} {host_flags} -rdynamic");
    let host = compiler.build(Language::C, &flags, &["host.c"], "-ljumplabel -ldl", &directory.join("host"));
    Objects { directory, host }
}

impl Objects {
    fn passes(&self, case: &str, plugin: &str) {
        for writer in ["procmem", "mprotect"] {
            let mut host = Command::new(&self.host);
            host.env("JUMPLABEL_WRITER", writer).arg(case);
            host.arg(self.directory.join(plugin)).arg(self.directory.join("libkeys.so"));
            assert_eq!(printed(&succeeds(&mut host)), "ok\nat exit\n", "{host:?}");
        }
    }
}

const LINKERS: [(&str, &str); 3] = [("bfd", "-fuse-ld=bfd"), ("gold", "-fuse-ld=gold"), ("lld", "-fuse-ld=lld")];

fn linkers() -> impl Iterator<Item = (&'static str, &'static str)> {
    let exists = |name: &str| Path::new("/usr/bin").join(format!("ld.{name}")).exists();
    LINKERS.into_iter().filter(move |(name, _)| exists(name))
}

#[test]
fn loaded_before_and_after_a_flip() {
    for compiler in Compiler::ALL {
        for (name, linker) in linkers() {
            let objects = build(compiler, name, &format!("-O2 {linker}"), "-fPIE -pie");
            objects.passes("load", "libplugin.so");
            objects.passes("keys", "libunlinked.so");
            objects.passes("gone", "libplugin.so");
            objects.passes("late", "libplugin.so");
            objects.passes("namespace", "libsolo.so");
        }
    }
}

#[test]
fn not_position_independent() {
    let objects = build(GCC, "no-pie", "-O0", "-fno-pie -no-pie");
    objects.passes("load", "libplugin.so");
    objects.passes("keys", "libunlinked.so");
}

#[test]
fn loaded_and_unloaded_in_a_loop() {
    build(GCC, "loop", "-O2", "").passes("loop", "libplugin.so");
}

/// The program and the plugin each contain an instance of the library: they share one lock and one table of objects. Only the work of `make install`
/// on the archive keeps their symbols apart.
#[test]
fn two_instances() {
    let directory = scratch("objects-two-instances");
    let copy = "-Wl,-Bstatic -ljumplabel -Wl,-Bdynamic";
    let library = |output: &str, flags: &str, source: &str, libraries: &str| {
        GCC.build(Language::C, &format!("-O2 -fPIC -shared {flags}"), &[source], libraries, &directory.join(output))
    };
    library("libkeys.so", "", "keys.c", "");
    library("libplugin.so", "", "plugin.c", &format!("-lkeys {copy}"));
    library("libunlinked.so", "", "plugin.c", copy);
    library("libsolo.so", "-DSOLO", "plugin.c", copy);
    let host = GCC.build(Language::C, "-O2 -rdynamic", &["host.c"], &format!("{copy} -ldl"), &directory.join("host"));
    let objects = Objects { directory, host };
    objects.passes("load", "libplugin.so");
    objects.passes("keys", "libunlinked.so");
    objects.passes("loop", "libplugin.so");
    objects.passes("namespace", "libsolo.so");
}

/// The program does not use the library. A plugin that uses libjumplabel.so can be unloaded.
#[test]
fn library_in_its_place() {
    let directory = scratch("objects-bare");
    let shared = "-O2 -fPIC -shared -DSOLO";
    let plugin = GCC.build(Language::C, shared, &["plugin.c"], "-ljumplabel", &directory.join("libsolo.so"));
    let bare = GCC.build(Language::C, "-O2", &["bare.c"], "-ldl", &directory.join("bare"));
    assert_eq!(printed(&succeeds(Command::new(bare).arg(plugin))), "ok\n");
}

/// A broken twin: a plugin with its own instance has no mark that its keys are elsewhere, so its sites are not checked when it is loaded. The host
/// must notice.
#[test]
fn broken_twin() {
    let directory = scratch("objects-twin");
    let alone = "-Wl,-Bstatic -ljumplabel -Wl,-Bdynamic -Wl,--exclude-libs,ALL";
    GCC.build(Language::C, "-O2 -fPIC -shared", &["keys.c"], "", &directory.join("libkeys.so"));
    let shared = "-O2 -fPIC -shared -DBREAK_THE_MARK";
    let plugin =
        GCC.build(Language::C, shared, &["plugin.c"], &format!("-lkeys {alone}"), &directory.join("libplugin.so"));
    let host = GCC.build(Language::C, "-O2 -rdynamic", &["host.c"], "-ljumplabel -ldl", &directory.join("host"));
    let output = Command::new(host).arg("load").arg(plugin).output().unwrap();
    assert!(!output.status.success() && printed(&output).contains("at_load"), "{}", printed(&output));
}

/// Sites in a program, for keys of a library that it is linked with: with a copy relocation, and with slots.
#[test]
fn sites_in_the_program() {
    let directory = scratch("objects-linked");
    for compiler in Compiler::ALL {
        compiler.build(Language::C, "-O2 -fPIC -shared", &["keys.c"], "", &directory.join("libkeys.so"));
        for flags in ["-fno-pie -no-pie", "-fPIE -pie", "-fPIE -pie -DJUMPLABEL_FOREIGN_KEYS"] {
            let flags = format!("-O2 {flags}");
            let program = directory.join("linked");
            compiler.build(Language::C, &flags, &["linked.c"], "-lkeys -ljumplabel", &program);
            assert_eq!(printed(&succeeds(&mut Command::new(program))), "ok\n", "{compiler:?} {flags}");
        }
    }
}

/// Each object seals its own keys, and exports no symbol for their place.
#[test]
fn sealed_by_their_object() {
    let directory = scratch("objects-ro");
    for compiler in Compiler::ALL {
        for (name, linker) in linkers() {
            for number in 1..=2 {
                let flags = format!("-O2 -fPIC -shared {linker} -DLIBRARY={number}");
                let library = directory.join(format!("libro{number}.so"));
                compiler.build(Language::C, &flags, &["ro.c"], "-ljumplabel", &library);
                let symbols = succeeds(Command::new("readelf").args(["-W", "--dyn-syms"]).arg(library));
                // GNU ld lists these symbols as hidden; others do not list them.
                let shown = |line: &str| line.contains("__jump_ro_keys") && !line.contains("HIDDEN");
                assert!(!printed(&symbols).lines().any(shown), "{compiler:?} {name}: {}", printed(&symbols));
            }
            for flags in ["-fno-pie -no-pie", "-fPIE -pie"] {
                let flags = format!("-O0 {flags} {linker}");
                let program = directory.join("ro");
                compiler.build(Language::C, &flags, &["ro.c"], "-lro1 -lro2 -ljumplabel", &program);
                assert_eq!(printed(&succeeds(&mut Command::new(program))), "ok\n", "{compiler:?} {flags}");
            }
        }
    }
}

/// A shared library with many sites has one relocation per key, and none per site.
#[test]
fn relocations() {
    let directory = scratch("objects-relocations");
    let count = |name: &str, sites: usize| {
        let source = directory.join(format!("{name}.c"));
        let mut text = String::from("#include <jumplabel.h>\nDECLARE_STATIC_KEY_FALSE(key);\nint f(int x);\n");
        text += "int f(int x)\n{\n";
        text += &"\tif (static_branch_unlikely(&key)) x *= 3;\n".repeat(sites);
        text += "\treturn x;\n}\n";
        std::fs::write(&source, text).unwrap();
        let library = directory.join(format!("lib{name}.so"));
        GCC.build(Language::C, "-O1 -fPIC -shared", &[source.to_str().unwrap()], "-ljumplabel", &library);
        let relocations = printed(&succeeds(Command::new("readelf").arg("-rW").arg(library)));
        relocations.lines().filter(|line| line.contains("R_X86_64_")).count()
    };
    assert_eq!(count("one", 1), count("thousand", 1000));
}

/// tests/c/ended.c: a key of a library is flipped after the library's destructors, while the process ends.
#[test]
fn flipped_while_the_process_ends() {
    let directory = scratch("objects-ended");
    for compiler in Compiler::ALL {
        let library = |name: &str, flags: &str, libraries: &str| {
            let flags = format!("-O2 -fPIC -shared {flags}");
            compiler.build(Language::C, &flags, &["ended.c"], libraries, &directory.join(name));
        };
        library("liblast.so", "-DLAST", "");
        library("libkey.so", "-DKEY", "-llast -ljumplabel");
        let program = directory.join("program");
        compiler.build(Language::C, "-O2 -Wl,--no-as-needed", &["ended.c"], "-lkey -llast", &program);
        assert_eq!(printed(&succeeds(&mut Command::new(&program))), "ok\n", "{compiler:?}");
    }
}
