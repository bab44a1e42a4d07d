//! Tests that no file has more than 300 lines.

use std::path::Path;

use super::ROOT;
use super::sources::files;

/// The largest number of lines that a file may have.
const LONGEST: usize = 300;

/// A message if a file is too long.
fn complaint(name: &str, text: &str) -> Option<String> {
    let lines = text.lines().count();
    (lines > LONGEST).then(|| format!("{name} has {lines} lines: split it by what it does"))
}

#[test]
fn no_file_is_too_long() {
    let mut read = 0;
    for folder in ["crates", "test-crates", "fuzz", "kernels"] {
        for file in files(&Path::new(ROOT).join(folder)) {
            let name = file.strip_prefix(ROOT).unwrap().to_str().unwrap();
            if name.ends_with(".rs") && !name.contains("/target/") {
                assert_eq!(complaint(name, &std::fs::read_to_string(&file).unwrap()), None);
                read += 1;
            }
        }
    }
    assert!(read > 400, "{read}");
}

#[test]
fn a_file_that_is_too_long_is_found() {
    assert_eq!(complaint("a.rs", &"\n".repeat(LONGEST)), None);
    assert!(complaint("a.rs", &"\n".repeat(LONGEST + 1)).is_some());
}
