//! A program for Linux without std: the feature `linux`, the C library, and nothing else.

use std::process::Command;

use jumplabel_testing::cargo::{self, Build};

use super::MUSL;
use super::binary::Binary;

/// Whether a file has a part of std in it: its functions (their mangled names, and what they print), or an allocator, Rust's or C's.
fn has_std(file: &[u8]) -> bool {
    ["3std2rt", "__rust_alloc", "/library/std/src/", "\0malloc\0"]
        .iter()
        .any(|part| file.windows(part.len()).any(|at| at == part.as_bytes()))
}

/// The program flips under a running thread, in a child of fork, and with each writer; no feature of a dependency brings std back.
#[test]
fn linux_without_std() {
    let build = Build::of("no-std");
    let results = build.results(&["no-std"]);
    let data = std::fs::read(&results[0]).unwrap();
    assert!(!has_std(&data));
    let contents = Binary::parse(&data).check().unwrap();
    assert!(contents.keys.iter().any(|name| name == "no_std::TRACE"), "{:?}", contents.keys);
    assert_eq!(cargo::run(&mut Command::new(&results[0])), "ok\n");
    cargo::discard(&results);
    let features =
        cargo::run(build.command("tree").args(["--quiet", "--edges", "normal,features", "--prefix", "none"]));
    assert!(features.contains("rustix feature \"mm\"") && !features.contains("feature \"std\""), "{features}");

    if cargo::has_target(None, MUSL) {
        let results = Build { target: Some(MUSL), ..build.link(&["-Clink-arg=-lc"]) }.results(&["no-std"]);
        assert_eq!(cargo::run(&mut Command::new(&results[0])), "ok\n");
        cargo::discard(&results);
    } else {
        jumplabel_testing::breadth::leave_out(MUSL);
    }

    // The twin: a program with std.
    let twin = Build::of("weak").results(&["weak"]);
    assert!(has_std(&std::fs::read(&twin[0]).unwrap()));
    cargo::discard(&twin);
}
