//! The data are complete, and name what there is.

use std::collections::BTreeSet;

use super::*;

/// Names tell targets apart, also from the groups; each is what one goal at least runs.
#[test]
fn names() {
    let names: BTreeSet<_> = TARGETS.iter().flat_map(|target| [target.name, target.rust]).collect();
    assert_eq!(names.len(), 2 * TARGETS.len());
    assert!(["always", "others", "guests"].iter().all(|group| !names.contains(group)));
    for target in TARGETS {
        assert!(target.goal != Goal::Guests || target.guest.is_some(), "{}: no goal runs it", target.name);
    }
}

/// The sets are there, each is named once, and those that start other programs run only where these can be built.
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

/// The skipped tests exist: each pattern is a part of a test's name or of a module's.
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

/// The cross compiler has the C library of the target, and a guest a kernel and a cross compiler, both Debian's.
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
