//! Tests that the data are complete, and that everything they name exists.

use std::collections::BTreeSet;

use super::*;

/// The names of targets differ from each other and from those of groups. At least one goal runs each target.
#[test]
fn names() {
    let names: BTreeSet<_> = TARGETS.iter().flat_map(|target| [target.name, target.rust]).collect();
    assert_eq!(names.len(), 2 * TARGETS.len());
    assert!(["always", "others", "guests"].iter().all(|group| !names.contains(group)));
    for target in TARGETS {
        assert!(target.goal != Goal::Guests || target.guest.is_some(), "{}: no goal runs it", target.name);
    }
}

/// Each set exists, and no list names a set twice.
#[test]
fn sets() {
    let tests = crate::root().join("crates/jumplabel/tests");
    let lists = TARGETS.iter().map(|target| (target.name, target.sets.join(" ")));
    for (name, list) in lists.chain([("guests", OF_GUESTS.into())]) {
        let sets: Vec<_> = list.split(' ').collect();
        assert_eq!(sets.iter().collect::<BTreeSet<_>>().len(), sets.len(), "{name}: {list}");
        for set in sets {
            assert!(tests.join(set).with_extension("rs").exists(), "{name}: no set of tests {set}");
        }
    }
}

/// Each skipped test exists: a pattern is a part of the name of a test or of a module.
#[test]
fn skipped_tests() {
    let (mut folders, mut text) = (vec![crate::root().join("crates/jumplabel/tests/process")], String::new());
    while let Some(folder) = folders.pop() {
        for path in folder.read_dir().unwrap().map(|entry| entry.unwrap().path()) {
            match path.is_dir() {
                true => folders.push(path),
                false => text += &format!("{}::{}", path.display(), std::fs::read_to_string(&path).unwrap()),
            }
        }
    }
    for pattern in NOT_EMULATED.split(' ') {
        let pattern = pattern.replace("::", ".rs");
        assert!(text.contains(&pattern), "nothing is called {pattern}");
    }
}

/// Each cross compiler has the target's C library. Each guest has a kernel and a cross compiler of Debian's.
#[test]
fn what_each_needs() {
    for target in TARGETS {
        match target.compiler {
            Compiler::Gcc(gnu, _) => assert_eq!(gnu.rsplit('-').next(), target.rust.rsplit('-').next()),
            Compiler::Zig(options, _) => {
                assert!(options.contains(&target.rust.replace("-unknown", "")), "{options}")
            }
        }
        assert!(target.emulator.is_none_or(|emulator| emulator.starts_with("qemu-")), "{}", target.name);
        if let Some(guest) = &target.guest {
            assert!(guest.program().starts_with("qemu-system-") && guest.kernel.starts_with("linux-image-"));
            assert!(
                matches!(target.compiler, Compiler::Gcc(..)) && !guest.packages.is_empty() && !guest.console.is_empty()
            );
        }
    }
}
