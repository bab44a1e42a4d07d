//! Tracers of tracepoints in C and C++ (tests/c/usdt.c, tests/c/usdt_plugin.c, with the tracer of tests/c/usdt.h); the notes that tools find in
//! files; and emissions, whose code is the same with and without notes.

use std::path::Path;
use std::process::Command;

use jumplabel_testing::breadth;

use crate::compiler::{CLANG, Compiler, Language};
use crate::prefix::{file, prefix, printed, scratch, succeeds};

const LANGUAGES: [Language; 2] = [Language::C, Language::Cxx];

/// Builds usdt.c. A C++ program has more tests than one in C.
fn build(compiler: Compiler, language: Language, flags: &str, output: &Path) {
    compiler.build(language, flags, &["usdt.c"], "-ljumplabel -ldl", output);
}

/// Arguments of each kind arrive. Tracers, probes and looks work together: in programs, position-independent or not, and in a plugin that is unloaded
/// while threads look.
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

/// With notes of `<sys/sdt.h>` in the same file, if it is installed, and with linkers that drop unused sections.
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

/// The output of tools: provider, name, semaphore, base, and a place for each argument.
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
        // Without notes.
        build(compiler, Language::C, "-O2 -DJUMPLABEL_NO_USDT", &program);
        assert!(!printed(&succeeds(Command::new("readelf").arg("-nW").arg(&program))).contains("stapsdt"));
    }
}

/// The form of an instruction set's places: the names of registers, and the characters around a register and an offset in memory.
struct Places {
    is_register: fn(&str) -> bool,
    memory: [&'static str; 3],
}

const OTHERS: [(&str, Places); 2] = [
    (
        "aarch64-linux-gnu",
        Places {
            is_register: |name| {
                name == "sp" || name.strip_prefix('x').is_some_and(|number| number.parse::<u8>().unwrap() < 31)
            },
            memory: ["[", ",", "]"],
        },
    ),
    (
        "riscv64-linux-gnu",
        Places {
            is_register: |name| {
                let number = name.trim_start_matches(['a', 's', 't']);
                name == "sp" || number.len() + 1 == name.len() && number.parse::<u8>().unwrap() < 12
            },
            memory: ["", "(", ")"],
        },
    ),
];

impl Places {
    /// True if the place is a number, a register, or a register and an offset in memory.
    fn have(&self, place: &str) -> bool {
        let [before, between, after] = self.memory;
        let memory = || {
            let inner = place.strip_prefix(before)?.strip_suffix(after)?;
            let (first, second) = inner.split_once(between).unwrap_or((inner, "0"));
            let [register, offset] = if before.is_empty() { [second, first] } else { [first, second] };
            Some((self.is_register)(register) && offset.parse::<i32>().is_ok())
        };
        place.parse::<i64>().is_ok() || memory().unwrap_or_else(|| (self.is_register)(place))
    }
}

/// The notes in object files for other instruction sets, which have other places.
#[test]
fn on_other_instruction_sets() {
    let object = scratch("usdt-others").join("object.o");
    for (gnu, places) in OTHERS {
        if !breadth::has_gcc(gnu) {
            continue;
        }
        let gcc = format!("{gnu}-gcc");
        let clang = breadth::has(CLANG.c).then(|| format!("{} --target={gnu}", CLANG.c));
        for compiler in [gcc].into_iter().chain(clang) {
            for flags in ["-O0", "-O2", "-O2 -fPIC"] {
                let mut words = compiler.split(' ');
                let mut command = Command::new(words.next().unwrap());
                command
                    .args(words)
                    .args(flags.split(' '))
                    .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-c", "-I"]);
                succeeds(
                    command.arg(prefix().join("include")).arg(file("tests/c/usdt_notes.c")).arg("-o").arg(&object),
                );
                let text = printed(&succeeds(Command::new("readelf").arg("-nW").arg(&object)));
                let what = format!("{compiler} {flags}: {text}");
                for (name, sizes) in [("packet", "8 -2 8"), ("mixed", "8 8 1 -1 1 -8 8 8 4 8 8 -4")] {
                    let note =
                        text.split("stapsdt ").find(|note| note.contains(&format!("Name: {name}\n"))).expect(&what);
                    assert!(note.contains("Provider: net\n"), "{what}");
                    let shown =
                        note.split("Arguments: ").nth(1).expect(&what).lines().next().unwrap().replace(", ", ",");
                    let arguments: Vec<_> = shown.split(' ').map(|one| one.split_once('@').expect(&what)).collect();
                    assert_eq!(arguments.iter().map(|one| one.0).collect::<Vec<_>>().join(" "), sizes, "{what}");
                    assert!(arguments.iter().all(|one| places.have(one.1)), "{what}");
                }
            }
        }
    }
}

/// The functions of an object file, with bytes and relocations, without those that have notes or describe them.
fn functions(object: &Path) -> Vec<String> {
    let text = printed(&succeeds(Command::new("objdump").args(["-dr", "--no-addresses"]).arg(object)));
    let all = text.split("\n\n").map(str::trim).filter(|part| part.starts_with('<'));
    let of_notes = ["__traceiter_", "__tracedesc_"];
    all.filter(|part| !of_notes.iter().any(|name| part[1..].starts_with(name))).map(str::to_string).collect()
}

/// An emission's code is the same with and without notes, byte for byte.
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
