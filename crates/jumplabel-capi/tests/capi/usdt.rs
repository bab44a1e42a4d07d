//! Tracers of tracepoints in C and C++ (tests/c/usdt.c, with a tracer of its own in tests/c/usdt.h; tests/c/usdt_plugin.c), what tools read in
//! the files, and that the code of an emission does not know of notes.

use std::path::Path;
use std::process::Command;

use crate::compiler::{Compiler, Language};
use crate::prefix::{file, printed, scratch, succeeds};

const LANGUAGES: [Language; 2] = [Language::C, Language::Cxx];

/// A C++ program has C's tests, too, and more.
fn build(compiler: Compiler, language: Language, flags: &str, output: &Path) {
    compiler.build(language, flags, &["usdt.c"], "-ljumplabel -ldl", output);
}

/// Arguments of each sort arrive, and tracers, probes and looks go together; in programs, position-independent or not, and in a plugin that is
/// unloaded while threads look.
#[test]
fn tracers() {
    let directory = scratch("usdt");
    let (program, plugin) = (directory.join("program"), directory.join("plugin.so"));
    for compiler in Compiler::ALL.into_iter().chain(Compiler::others()) {
        compiler.build(Language::C, "-O2 -fPIC -shared", &["usdt_plugin.c"], "-ljumplabel", &plugin);
        for (language, flags) in LANGUAGES.iter().flat_map(|&language| {
            ["-O2", "-O0", "-O2 -fPIC", "-O2 -fno-pie -no-pie", "-O1 -flto"].map(move |flags| (language, flags))
        }) {
            build(compiler, language, flags, &program);
            let output = succeeds(Command::new(&program).arg(&plugin));
            assert_eq!(printed(&output), "ok\n", "{compiler:?} {language:?} {flags}");
        }
    }
}

/// Notes of `<sys/sdt.h>` in the same file, where it is installed, and linkers that collect sections.
#[test]
fn beside_others() {
    let program = scratch("usdt-beside").join("program");
    let sections = "-O2 -ffunction-sections -fdata-sections -Wl,--gc-sections";
    for compiler in Compiler::ALL {
        for language in LANGUAGES {
            build(compiler, language, sections, &program);
            assert_eq!(printed(&succeeds(&mut Command::new(&program))), "ok\n", "{compiler:?} {language:?}");
            if !Path::new("/usr/include/x86_64-linux-gnu/sys/sdt.h").exists() {
                println!("skipped: needs systemtap-sdt-dev");
                continue;
            }
            build(compiler, language, &format!("{sections} -DBESIDE -Wno-pedantic"), &program);
            assert_eq!(printed(&succeeds(&mut Command::new(&program))), "ok\n", "{compiler:?} {language:?}");
        }
    }
}

/// What tools print of a file: provider, name, semaphore, base, and a place for each argument.
#[test]
fn readelf_shows_them() {
    let program = scratch("usdt-readelf").join("program");
    for compiler in Compiler::ALL {
        build(compiler, Language::C, "-O2", &program);
        let text = printed(&succeeds(Command::new("readelf").arg("-nW").arg(&program)));
        let mut notes = text.split("stapsdt ").skip(1);
        let packet =
            notes.find(|note| note.contains("Name: packet\n")).unwrap_or_else(|| panic!("{compiler:?}: {text}"));
        assert!(packet.contains("Provider: net\n") && !packet.contains("0x0000000000000000"), "{packet}");
        let places = packet.split("Arguments: ").nth(1).unwrap().lines().next().unwrap();
        let sizes: Vec<_> = places.split(' ').map(|place| place.split('@').next().unwrap()).collect();
        assert_eq!(sizes, ["8", "-2", "8"], "{compiler:?}: {places}");
        // Without them.
        build(compiler, Language::C, "-O2 -DJUMPLABEL_NO_USDT", &program);
        assert!(!printed(&succeeds(Command::new("readelf").arg("-nW").arg(&program))).contains("stapsdt"));
    }
}

/// The functions of an object file but those that have notes or describe them, each with its bytes and relocations.
fn functions(object: &Path) -> Vec<String> {
    let text = printed(&succeeds(Command::new("objdump").args(["-dr", "--no-addresses"]).arg(object)));
    let all = text.split("\n\n").map(str::trim).filter(|part| part.starts_with('<'));
    let of_notes = ["__traceiter_", "__tracedesc_"];
    all.filter(|part| !of_notes.iter().any(|name| part[1..].starts_with(name))).map(str::to_string).collect()
}

/// With notes and without, the code of a program that emits is the same, byte for byte.
#[test]
fn code_is_the_same() {
    let directory = scratch("usdt-code");
    let sources = [file("tests/c/tracing.c"), file("tests/c/usdt_plugin.c")];
    for compiler in Compiler::ALL {
        for (source, flags) in
            sources.iter().flat_map(|source| ["-O2", "-O2 -fPIC", "-O0"].map(|flags| (source, flags)))
        {
            let compiled = |more: &str| {
                let object = directory.join("object.o");
                let flags = format!("{flags} -ffunction-sections {more}");
                succeeds(compiler.command(Language::C, &flags).arg("-c").arg(source).arg("-o").arg(&object));
                functions(&object)
            };
            let (with, without) = (compiled(""), compiled("-DJUMPLABEL_NO_USDT"));
            assert!(with.len() > 5, "{with:?}");
            assert_eq!(with, without, "{compiler:?} {source:?} {flags}");
        }
    }
}
