//! `link` on a program of Rust: calls in one crate, and calls of another crate, which go by slots.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use iced_x86::{Decoder, DecoderOptions};
use jumplabel_testing::cargo::{self, Build};
use object::{Object, ObjectSection};

use crate::link_c::{counts, link, listed};
use crate::programs::{copy, jumplabel, text};

/// With the relocations that the linker leaves.
pub fn program() -> &'static Path {
    static BUILT: OnceLock<Vec<PathBuf>> = OnceLock::new();
    let link = ["-Clink-arg=-Wl,--emit-relocs"];
    let build = || Build::of("linked").args(&["--bin", "linked"]).link(&link).results_in("linked", &["linked"]);
    &BUILT.get_or_init(build)[0]
}

fn found(forms: &serde_json::Value, instruction: &str) -> u64 {
    let is_it = |form: &&serde_json::Value| form["instruction"] == instruction;
    forms["calls"]["forms"].as_array().unwrap().iter().find(is_it).unwrap()["calls"].as_u64().unwrap()
}

#[test]
fn calls_of_two_crates() {
    let file = copy(program(), "linked", &[]);
    let before = cargo::run(&mut Command::new(&file));
    assert_eq!(before, "1 sites of OWN, 1 of SHARED\nok\n");
    let first = link(&file, &[]);
    assert!(found(&first, "call*slot") > 0 && found(&first, "call") > 0, "{first}");
    let [calls, straight, added] = counts(&first);
    assert_eq!((calls, listed(&file)), (added, calls as usize));
    let after = cargo::run(&mut Command::new(&file));
    assert!(after.ends_with("\nok\n") && after != before, "{after}");
    // What went by a slot is a direct call now, and its relocation says so.
    let second = link(&file, &[]);
    assert_eq!((found(&second, "call*slot"), found(&second, "jmp*slot")), (0, 0));
    assert_eq!(counts(&second), [calls, straight, 0]);
    instructions(&file);
    // By an eye that knows neither tables nor this tool.
    for debugger in [&["readelf", "-aW"][..], &["objdump", "-d"], &["nm"]] {
        let output = Command::new(debugger[0]).args(&debugger[1..]).arg(&file).output().unwrap();
        assert!(
            output.status.success() && output.stderr.is_empty(),
            "{debugger:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

/// Each displacement that is listed ends an instruction, which leads where the table says.
fn instructions(file: &Path) {
    let bytes = std::fs::read(file).unwrap();
    let object = object::File::parse(&*bytes).unwrap();
    let text_section = object.section_by_name(".text").unwrap();
    let (code, start) = (text_section.data().unwrap(), text_section.address());
    let table = object.section_by_name("__jump_table").unwrap();
    let (entries, at) = (table.data().unwrap(), table.address());
    let mut seen = 0;
    for (entry, at) in entries.chunks(16).zip((at..).step_by(16)) {
        let word = |number: usize| u32::from_le_bytes(entry[number * 4..][..4].try_into().unwrap());
        let follow =
            |number: usize| (at + 4 * number as u64).wrapping_add_signed(i64::from(word(number).cast_signed()));
        if word(3) >> 2 & 0xf != 4 {
            continue;
        }
        let place = follow(0);
        // One or two bytes in front of it.
        let ends = |before: u64| {
            let from = (place - before - start) as usize;
            let decoded = Decoder::with_ip(64, &code[from..from + 16], place - before, DecoderOptions::NONE).decode();
            // 0, if it is no call and no jump.
            (decoded.next_ip() == place + 4).then(|| decoded.near_branch_target()).filter(|&to| to != 0)
        };
        let leads = ends(1).or_else(|| ends(2)).unwrap_or_else(|| panic!("no call at {place:#x}"));
        assert!(
            leads == follow(1) || place % 8 <= 4,
            "a call at {place:#x} that lies across two words leads to {leads:#x}"
        );
        seen += 1;
    }
    assert!(seen > 4);
}

/// What is printed for people.
#[test]
fn printed() {
    let file = copy(program(), "linked-printed", &[]);
    let printed = jumplabel(&["link", text(&file)]);
    let (head, last) = (printed.out.lines().next().unwrap_or_default(), printed.out.lines().last().unwrap_or_default());
    assert_eq!((head, printed.code), ("CALL       NUMBER  STRAIGHT  TRAMPOLINE", 0), "{}", printed.out);
    assert_eq!(last, format!("{}: linked", text(&file)));
    assert!(jumplabel(&["link", text(&file)]).out.ends_with(": nothing to do\n"));
}
