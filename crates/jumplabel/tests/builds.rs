//! One program with sites in every kind of code (test-crates/shapes), built in many ways: each time it must pass its own
//! checks, and its file must keep the promises of the format.
//!
//! `make test-all` builds a representative part: every optimisation level, every kind of LTO, every linker, static, musl, the
//! oldest compiler. `JUMPLABEL_ALL_BUILDS=1` builds the full product.
#![cfg(all(target_arch = "x86_64", target_os = "linux", not(miri)))]

#[path = "builds/binary.rs"]
mod binary;
#[path = "builds/code.rs"]
mod code;
#[path = "builds/damaged.rs"]
mod damaged;
#[path = "builds/docs.rs"]
mod docs;
#[path = "builds/naked.rs"]
mod naked;
#[path = "builds/no_std.rs"]
mod no_std;
#[path = "builds/short.rs"]
mod short;
#[path = "builds/stack.rs"]
mod stack;

use std::path::PathBuf;
use std::process::Command;

use binary::Binary;
use jumplabel_testing::breadth;
use jumplabel_testing::cargo::{self, Build};

const OPT_LEVEL: &str = "CARGO_PROFILE_RELEASE_OPT_LEVEL";
const CODEGEN_UNITS: &str = "CARGO_PROFILE_RELEASE_CODEGEN_UNITS";
const LTO: &str = "CARGO_PROFILE_RELEASE_LTO";
const PANIC: &str = "CARGO_PROFILE_RELEASE_PANIC";
const DEBUG: &str = "CARGO_PROFILE_RELEASE_DEBUG";
const RUSTFLAGS: &str = "RUSTFLAGS";

const MSRV: &str = "1.88.0";
const GNU: &str = "x86_64-unknown-linux-gnu";
const MUSL: &str = "x86_64-unknown-linux-musl";
const BARE: &str = "x86_64-unknown-none";
const WASM: &str = "wasm32-unknown-unknown";

/// GNU ld takes the bounds of a section for a use of all of it, and so keeps functions with sites that nobody calls,
/// unless it is told not to (binutils 2.37). gold cannot be told. lld need not be.
const DROP_DEAD: &str = "-Clink-arg=-Wl,-z,start-stop-gc";

/// Linkers, and what must be installed for each. The first is the compiler's own choice (rust-lld).
const LINKERS: [(&str, &[&str]); 4] = [
    ("", &[]),
    ("ld.bfd", &["-Clinker-features=-lld", "-Clink-arg=-fuse-ld=bfd", DROP_DEAD]),
    ("ld.gold", &["-Clinker-features=-lld", "-Clink-arg=-fuse-ld=gold"]),
    ("ld.lld", &["-Clinker-features=-lld", "-Clink-arg=-fuse-ld=lld"]),
];
const GNU_LD_AS_IT_IS: [&str; 2] = ["-Clinker-features=-lld", "-Clink-arg=-fuse-ld=bfd"];

/// Sites in functions that nobody calls, and a naked key's function that nobody calls.
const DEAD_SITES: usize = 4;

fn shapes() -> Build {
    Build::of("shapes")
}

fn installed(program: &str) -> bool {
    program.is_empty() || breadth::has(program)
}

/// Builds and runs the program, checks its file, and returns the file's path.
fn check(build: &Build) -> PathBuf {
    let results = build.results(&["shapes"]);
    let printed = cargo::run(&mut Command::new(&results[0]));
    let number = |word: &str| -> usize {
        let line = printed.lines().find_map(|line| line.strip_prefix(word)?.trim().parse().ok());
        line.unwrap_or_else(|| panic!("{build:?}: {printed}"))
    };
    assert!(printed.ends_with("ok\n"), "{build:?}: {printed}");
    let data = std::fs::read(&results[0]).unwrap();
    let contents = Binary::parse(&data).check().unwrap_or_else(|error| panic!("{build:?}: {error}"));
    // The table has more entries than the program's keys: functions that were dropped have left theirs.
    assert_eq!(contents.sites, number("sites "), "{build:?}");
    if !build.link.iter().any(|argument| argument.contains("gold")) {
        assert_eq!(number("dead "), if build.link == GNU_LD_AS_IT_IS { DEAD_SITES } else { 0 }, "{build:?}");
    }
    assert_eq!(number("keys "), 53, "{build:?}");
    let has = |name: &str| contents.keys.iter().any(|key| key == name);
    assert!(has("elsewhere::DEAD") && has("elsewhere::alone::ALONE"), "{build:?}: {:?}", contents.keys);
    println!("{} sites: {:?} {:?} {:?}", contents.sites, build.env, build.link, build.target.or(build.toolchain));
    results[0].clone()
}

fn check_and_discard(build: &Build) {
    cargo::discard(&[check(build)]);
}

#[test]
fn optimisation_levels() {
    for (level, units) in [("0", 16), ("1", 1), ("2", 16), ("3", 1), ("s", 16), ("z", 1)] {
        check_and_discard(&shapes().env(OPT_LEVEL, level).env(CODEGEN_UNITS, units));
    }
}

#[test]
fn link_time_optimisation() {
    for lto in ["off", "thin", "fat"] {
        check_and_discard(&shapes().env(LTO, lto));
    }
    check_and_discard(&shapes().env(LTO, "fat").env(OPT_LEVEL, "s").env(PANIC, "abort").env(CODEGEN_UNITS, 1));
}

#[test]
fn linkers_and_debuginfo() {
    for (program, link) in LINKERS {
        if installed(program) {
            check_and_discard(&shapes().link(link));
        }
    }
    if installed("ld.bfd") {
        check_and_discard(&shapes().link(&GNU_LD_AS_IT_IS));
    }
    check_and_discard(&shapes().env(DEBUG, "full"));
}

/// Sites alone bring the object's record with them, and so its constructor: whoever has the key's address can flip it.
#[test]
fn sites_without_records() {
    for (program, link) in LINKERS {
        if installed(program) {
            let build = Build::of("cost").args(&["--bin", "cost"]).link(link);
            let results = build.results(&["cost"]);
            assert_eq!(cargo::run(&mut Command::new(&results[0])), "ok\n", "{program}");
            let data = std::fs::read(&results[0]).unwrap();
            Binary::parse(&data).one_constructor().unwrap_or_else(|error| panic!("{program}: {error}"));
            cargo::discard(&results);
        }
    }
}

/// A panic comes through trampolines in each profile.
#[test]
fn unwinding_through_trampolines() {
    for (level, lto) in [("0", "off"), ("3", "off"), ("3", "fat")] {
        let build = Build::of("cost").args(&["--bin", "unwind"]).env(OPT_LEVEL, level).env(LTO, lto);
        let results = build.results(&["unwind"]);
        assert_eq!(cargo::run(&mut Command::new(&results[0])), "ok\n", "{level} {lto}");
        cargo::discard(&results);
    }
}

/// Functions that check different keys are never the same code to a linker that folds it.
#[test]
fn identical_code_folding() {
    for (program, link) in &LINKERS[2..] {
        if installed(program) {
            check_and_discard(&shapes().link(link).link(&["-Clink-arg=-Wl,--icf=all"]));
        }
    }
}

#[test]
fn relocation_models() {
    check_and_discard(&shapes().env(RUSTFLAGS, "-Crelocation-model=static"));
    check_and_discard(&shapes().env(RUSTFLAGS, "-Crelocation-model=pic -Ctarget-feature=+crt-static"));
    if cargo::has_target(None, MUSL) {
        check_and_discard(&Build { target: Some(MUSL), ..shapes().link(&[DROP_DEAD]) });
        let not_pie = shapes().env(RUSTFLAGS, "-Crelocation-model=static").link(&[DROP_DEAD]);
        check_and_discard(&Build { target: Some(MUSL), ..not_pie });
    } else {
        breadth::leave_out(MUSL);
    }
}

/// A key that nobody defines lies at address 0, or, in a program that can be loaded anywhere, where that is loaded.
#[test]
fn weak_keys() {
    let fixed = "-Crelocation-model=static";
    for flags in [fixed, ""] {
        let results = Build::of("weak").env(RUSTFLAGS, flags).results(&["weak"]);
        let printed = cargo::run(&mut Command::new(&results[0]));
        assert!(printed == if flags == fixed { "fixed\nok\n" } else { "ok\n" }, "{flags}: {printed}");
        cargo::discard(&results);
    }
}

#[test]
fn oldest_compiler() {
    if !Command::new("rustup").args(["run", MSRV, "rustc", "-V"]).output().is_ok_and(|it| it.status.success()) {
        return breadth::leave_out(MSRV);
    }
    for level in ["0", "3"] {
        check_and_discard(&Build { toolchain: Some(MSRV), ..shapes().env(OPT_LEVEL, level).link(&[DROP_DEAD]) });
    }
}

/// ThreadSanitizer keeps a shadow of code that cannot be written: a store to code that it saw would be the last. (It says that
/// std, which it did not compile, has races; that is not what is asked.)
#[test]
fn thread_sanitizer() {
    let build = shapes().env(RUSTFLAGS, "-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer");
    let build = Build { toolchain: Some("nightly"), target: Some(GNU), ..build };
    if !cargo::has_target(build.toolchain, GNU) {
        return breadth::leave_out("nightly");
    }
    let results = build.results(&["shapes"]);
    for writer in ["procmem", "mprotect", "remap"] {
        let mut program = Command::new(&results[0]);
        let printed = cargo::run(program.env("JUMPLABEL_WRITER", writer).env("TSAN_OPTIONS", "report_bugs=0"));
        assert!(printed.ends_with("ok\n"), "{writer}: {printed}");
    }
    cargo::discard(&results);
}

/// A stripped binary works and still names its keys.
#[test]
fn stripped() {
    let file = check(&shapes());
    let before = Binary::parse(&std::fs::read(&file).unwrap()).check().unwrap();
    if installed("strip") {
        cargo::run(Command::new("strip").arg("--strip-all").arg(&file));
        let data = std::fs::read(&file).unwrap();
        assert!(Binary::parse(&data).check().unwrap_err().contains("0 functions that register"));
        assert_eq!(Binary::parse(&data).keys().unwrap(), before.keys);
        assert!(cargo::run(&mut Command::new(&file)).ends_with("ok\n"));
    }
    cargo::discard(&[file]);
}

/// The fallback: the same program and the same keys, no table.
#[test]
fn fallback() {
    let build = shapes().env(RUSTFLAGS, "--cfg jumplabel_fallback");
    let results = build.results(&["shapes"]);
    let printed = cargo::run(&mut Command::new(&results[0]));
    assert!(printed.contains("keys 53\nsites 0\n") && printed.ends_with("ok\n"), "{printed}");
    let error = Binary::parse(&std::fs::read(&results[0]).unwrap()).check().unwrap_err();
    assert_eq!(error, "no section __jump_keys");
    cargo::discard(&results);
    // The program builds without an arch file and std, and nothing looks unused.
    if cargo::has_target(None, WASM) {
        let strict = Build::of("fallback").env(RUSTFLAGS, "-Dwarnings");
        cargo::discard(&Build { target: Some(WASM), ..strict }.results(&["libfallback.rlib"]));
    } else {
        breadth::leave_out(WASM);
    }
}

/// A kernel in miniature; the core and what kernels use depend on nothing from outside.
#[test]
fn no_std() {
    if !cargo::has_target(None, BARE) {
        return breadth::leave_out(BARE);
    }
    let kernel = Build { target: Some(BARE), ..Build::of("kernel").env(RUSTFLAGS, "-Crelocation-model=static") };
    let results = kernel.results(&["kernel"]);
    assert_eq!(cargo::run(&mut Command::new(&results[0])), "ok\n");
    let contents = Binary::parse(&std::fs::read(&results[0]).unwrap()).check().unwrap();
    assert_eq!((contents.sites, contents.keys.len()), (5, 4));
    cargo::discard(&results);
    let tree = cargo::run(
        kernel.command("tree").args(["--quiet", "--edges", "normal", "--target", "all", "--prefix", "none"]),
    );
    let names: Vec<&str> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(names, ["kernel", "jumplabel", "jumplabel-format", "jumplabel-kernel", "jumplabel"]);
    // The twin: a dependency does show there.
    let tree = cargo::run(shapes().command("tree").args(["--quiet", "--edges", "normal", "--prefix", "none"]));
    assert!(tree.lines().any(|line| line.starts_with("rustix ")), "{tree}");
}

/// Two versions of the library in one program would have two locks: cargo refuses (`links`).
#[test]
fn two_versions_are_refused() {
    let output = Build::of("two-versions").command("tree").output().unwrap();
    let printed = cargo::printed(&output);
    assert!(!output.status.success() && printed.contains("package `jumplabel` links to"), "{printed}");
}

/// All combinations of the options.
#[test]
#[ignore = "about 20 minutes; JUMPLABEL_ALL_BUILDS=1 cargo test --test builds -- --ignored"]
fn all_builds() {
    if std::env::var_os("JUMPLABEL_ALL_BUILDS").is_none() {
        return;
    }
    for level in ["0", "1", "2", "3", "s", "z"] {
        for units in [1, 16] {
            for lto in ["off", "false", "thin", "fat"] {
                for panic in ["unwind", "abort"] {
                    for (_, link) in LINKERS.iter().filter(|(program, _)| installed(program)) {
                        let build = shapes().env(OPT_LEVEL, level).env(CODEGEN_UNITS, units);
                        check_and_discard(&build.env(LTO, lto).env(PANIC, panic).link(link));
                    }
                }
            }
        }
    }
}
