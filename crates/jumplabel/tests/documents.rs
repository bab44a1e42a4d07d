//! Every command and every listing of the documents is tried: run, compared with what is printed today, or, with the reason
//! beside it, only looked up. A block that has no rule here makes this fail, and so does a rule whose block has gone.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu", jumplabel_sites))]

#[path = "documents/blocks.rs"]
mod blocks;
#[path = "documents/commands.rs"]
mod commands;

#[path = "documents/desk.rs"]
mod desk;
#[path = "documents/exists.rs"]
mod exists;
#[path = "documents/listings.rs"]
mod listings;
#[path = "documents/manual.rs"]
mod manual;
#[path = "documents/markdown.rs"]
mod markdown;

use std::path::Path;
use std::process::Command;

use Rule::{C, Commands, Excused, Kernel, KernelInC, Rust, Tried};
use blocks::{BLOCKS, Rule, rule_of};
use commands::{command, in_example};
use desk::{example, package, prefix, printed, read, repository, scratch, shell, succeeds, write};
use exists::exists;
use markdown::{commands, lines, split};

/// Tries all blocks of a document, in their order.
fn try_document(document: &str) {
    for block in split(&read(document)).0 {
        println!("{document}:{}", block.line);
        let rule = rule_of(document, &block.text).unwrap().1;
        assert_eq!(
            block.language == "rust",
            matches!(rule, Rust(_) | Kernel(_)),
            "all of a program in Rust, and nothing else"
        );
        assert_eq!(
            block.language == "c",
            matches!(rule, C(_) | KernelInC(_)),
            "all of a program in C, and nothing else"
        );
        match rule {
            Rust(prints) => rust(block.line, &block.text, prints),
            C(prints) => c(&block.text, prints),
            Commands => lines(&block.text).iter().for_each(|line| command(line).unwrap()),
            Tried(function) | Kernel(function) | KernelInC(function) => function(&block.text),
            Excused(reason) => println!("  not tried: {reason}"),
        }
    }
}

/// A program of the README's crate, optimised.
fn rust(line: usize, program: &str, prints: &str) {
    let name = format!("block{line}");
    write(&example().join("src/bin").join(name.clone() + ".rs"), program);
    printed(&format!("cargo build --release --bin {name}"), example());
    assert_eq!(printed(&format!("target/release/{name}"), example()), prints);
}

fn c(program: &str, prints: &str) {
    write(&example().join("program.c"), program);
    let link = "cc -Wall -Wextra -Werror program.c $(pkg-config --cflags --libs jumplabel)";
    for rest in ["-Wl,-rpath,$PREFIX/lib && ./a.out", "&& LD_LIBRARY_PATH=$PREFIX/lib ./a.out", "-static && ./a.out"] {
        assert_eq!(in_example(&format!("{link} {rest}")), prints, "{rest}");
    }
}

/// The README's manifest: its example is built with it.
fn manifest(_: &str) {
    assert!(example().join("target/release/example").exists());
}

/// The README's manifest for Linux without std: a library that flips. (tests/builds/no_std.rs builds and runs a program.)
fn without_std(manifest: &str) {
    let source = "#![no_std]\n\njumplabel::static_key! { pub static KEY: false; }\n\n\
                  pub fn flip() -> Result<Option<jumplabel::WriterKind>, jumplabel::Error> {\n    \
                  KEY.enable().map(|outcome| outcome.writer)\n}\n";
    let directory = package("without-std", manifest, "src/lib.rs", source);
    printed("cargo build --release", &directory);
}

/// The README's manifest for a kernel: a library without std, for a target without any.
fn kernel(manifest: &str) {
    let source = "#![no_std]\n\njumplabel::static_key! { pub static KEY: false; }\n\n\
                  pub fn check() -> bool {\n    jumplabel::static_branch_unlikely!(KEY)\n}\n";
    let directory = package("kernel", manifest, "src/lib.rs", source);
    printed("cargo build --release --target x86_64-unknown-none", &directory);
}

/// The kernel of docs/kernels.md: built of its blocks, and booted.
fn tiny_kernel(program: &str) {
    let text = |words| desk::block("docs/kernels.md", words).text;
    let here = env!("CARGO_MANIFEST_DIR");
    let manifest = format!(
        "{}\n[patch.crates-io]\njumplabel = {{ path = \"{here}\" }}\njumplabel-kernel = {{ path = \"{here}-kernel\" }}\n\n[workspace]\n",
        text("jumplabel-kernel = \"0.1\"")
    );
    // Not beside the README's crates: their directory of what was built has another name.
    let directory = scratch("kernel-of-documents");
    write(&directory.join("Cargo.toml"), &manifest);
    let files = [(".cargo/config.toml", "[build]"), ("link.ld", "ENTRY(start)")];
    files.iter().for_each(|(file, words)| write(&directory.join(file), &text(words)));
    write(&directory.join("src/main.rs"), program);
    build_and_boot(&text("cargo build --release\nqemu"), &directory);
    let crates = printed("cargo tree --edges normal --prefix none 2>/dev/null | sed 's/ .*//' | sort -u", &directory);
    assert_eq!(crates, "jumplabel\njumplabel-kernel\ntiny\n");
    let sections = printed("size -A target/riscv64imac-unknown-none-elf/release/tiny", &directory);
    let bytes = sections.lines().find_map(|line| line.strip_prefix(".text ")?.split_whitespace().next()?.parse().ok());
    assert!(bytes.is_some_and(|bytes: usize| bytes <= 20_450), "more code than before: {sections}");
}

/// The one in C, which lies beside the repository.
fn tiny_kernel_in_c(program: &str) {
    let directory = scratch("kernel-in-c-of-documents").join("tiny");
    write(&directory.join("tiny.c"), program);
    write(&directory.join("link.ld"), &desk::block("docs/kernels.md", "ENTRY(start)").text);
    let beside = directory.with_file_name("jumplabel");
    if !beside.exists() {
        std::os::unix::fs::symlink(repository("."), beside).unwrap();
    }
    build_and_boot(&desk::block("docs/kernels.md", "--features kernel-alone").text, &directory);
}

/// The last command boots.
fn build_and_boot(commands: &str, directory: &Path) {
    let (build, boot) = commands.trim_end().rsplit_once('\n').expect("commands");
    build.lines().for_each(|line| drop(printed(line, directory)));
    let said = printed(&format!("timeout 60 {boot}"), directory).replace('\r', "");
    assert!(said.ends_with("off\non\n"), "{said}");
}

/// docs/porting.md names the files of `arch`.
fn files_of_arch(list: &str) {
    for name in list.split_whitespace().filter(|word| word.starts_with("arch/") && !word.contains('<')) {
        assert!(repository("crates/jumplabel/src").join(name).exists(), "no {name}");
    }
}

#[test]
fn readme() {
    try_document("README.md");
}

#[test]
fn others() {
    let others = DOCUMENTS.iter().filter(|&&document| document != "README.md");
    others.for_each(|document| try_document(document));
}

const DOCUMENTS: [&str; 14] = [
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "docs/benchmarks.md",
    "docs/how-it-works.md",
    "docs/kernels.md",
    "docs/linux-api.md",
    "docs/mutants.md",
    "docs/operating.md",
    "docs/ops.md",
    "docs/porting.md",
    "docs/safety.md",
    "docs/table-format.md",
];

/// Each document is on the list, each block has one rule, and each rule a block.
#[test]
fn rules_and_blocks() {
    let mut found: Vec<_> = ["", "docs"]
        .iter()
        .flat_map(|directory| {
            std::fs::read_dir(repository("").join(directory)).unwrap().map(move |entry| (directory, entry.unwrap()))
        })
        .map(|(directory, entry)| {
            format!("{directory}/{}", entry.file_name().display()).trim_start_matches('/').to_owned()
        })
        .filter(|name| name.ends_with(".md"))
        .collect();
    found.sort_unstable();
    let mut listed = DOCUMENTS.map(str::to_owned);
    listed.sort_unstable();
    assert_eq!(found, listed);

    let mut used: Vec<usize> = Vec::new();
    for document in DOCUMENTS {
        used.extend(split(&read(document)).0.iter().map(|block| rule_of(document, &block.text).unwrap().0));
    }
    used.sort_unstable();
    assert_eq!(used, (0..BLOCKS.len()).collect::<Vec<_>>(), "a rule without a block, or with two");
}

/// Commands in the text exist.
#[test]
fn commands_in_the_text() {
    let mut count = 0;
    for document in DOCUMENTS {
        for command in commands(&split(&read(document)).1) {
            exists(&command).unwrap_or_else(|missing| panic!("{document}: `{command}`: {missing}"));
            count += 1;
        }
    }
    assert!(count > 30, "{count} commands were found in all documents");
}

/// What is new, or wrong, is found out.
#[test]
fn broken_twins() {
    let readme = read("README.md") + "\n```sh\nmake coffee\n```\n";
    let new = split(&readme).0.pop().unwrap();
    assert!(rule_of("README.md", &new.text).is_err_and(|error| error.contains("no rule")), "{}", new.text);
    assert!(command("make coffee").is_err_and(|error| error.contains("no rule")));
    for missing in [
        "make coffee",
        "cargo test -p jumplabel --test coffee",
        "cargo test -p coffee",
        "cargo test -p jumplabel --test builds coffee",
        "cargo run --release -p jumplabel-bench -- coffee",
        "cargo xtask coffee",
        "cargo xtask arches coffee",
        "cargo xtask arches --coffee aarch64",
        ".ci/coffee",
    ] {
        assert!(exists(missing).is_err(), "{missing}");
    }
    assert!(listings::fields("0 4 a\n4 4 b\n", 8).is_ok());
    assert!(listings::fields("0 4 a\n8 4 b\n", 12).is_err() && listings::fields("0 4 a\n", 8).is_err());
    assert_eq!(commands("Say `make\nlint`, `.ci/x`, `make` or `cargo test`."), ["make lint", ".ci/x", "cargo test"]);
}

/// jumplabel(3): its functions have the types that it says, and its example runs.
#[test]
fn manual_page() {
    let page = read("crates/jumplabel-capi/docs/jumplabel.3");
    let directory = scratch("documents/manual");
    write(&directory.join("synopsis.c"), &manual::synopsis(&page));
    write(&directory.join("program.c"), &manual::example(&page));
    let run = |line: &str| {
        let mut shell = shell(line, &directory);
        shell.env("PKG_CONFIG_PATH", prefix().join("lib/pkgconfig")).env("LD_LIBRARY_PATH", prefix().join("lib"));
        shell
    };
    let include = format!("-I{}/include", prefix().display());
    succeeds(&mut run(&format!("cc -Wall -Werror -c synopsis.c {include}")));
    assert_eq!(succeeds(&mut run(&format!("{} && ./a.out", manual::command(&page)))), "work(1)\n");
    // One that is not what the header says.
    let wrong = manual::synopsis(&page.replace("int jumplabel_seal(struct", "long jumplabel_seal(struct"));
    write(&directory.join("wrong.c"), &wrong);
    assert!(!run(&format!("cc -c wrong.c {include}")).output().unwrap().status.success());
    let missing = manual::synopsis(&page.replace("DEFINE_STATIC_KEY_TRUE(", "DEFINE_STATIC_COFFEE("));
    write(&directory.join("wrong.c"), &missing);
    assert!(!run(&format!("cc -c wrong.c {include}")).output().unwrap().status.success());
    // It is a page without mistakes of form.
    if Command::new("man").arg("--version").output().is_ok() {
        let page = repository("crates/jumplabel-capi/docs/jumplabel.3");
        assert_eq!(succeeds(shell("man --warnings -E UTF-8 -l -Z $PAGE >/dev/null", &directory).env("PAGE", page)), "");
    }
}
