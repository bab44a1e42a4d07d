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
#[path = "documents/flags.rs"]
mod flags;
#[path = "documents/kernels.rs"]
mod kernels;
#[path = "documents/links.rs"]
mod links;
#[path = "documents/listings.rs"]
mod listings;
#[path = "documents/manual.rs"]
mod manual;
#[path = "documents/markdown.rs"]
mod markdown;
#[path = "documents/tried.rs"]
mod tried;

use std::process::Command;

use Rule::{C, Commands, Excused, Kernel, OwnC, Rust, Tried};
use blocks::{BLOCKS, Rule, rule_of};
use commands::{at_desk, command};
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
        assert_eq!(block.language == "c", matches!(rule, C(_) | OwnC(_)), "all of a program in C, and nothing else");
        match rule {
            Rust(prints) => rust(&format!("{}{}", stem(document), block.line), &block.text, prints),
            C(prints) => c(&block.text, prints),
            Commands => lines(&block.text).iter().for_each(|line| command(line).unwrap()),
            Tried(function) | Kernel(function) | OwnC(function) => function(&block.text),
            Excused(reason) => println!("  not tried: {reason}"),
        }
    }
}

fn stem(document: &str) -> String {
    document.trim_start_matches("docs/").trim_end_matches(".md").to_lowercase()
}

/// A program, optimised, in a crate with the dependencies of the README's.
fn rust(name: &str, program: &str, prints: &str) {
    let manifest = std::fs::read_to_string(example().join("Cargo.toml")).unwrap();
    let dependencies = manifest.find("[dependencies]").expect("dependencies");
    let directory = package("programs", &manifest[dependencies..], &format!("src/bin/{name}.rs"), program);
    printed(&format!("cargo build --release --bin {name}"), &directory);
    assert_eq!(printed(&format!("target/release/{name}"), &directory), prints);
}

/// The README's program in C, which lies where its step has installed the library.
fn c(program: &str, prints: &str) {
    assert_eq!(std::fs::read_to_string(prefix().with_file_name("program.c")).unwrap(), program);
    let link = "cc -Wall -Wextra -Werror program.c $(pkg-config --cflags --libs jumplabel)";
    for rest in ["-Wl,-rpath,$PREFIX/lib && ./a.out", "&& LD_LIBRARY_PATH=$PREFIX/lib ./a.out", "-static && ./a.out"] {
        assert_eq!(at_desk(&format!("{link} {rest}")), prints, "{rest}");
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

const DOCUMENTS: [&str; 23] = [
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "docs/README.md",
    "docs/benchmarks.md",
    "docs/building.md",
    "docs/c.md",
    "docs/fail.md",
    "docs/features.md",
    "docs/how-it-works.md",
    "docs/install.md",
    "docs/kernels.md",
    "docs/linux-api.md",
    "docs/log.md",
    "docs/mutants.md",
    "docs/operating.md",
    "docs/ops.md",
    "docs/porting.md",
    "docs/safety.md",
    "docs/table-format.md",
    "docs/tracing.md",
    "docs/usdt.md",
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

/// Looks up the commands in the text of all documents that are chosen, and returns how many those are.
fn look_up(is_chosen: impl Fn(&str) -> bool) -> usize {
    let mut count = 0;
    for document in DOCUMENTS {
        for command in commands(&split(&read(document)).1).iter().filter(|command| is_chosen(command)) {
            exists(command).unwrap_or_else(|missing| panic!("{document}: `{command}`: {missing}"));
            count += 1;
        }
    }
    count
}

/// True if somebody must have built jumplabel-bench to look the command up. `make test` does not build it.
fn starts_the_benchmarks(command: &str) -> bool {
    command.starts_with("cargo run ") && command.contains(" -p jumplabel-bench")
}

/// Commands in the text exist.
#[test]
fn commands_in_the_text() {
    let count = look_up(|command| !starts_the_benchmarks(command));
    assert!(count > 30, "{count} commands were found in all documents");
}

/// The same for those that measure.
#[test]
fn benchmarks_in_the_text() {
    let count = look_up(starts_the_benchmarks);
    assert!(count > 4, "{count} commands were found in all documents");
}

/// The README is the door, and not the house.
#[test]
fn the_readme_is_short() {
    let (readme, words) = (read("README.md"), |text: &str| text.split_whitespace().count());
    assert!(readme.lines().count() <= 150 && words(&readme) <= 1_250, "{} words", words(&readme));
}

/// Links lead to files and headings, and sources name documents that there are.
#[test]
fn links_lead_somewhere() {
    let mut count = 0;
    for document in DOCUMENTS {
        for link in links::links(&split(&read(document)).1) {
            links::leads(document, &link).unwrap_or_else(|missing| panic!("{document}: {link}: {missing}"));
            count += 1;
        }
    }
    assert!(count > 80, "{count} links were found in all documents");
    let count = links::documents_in_sources(|source, name| {
        assert!(DOCUMENTS.contains(&name), "{}: {name}", source.display());
    });
    assert!(count > 40, "{count} documents are named in sources");
}

/// docs/building.md has every flag and variable that the sources ask for.
#[test]
fn flags_are_listed() {
    let listed = read("docs/building.md");
    let all = flags::all();
    assert!(all.len() >= 18, "{all:?}");
    let missing: Vec<_> = all.iter().filter(|flag| !listed.contains(&format!("`{flag}`"))).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// docs/safety.md has each error. The twin lacks one.
#[test]
fn errors_are_listed() {
    let source = read("crates/jumplabel/src/error/debug.rs");
    let names: Vec<_> = source.split("=> \"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let text = read("docs/safety.md");
    let rows = text.split("\n## ").find(|section| section.starts_with("Errors\n")).expect("a section");
    let missing =
        |rows: &str| names.iter().copied().filter(|name| !rows.contains(&format!("`{name}"))).collect::<Vec<_>>();
    assert!(names.len() > 30 && missing(rows).is_empty(), "{names:?}, and these are missing: {:?}", missing(rows));
    assert_eq!(missing(&rows.replace("`NoBounds", "`")), ["NoBounds"]);
}

/// The checks find a new block or command, and a wrong one.
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
    for broken in ["coffee.md", "docs/safety.md#coffee", "#coffee", "docs/coffee/"] {
        assert!(links::leads("README.md", broken).is_err(), "{broken}");
    }
    assert_eq!(links::links("[a](b.md#c), `x`, [d\ne](../f/) [g](https://example.org)"), ["b.md#c", "../f/"]);
    let headings = "# C and C++\n\n## `a_b`: it's 1\n\n## C and C++\n\n#no\n";
    assert_eq!(links::anchors(headings), ["c-and-c", "a_b-its-1", "c-and-c-1"]);
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
    // A manual page that differs from the header does not compile.
    let wrong = manual::synopsis(&page.replace("int jumplabel_seal(struct", "long jumplabel_seal(struct"));
    write(&directory.join("wrong.c"), &wrong);
    assert!(!run(&format!("cc -c wrong.c {include}")).output().unwrap().status.success());
    let missing = manual::synopsis(&page.replace("DEFINE_STATIC_KEY_TRUE(", "DEFINE_STATIC_COFFEE("));
    write(&directory.join("wrong.c"), &missing);
    assert!(!run(&format!("cc -c wrong.c {include}")).output().unwrap().status.success());
    // The manual page has no mistakes of form.
    if Command::new("man").arg("--version").output().is_ok() {
        let page = repository("crates/jumplabel-capi/docs/jumplabel.3");
        assert_eq!(succeeds(shell("man --warnings -E UTF-8 -l -Z $PAGE >/dev/null", &directory).env("PAGE", page)), "");
    }
}
