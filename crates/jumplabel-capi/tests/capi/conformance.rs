//! tests/c/conformance.c in all configurations, for each compiler: {sites, fallback} x {C, C++} x {-O0, -O2, -O3 -flto} x {exe, PIE, static, shared
//! libraries}. `make test` takes some of them.

use std::path::Path;
use std::process::Command;

use jumplabel_testing::breadth::some_of;

use crate::compiler::{CLANG, Compiler, GCC, Language};
use crate::prefix::{printed, scratch, succeeds};

const OPTIMISATIONS: [&str; 3] = ["-O2", "-O0", "-O3 -flto"];
/// The kinds of programs: the flags of the compiler, those of the linker, the libraries. Neighbours with the same flags of the compiler share objects.
const KINDS: [(&str, &str, &str); 3] = [
    ("-fPIE", "-pie", "-ljumplabel"),
    ("-fPIE", "-static", "-ljumplabel -lpthread"),
    ("-fno-pie", "-no-pie", "-ljumplabel"),
];
const ALL: [&str; 4] = ["conformance.c", "elsewhere.c", "base.c", "main.c"];

/// The smallest number of checks, with sites (which compares the bytes of 300 sites many times) and without.
fn least_checks(mode: &str) -> usize {
    if mode.is_empty() { 20_000 } else { 300 }
}

/// Compiles all files for programs, each to an object in the directory. Returns the objects, as words behind the name of a file.
fn compiled(compiler: Compiler, language: Language, flags: &str, directory: &Path) -> String {
    let flags = format!("{flags} -c -Wno-unused-command-line-argument");
    let object = |name: &&str| {
        let object = directory.join(name).with_extension("o");
        compiler.build(language, &flags, &[name], "", &object).display().to_string()
    };
    format!("-x none {}", ALL.iter().map(object).collect::<Vec<_>>().join(" "))
}

fn conforms(compiler: Compiler) {
    let directory = scratch(&format!("conformance-{}", compiler.c));
    for language in [Language::C, Language::Cxx] {
        for &mode in some_of(1, &["", "-DJUMPLABEL_FALLBACK"]) {
            for &optimisation in some_of(1, &OPTIMISATIONS) {
                let flags = format!("{optimisation} {mode}");
                let program = directory.join("program");
                let run = |kind: &str| {
                    let output = succeeds(&mut Command::new(&program));
                    let count = printed(&output).trim().strip_prefix("ok ").and_then(|count| count.parse().ok());
                    let enough = count.is_some_and(|count: usize| count >= least_checks(mode));
                    assert!(enough, "{compiler:?} {language:?} {flags} {kind}: {}", printed(&output));
                };
                let (mut objects, mut compiled_with) = (String::new(), "");
                for &(compile, link, libraries) in some_of(2, &KINDS) {
                    if compile != compiled_with {
                        objects = compiled(compiler, language, &format!("{flags} {compile}"), &directory);
                        compiled_with = compile;
                    }
                    let flags = format!("{flags} {compile} {link}");
                    compiler.build(language, &flags, &[], &format!("{objects} {libraries}"), &program);
                    run(link);
                }
                // Keys are in one library, and sites in another.
                let shared = format!("{flags} -fPIC -shared");
                compiler.build(language, &shared, &["base.c"], "-ljumplabel", &directory.join("libbase.so"));
                let libraries = "-lbase -ljumplabel";
                let library = directory.join("libconformance.so");
                compiler.build(language, &shared, &["conformance.c", "elsewhere.c"], libraries, &library);
                compiler.build(language, &flags, &["main.c"], "-lconformance -lbase", &program);
                run("shared");
            }
        }
    }
}

#[test]
fn gcc() {
    conforms(GCC);
}

#[test]
fn clang() {
    conforms(CLANG);
}

/// Other flags that change the code of a site.
#[test]
fn other_flags() {
    let directory = scratch("conformance-flags");
    for compiler in Compiler::ALL {
        let thin = if compiler.c == "gcc" { "-O2 -flto=auto -ffat-lto-objects" } else { "-O2 -flto=thin" };
        // The flags of the compiler, and those of the linker, once for each program.
        for (flags, links) in [
            ("-Os", &[""][..]),
            // gcc -pedantic warns of compound literals.
            ("-O1 -std=gnu11 -Wno-pedantic", &[""]),
            ("-O2 -DJUMPLABEL_KERNEL_NAMES -Wno-pedantic", &[""]),
            ("-O3 -ffunction-sections -fdata-sections", &["-Wl,--gc-sections -fuse-ld=lld", "-Wl,--gc-sections"]),
            ("-O3 -ffunction-sections -fdata-sections -DJUMPLABEL_PRECISE_TABLE", &["-Wl,--gc-sections -fuse-ld=lld"]),
            ("-O2 -fPIC -DJUMPLABEL_LOCAL_KEYS", &[""]),
            ("-O2 -DJUMPLABEL_FOREIGN_KEYS", &[""]),
            ("-O2 -fcf-protection=full -fstack-protector-all", &[""]),
            ("-O2 -g3 -fno-omit-frame-pointer", &[""]),
            ("-O2 -mcmodel=medium", &[""]),
            ("-O2 -masm=intel", &[""]),
            ("-O2", &["-fuse-ld=gold", "-fuse-ld=mold"]),
            ("-O2 -DJUMPLABEL_PRECISE_TABLE", &["-fuse-ld=mold"]),
            ("-O2 -fPIC -DJUMPLABEL_PRECISE_TABLE", &["-fuse-ld=gold"]),
            ("-O2 -fPIE", &["-static-pie"]),
            (thin, &[""]),
        ] {
            let objects = compiled(compiler, Language::C, flags, &directory);
            for link in links {
                let (flags, words) = (format!("{flags} {link}"), format!("{objects} -ljumplabel -lpthread"));
                let program = compiler.build(Language::C, &flags, &[], &words, &directory.join("program"));
                assert!(printed(&succeeds(&mut Command::new(program))).starts_with("ok "), "{compiler:?} {flags}");
            }
        }
    }
}

/// Sites that the compiler makes as plain jumps (`-DJUMPLABEL_SHORT`). `jumplabel link` has not seen the files. Key and sites are first in one
/// program, then in several objects. gcc puts unlikely arms into a section of their own. A jump to that section needs five bytes.
#[test]
fn short_sites() {
    let directory = scratch("conformance-short");
    let program = directory.join("program");
    for compiler in Compiler::ALL {
        for (language, flags) in [(Language::C, "-O2"), (Language::Cxx, "-O2 -fPIC"), (Language::C, "-O1 -flto")] {
            let flags = format!("{flags} -DJUMPLABEL_SHORT");
            compiler.build(language, &flags, &ALL, "-ljumplabel", &program);
            assert!(printed(&succeeds(&mut Command::new(&program))).starts_with("ok "), "{compiler:?} {flags}");
        }
        let shared = "-O2 -fPIC -shared -DJUMPLABEL_SHORT";
        compiler.build(Language::C, shared, &["base.c"], "-ljumplabel", &directory.join("libbase.so"));
        let library = directory.join("libconformance.so");
        let both = ["conformance.c", "elsewhere.c"];
        compiler.build(Language::C, shared, &both, "-lbase -ljumplabel", &library);
        compiler.build(Language::C, "-O2", &["main.c"], "-lconformance -lbase", &program);
        assert!(printed(&succeeds(&mut Command::new(&program))).starts_with("ok "), "{compiler:?} shared");
    }
    // The least number of short sites. A compiler that moves the other arm elsewhere makes both sizes.
    for compiler in Compiler::ALL.into_iter().chain(Compiler::others()) {
        for (flags, least) in [("-O2", 0), ("-O2 -DJUMPLABEL_SHORT", 4)] {
            compiler.build(Language::C, flags, &["short.c"], "-ljumplabel", &program);
            let said = printed(&succeeds(&mut Command::new(&program)));
            let counts: Vec<usize> = said.split_whitespace().filter_map(|word| word.parse().ok()).collect();
            let &[short, all] = &counts[..] else { panic!("{compiler:?} {flags}: {said}") };
            assert!(short >= least && short <= all && (least > 0 || short == 0), "{compiler:?} {flags}: {said}");
            let splits = compiler.c.starts_with("gcc") && least > 0;
            assert!(!splits || short < all, "{compiler:?} {flags}: all arms are near: {said}");
        }
    }
}

/// Older and newer compilers.
#[test]
fn other_compilers() {
    let directory = scratch("conformance-others");
    for compiler in Compiler::others() {
        for language in [Language::C, Language::Cxx] {
            for flags in ["-O0", "-O2 -fPIC"] {
                let program = compiler.build(language, flags, &ALL, "-ljumplabel", &directory.join("program"));
                let output = succeeds(&mut Command::new(program));
                assert!(printed(&output).starts_with("ok "), "{compiler:?} {language:?} {flags}");
            }
        }
    }
}

/// tests/c/coroutine.cc: checks in C++20 coroutines.
#[test]
fn coroutines() {
    let directory = scratch("conformance-coroutines");
    for compiler in Compiler::ALL.into_iter().chain(Compiler::others()) {
        // Before version 15, clang has coroutines only as an experiment.
        let experiment = if compiler.c == "clang-14" { "-stdlib=libstdc++ -fcoroutines-ts" } else { "" };
        for flags in ["-O0", "-O2", "-O2 -DJUMPLABEL_FALLBACK"] {
            let flags = format!("-std=c++20 {experiment} {flags}");
            let program = directory.join("coroutine");
            compiler.build(Language::Cxx, &flags, &["coroutine.cc"], "-ljumplabel", &program);
            assert!(printed(&succeeds(&mut Command::new(program))).starts_with("ok "), "{compiler:?} {flags}");
        }
    }
}

/// tests/c/folded.c: linkers that fold identical code do not fold checks of different keys.
#[test]
fn identical_code_folding() {
    let directory = scratch("conformance-folded");
    for compiler in Compiler::ALL {
        for linker in ["gold", "lld", "mold"] {
            for fold in ["safe", "all"] {
                let flags = format!("-O2 -ffunction-sections -fuse-ld={linker} -Wl,--icf={fold}");
                let program =
                    compiler.build(Language::C, &flags, &["folded.c"], "-ljumplabel", &directory.join("folded"));
                assert_eq!(printed(&succeeds(&mut Command::new(program))), "ok\n", "{compiler:?} {flags}");
            }
        }
    }
}

/// tests/c/cxx.cc: the places in which C++ has keys and checks.
#[test]
fn cxx() {
    let directory = scratch("conformance-cxx");
    for compiler in Compiler::ALL {
        for flags in ["", "-fPIC", "-fno-pie -no-pie", "-std=gnu++20", "-DJUMPLABEL_FALLBACK"] {
            for optimisation in OPTIMISATIONS {
                let flags = format!("{optimisation} {flags}");
                let program = directory.join("cxx");
                compiler.build(Language::Cxx, &flags, &["cxx.cc"], "-ljumplabel", &program);
                assert!(printed(&succeeds(&mut Command::new(program))).starts_with("ok "), "{compiler:?} {flags}");
            }
        }
    }
}

/// The checks find errors: a program whose sites are damaged on purpose must fail.
#[test]
fn broken_twins() {
    let directory = scratch("conformance-twins");
    for (broken, complaint) in [("BREAK_A_BYTE", "holds"), ("BREAK_A_COUNT", "static_key_count")] {
        let flags = format!("-O2 -D{broken}");
        let program = GCC.build(Language::C, &flags, &ALL, "-ljumplabel", &directory.join(broken));
        let output = Command::new(program).output().unwrap();
        assert!(!output.status.success() && printed(&output).contains(complaint), "{broken}: {}", printed(&output));
    }
}

/// A check of a naked key is one call, and no register is saved around it; gcc steps over the red zone.
#[test]
fn naked_checks() {
    let directory = scratch("naked");
    let source = directory.join("naked.c");
    let text = "#include <jumplabel.h>\nDEFINE_STATIC_NAKED_KEY_FALSE(key);\nlong f(long a, long b, long c, long d);\n\
                long f(long a, long b, long c, long d)\n{\n\treturn static_naked_key(key) ? a + b * c : c - d;\n}\n";
    std::fs::write(&source, text).unwrap();
    for compiler in Compiler::ALL {
        let object = directory.join("naked.o");
        succeeds(compiler.command(Language::C, "-O2 -c").arg(&source).arg("-o").arg(&object));
        let code = printed(&succeeds(Command::new("objdump").args(["-d", "--no-show-raw-insn"]).arg(&object)));
        let code = code.split("<f>:").nth(1).unwrap().split("\n\n").next().unwrap();
        let count = |mnemonic: &str| code.lines().filter(|line| line.contains(mnemonic)).count();
        assert_eq!(count("call"), 1, "{compiler:?}{code}");
        // clang aligns the stack.
        let aligns = usize::from(compiler.c != "gcc");
        assert_eq!((count("push"), count("pop")), (aligns, aligns), "{compiler:?}{code}");
    }
}

/// tests/c/collected.c: two functions with sites are never called, one of them in a file of its own. Checks how many of the three entries the linker
/// keeps, and that the rest of the program works.
#[test]
fn collected() {
    let directory = scratch("conformance-collected");
    for compiler in Compiler::ALL {
        for (linker, table, entries) in [
            ("lld", "", 2),
            ("lld", "-DJUMPLABEL_PRECISE_TABLE", 1),
            ("bfd", "", 3),
            ("bfd -Wl,-z,start-stop-gc", "", 2),
            ("bfd -Wl,-z,start-stop-gc", "-DJUMPLABEL_PRECISE_TABLE", 1),
            ("gold", "", 3),
            ("mold", "", 3),
        ] {
            let flags = format!("-O2 -ffunction-sections {table} -Wno-unused-command-line-argument");
            let object = directory.join("gone.o");
            compiler.build(Language::C, &format!("{flags} -DGONE -c"), &["collected.c"], "", &object);
            let program = directory.join("collected");
            let flags = format!("{flags} -Wl,--gc-sections -fuse-ld={linker}");
            compiler.build(
                Language::C,
                &flags,
                &["collected.c"],
                &format!("-x none {} -ljumplabel", object.display()),
                &program,
            );
            let said = printed(&succeeds(&mut Command::new(&program)));
            assert_eq!(said, format!("{entries}\n"), "{compiler:?} {linker} {table}");
        }
    }
}

/// tests/c/names.c: names that are not ASCII.
#[test]
fn names() {
    let program = scratch("conformance-names").join("program");
    for compiler in Compiler::ALL.into_iter().chain(Compiler::others()) {
        for (language, flags) in [(Language::C, "-O0"), (Language::C, "-O2 -fPIC"), (Language::Cxx, "-O0 -fPIC")] {
            compiler.build(language, flags, &["names.c"], "-ljumplabel", &program);
            let output = succeeds(&mut Command::new(&program));
            assert!(printed(&output).starts_with("ok "), "{compiler:?} {language:?} {flags}");
        }
    }
}
