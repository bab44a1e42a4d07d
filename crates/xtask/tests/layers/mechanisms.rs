//! Tests that the files exist in which mechanisms are, according to CONTRIBUTING.md.

use std::path::Path;

use super::{CONTRIBUTING, ROOT};

#[test]
fn mechanisms_have_files() {
    let table = CONTRIBUTING.split("mechanism is:\n\n").nth(1).unwrap();
    let rows = table.trim_start().lines().take_while(|line| line.starts_with('|')).filter(|line| line.contains('`'));
    let sources = Path::new(ROOT).join("crates/jumplabel/src");
    let mut mechanisms = 0;
    for row in rows {
        mechanisms += 1;
        let mut folder = Path::new("").to_path_buf();
        for name in row.split('`').skip(1).step_by(2).filter(|name| name.ends_with('/') || name.ends_with(".rs")) {
            // A name is a path from the core's `src`, from the folder of the name before it, or from the root of the repository.
            let (beside, whole) = (folder.join(name), Path::new("../../..").join(name));
            let file = [Path::new(name), &beside, &whole].into_iter().find(|file| sources.join(file).exists());
            let file = file.unwrap_or_else(|| panic!("no {name}: {row}"));
            folder = file.parent().unwrap().to_path_buf();
        }
    }
    assert!(mechanisms > 15, "{mechanisms}");
}
