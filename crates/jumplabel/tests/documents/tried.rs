//! Blocks of documents that are tried in ways of their own.

use crate::desk::{desk, package, printed, read, repository, write};

/// The programs that copy one header: it lies beside them, and they need nothing else. (With the library, jumplabel-capi's
/// `optional::the_document` and `optional::hears` build them.)
pub fn optional_header(program: &str) {
    let directory = desk().join("optional");
    write(&directory.join("jumplabel-optional.h"), &read("crates/jumplabel-capi/include/jumplabel-optional.h"));
    write(&directory.join("program.c"), program);
    let line = "cc -std=c99 -Wall -Wextra -Werror -DJUMPLABEL_OPTIONAL_USE=0 program.c && ./a.out";
    let hears = program.contains("on_change");
    assert_eq!(printed(line, &directory), if hears { "appendonly yes\n" } else { "work(2)\n" });
}

/// The program that copies two headers. (With the library: jumplabel-capi's `key_names::the_document`.)
pub fn key_names(program: &str) {
    let directory = desk().join("key-names");
    for header in ["jumplabel-optional.h", "jumplabel/key_names.h"] {
        let text = read(&format!("crates/jumplabel-capi/include/{header}"));
        write(&directory.join(header.rsplit('/').next().unwrap()), &text);
    }
    write(&directory.join("program.c"), program);
    let line = "cc -std=c99 -Wall -Wextra -Werror -DJUMPLABEL_OPTIONAL_USE=0 program.c && ./a.out && JUMPLABEL='hot[LL_DEBUG]=on' ./a.out";
    assert_eq!(printed(line, &directory), "001\n101\n");
}

/// A compiler accepts the program with an assertion. (jumplabel-capi's `asserts::the_document` runs it.)
pub fn asserting(program: &str) {
    let directory = desk().join("asserting");
    write(&directory.join("queue.c"), program);
    let headers = repository("crates/jumplabel-capi/include");
    let line = format!("cc -std=c11 -Wall -Wextra -Werror -fsyntax-only -I {} queue.c", headers.display());
    assert_eq!(printed(&line, &directory), "");
}

/// The manifest for Linux without std: a library that flips. (tests/builds/no_std.rs builds and runs a program.)
pub fn without_std(manifest: &str) {
    let source = "#![no_std]\n\njumplabel::static_key! { pub static KEY: false; }\n\n\
                  pub fn flip() -> Result<Option<jumplabel::WriterKind>, jumplabel::Error> {\n    \
                  KEY.enable().map(|outcome| outcome.writer)\n}\n";
    let directory = package("without-std", manifest, "src/lib.rs", source);
    printed("cargo build --release", &directory);
}

/// The manifest for a kernel: a library without std, for a target without any.
pub fn kernel(manifest: &str) {
    let source = "#![no_std]\n\njumplabel::static_key! { pub static KEY: false; }\n\n\
                  pub fn check() -> bool {\n    jumplabel::static_branch_unlikely!(KEY)\n}\n";
    let directory = package("kernel", manifest, "src/lib.rs", source);
    printed("cargo build --release --target x86_64-unknown-none", &directory);
}

/// The manifest that puts jumplabel-fail in the place of `fail`: a program with a fail point, whose key has its name.
pub fn fail_points(manifest: &str) {
    let jumplabel = "jumplabel = { path = \"../jumplabel/crates/jumplabel\" }\n\n[patch";
    let source = "fn main() {\n    let _scenario = fail::FailScenario::setup();\n    \
                  fail::fail_point!(\"before_save\", |text| println!(\"{text:?} {:?}\", jumplabel::find_key(\"fail:before_save\")));\n}\n";
    let directory = package("fail-points", &manifest.replacen("[patch", jumplabel, 1), "src/main.rs", source);
    let line = "FAILPOINTS='before_save=return(full)' cargo run --quiet --release";
    assert!(printed(line, &directory).starts_with("Some(\"full\") Ok(fail:before_save"));
}

/// docs/porting.md names files, below the folder that they are in.
pub fn files_of_arch(list: &str) {
    let mut folder = "";
    for word in list.split_whitespace().filter(|word| word.contains('/') && !word.contains('<')) {
        if let Some(name) = word.strip_suffix(':') {
            folder = name;
        } else {
            assert!(repository(folder).join(word).exists(), "no {word} in {folder}");
        }
    }
}
