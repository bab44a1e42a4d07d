//! The contract of the files in src/arch/asm: each defines the same macros in the same order, and docs/porting.md knows of them. What
//! the encoders define, the compiler checks on every host; a macro it misses only where somebody builds for that target.
#![cfg(not(miri))]

use std::collections::BTreeSet;

const CONTRACT: &str = include_str!("../src/arch/asm/mod.rs");
const PORTING: &str = include_str!("../../../docs/porting.md");

/// The files that several others share: the instructions of those with a nop and a b of one word, and the function of a naked key.
const WORD: &str = include_str!("../src/arch/asm/word.rs");
const NAKED: &str = include_str!("../src/arch/asm/naked.rs");

/// The macro of trampolines, which powerpc64le has none of: docs/porting.md says why.
const CALLS: [&str; 1] = ["__trampoline"];

/// The macros that a file leaves to those two files, or does not have.
fn shared(name: &str) -> Vec<&'static str> {
    let naked = items(NAKED).into_iter().filter(|item| *item == "__naked_asm");
    match name {
        "powerpc64" => items(WORD).into_iter().chain(naked).chain(CALLS).collect(),
        "aarch64" | "arm" | "loongarch64" => items(WORD).into_iter().chain(naked).collect(),
        "s390x" => naked.collect(),
        _ => Vec::new(),
    }
}

/// The macros of the table in src/arch/asm/mod.rs.
fn contract() -> Vec<&'static str> {
    let rows = CONTRACT.lines().filter_map(|line| line.strip_prefix("//! | `"));
    rows.map(|row| row.split('`').next().unwrap()).collect()
}

/// The files in src/arch/asm that are for one instruction set: those that its mod.rs gives to a target, and one in a folder.
fn sources() -> Vec<(String, String)> {
    let names = CONTRACT.lines().filter_map(|line| line.split_once("path = \"")?.1.strip_suffix(".rs\")]"));
    let text =
        |name| std::fs::read_to_string(format!("{}/src/arch/asm/{name}.rs", env!("CARGO_MANIFEST_DIR"))).unwrap();
    names.chain(["x86/machine"]).map(|name| (name.to_owned(), text(name))).collect()
}

/// The items that a file lets others use, in order. An item that is there once for each of two instruction sets counts once.
fn items(source: &str) -> Vec<&str> {
    let starts = ["pub const ", "pub unsafe fn ", "pub fn ", "pub type ", "macro_rules! "];
    let mut items: Vec<&str> = source.lines().filter_map(|line| name(line, &starts)).collect();
    items.dedup();
    items
}

/// The name that a line declares, if it starts a declaration.
fn name<'line>(line: &'line str, starts: &[&str]) -> Option<&'line str> {
    let rest = starts.iter().find_map(|start| line.strip_prefix(start))?;
    rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()
}

/// A sentence about an arch file that breaks the contract; `None` if the file keeps it. Other files have the items in `shared`.
fn complaint(source: &str, shared: &[&str], contract: &[&str]) -> Option<String> {
    let found = items(source);
    let contract: Vec<&str> = contract.iter().copied().filter(|item| !shared.contains(item)).collect();
    if found != contract {
        return Some(format!("defines {found:?}, and the contract is {contract:?}"));
    }
    let lines = source.lines().count();
    (lines >= 300).then(|| format!("has {lines} lines, and should be mechanism only"))
}

#[test]
fn each_file_keeps_the_contract() {
    let contract = contract();
    let mut files = 0;
    for (name, source) in sources() {
        assert_eq!(complaint(&source, &shared(&name), &contract), None, "src/arch/asm/{name}.rs");
        files += 1;
    }
    assert_eq!(files, 7);
}

/// Broken twins: a file that lacks an item, has one too many, or has two in another order.
#[test]
fn what_breaks_the_contract_is_found_out() {
    let contract = contract();
    let sources = sources();
    let (_, source) = sources.iter().find(|(name, _)| name == "aarch64").unwrap();
    let shared = shared("aarch64");
    assert_eq!(shared.len(), 4);
    for item in items(source) {
        let at = item.as_ptr() as usize - source.as_ptr() as usize;
        let without = format!("{}other{}", &source[..at], &source[at + item.len()..]);
        assert!(complaint(&without, &shared, &contract).is_some(), "without {item}");
    }
    let more = format!("{source}\npub fn policy() {{}}\n");
    assert!(complaint(&more, &shared, &contract).is_some());
    let reversed: Vec<&str> = source.lines().rev().collect();
    assert!(complaint(&reversed.join("\n"), &shared, &contract).is_some());
    let long = source.clone() + &"\n".repeat(300);
    assert!(complaint(&long, &shared, &contract).is_some());
}

/// The text between the quotes of each literal, and the names of the macro's arguments, in the body of a macro.
fn pieces<'source>(source: &'source str, name: &str) -> Vec<&'source str> {
    let body = source.split_once(&format!("macro_rules! {name} {{\n")).expect(name).1;
    let body = body.split_once("=> {").unwrap().1.split_once("\n}\n").unwrap().0;
    let mut pieces = Vec::new();
    for (at, part) in body.split('"').enumerate() {
        if at % 2 == 1 {
            pieces.push(part);
        } else {
            pieces.extend(["$label", "$target"].into_iter().filter(|name| part.contains(name)));
        }
    }
    pieces
}

/// The first difference between the lines that a check hands to the assembler and the expected ones; `None` if there is none. Expected are a line
/// of the stub, which returns to the place after the site, and then the lines of `__jump_asm` and `__nop_asm`, for the label and the target of a
/// site. `instructions` has those two macros.
fn difference(source: &str, instructions: &str) -> Option<String> {
    let expected = ["__jump_asm", "__nop_asm"].map(|name| {
        let text = pieces(instructions, name).into_iter().map(|piece| match piece {
            "$label" => r".Ljump_site_\\n\\():".to_owned(),
            "$target" => r"\\t".to_owned(),
            text => text.replace(r"\n", ";"),
        });
        // A line ends with a semicolon; after a label none is needed.
        text.collect::<String>().replace(":;", ": ").trim_matches(';').to_owned()
    });
    // x86 has several, one for each way to the key.
    source.match_indices("macro_rules! __site_options").find_map(|(at, _)| {
        let found = pieces(&source[at..], "__site_options");
        let [stub, found @ ..] = &found[..] else { return Some("a check has no stub".to_owned()) };
        let parts = [r".Ljload_\\n\\():", r"\\k", r"\\t", r".Ljump_site_\\n+", r"(\\m)&1"];
        let lacks = parts.into_iter().find(|part| !stub.contains(part));
        let lacks = lacks.map(|part| format!("the stub {stub:?} lacks {part:?}"));
        let other = || format!("a check has {found:?}, and the instructions are {expected:?}");
        lacks.or_else(|| (*found != expected).then(other))
    })
}

#[test]
fn checks_have_the_instructions() {
    for (name, source) in sources() {
        let instructions = if source.contains("__jump_asm") { &source } else { WORD };
        assert_eq!(difference(&source, instructions), None, "src/arch/asm/{name}.rs");
        let others = [
            (r"site_\\n\\():", r"site_\\n\\():nop;"),
            (r"load_\\n\\():", ":"),
            (r"\\k", "k"),
            ("(nostack", "\"\", (nostack"),
        ];
        for (from, to) in others {
            let other = source.replace(from, to);
            assert!(other != source && difference(&other, instructions).is_some(), "src/arch/asm/{name}.rs: {to}");
        }
    }
}

/// docs/porting.md explains each item, and has a row for each file.
#[test]
fn the_document_is_complete() {
    for item in contract() {
        assert!(PORTING.contains(&format!("| `{item}` |")), "docs/porting.md does not explain `{item}`");
    }
    let rows: BTreeSet<&str> = PORTING.lines().filter_map(|line| line.strip_prefix("| ")?.split(' ').next()).collect();
    for (name, _) in sources() {
        let row = if name == "x86/machine" { "x86_64" } else { &name };
        assert!(rows.contains(row), "docs/porting.md has no row for {row}");
    }
}

/// Nothing assumes a size of pages: 64 KiB are common on some of the instruction sets.
#[test]
fn no_size_of_pages() {
    fn walk(folder: &std::path::Path, found: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, found);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            // The longest path (PATH_MAX) is the one thing of that number that is no page.
            let suspect = |line: &&str| ["4096", "0x1000,", "<< 12", ">> 12"].iter().any(|it| line.contains(it));
            let lines = text.lines().filter(suspect).filter(|line| !line.contains("PATH_MAX"));
            found.extend(lines.map(|line| format!("{}: {line}", path.display())));
        }
    }
    let mut found = Vec::new();
    walk(concat!(env!("CARGO_MANIFEST_DIR"), "/src").as_ref(), &mut found);
    assert!(found.is_empty(), "{found:#?}");
}
