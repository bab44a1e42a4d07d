//! Edits of sources. An edit gives the text that it replaces, and how often the text is in the file. Another number is an error, because then the
//! edit was written for another version of the source.

use std::fs;
use std::path::Path;

/// One edit of one file.
pub struct Edit {
    file: &'static str,
    times: usize,
    from: &'static str,
    to: &'static str,
    is_word: bool,
}

/// Replaces `from`, which must be in the file this many times, by `to`.
pub const fn edit(file: &'static str, times: usize, from: &'static str, to: &'static str) -> Edit {
    Edit { file, times, from, to, is_word: false }
}

/// Like [`edit`] for a word: no letter of a name may come right before it.
pub const fn word(file: &'static str, times: usize, from: &'static str, to: &'static str) -> Edit {
    Edit { file, times, from, to, is_word: true }
}

/// Inserts an `#include` before the file's first one.
pub const fn include(file: &'static str, header: &'static str) -> Edit {
    Edit { file, times: 1, from: INCLUDE, to: header, is_word: false }
}

/// The text that marks such an edit.
const INCLUDE: &str = "#include";

impl Edit {
    fn edited(&self, text: &str) -> Result<String, String> {
        let Edit { file, times, from, to, is_word } = self;
        if *from == INCLUDE {
            let line = text.find("\n#include ").ok_or_else(|| format!("{file} includes nothing"))? + 1;
            return Ok(format!("{}#include {to}\n{}", &text[..line], &text[line..]));
        }
        let (mut edited, mut rest, mut found) = (String::new(), text, 0);
        while let Some(at) = rest.find(from) {
            let before = rest[..at].chars().next_back().or_else(|| edited.chars().next_back());
            edited += &rest[..at];
            if *is_word && before.is_some_and(|before| before.is_alphanumeric() || before == '_') {
                edited += from;
            } else {
                found += 1;
                edited += to;
            }
            rest = &rest[at + from.len()..];
        }
        edited += rest;
        if found == *times { Ok(edited) } else { Err(format!("{file} has `{from}` {found} times, and not {times}")) }
    }
}

/// Makes all edits below a folder, one after the other, or says which of them do not fit.
pub fn apply(folder: &Path, edits: &[Edit]) -> Result<(), String> {
    let carry_out = |edit: &Edit| {
        let path = folder.join(edit.file);
        let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        fs::write(&path, edit.edited(&text)?).map_err(|error| format!("{}: {error}", path.display()))
    };
    let wrong: Vec<_> = edits.iter().filter_map(|edit| carry_out(edit).err()).collect();
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

#[test]
fn what_is_not_there_is_an_error() {
    let text = "static_assert(a);\nassert(b);\nassert(c);\n";
    let of = |edit: Edit| edit.edited(text);
    assert_eq!(of(word("x.c", 2, "assert(", "CHECK(")).unwrap(), "static_assert(a);\nCHECK(b);\nCHECK(c);\n");
    assert_eq!(of(edit("x.c", 1, "(a)", "(d)")).unwrap(), text.replace("(a)", "(d)"));
    for (edit, said) in [
        (edit("x.c", 1, "(z)", "(d)"), "x.c has `(z)` 0 times, and not 1"),
        (edit("x.c", 2, "assert(", "CHECK("), "x.c has `assert(` 3 times, and not 2"),
        (word("x.c", 3, "assert(", "CHECK("), "x.c has `assert(` 2 times, and not 3"),
    ] {
        assert_eq!(of(edit).unwrap_err(), said);
    }
    let first = include("x.c", "\"keys.h\"");
    assert_eq!(
        first.edited("/**/\n#include <a>\n#include <b>\n").unwrap(),
        "/**/\n#include \"keys.h\"\n#include <a>\n#include <b>\n"
    );
    assert_eq!(of(first).unwrap_err(), "x.c includes nothing");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    assert!(
        apply(folder, &[edit("no-such-file.c", 1, "a", "b")]).unwrap_err().contains("no-such-file.c: No such file")
    );
}
