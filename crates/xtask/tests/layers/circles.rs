//! Tests that no modules of a crate use each other in a circle. Modules are compared within each folder, where a subfolder counts as one module. They
//! may use what their folder's own file defines.

use std::collections::{BTreeMap, BTreeSet};

use super::sources::{Source, is_in, parent, paths, sources, sources_below, within};

/// Which module uses which other one of the same folder, and the path by which it does.
type Arrows = BTreeMap<(String, String), String>;

/// The innermost module in which a path is.
fn module_of<'module>(modules: &BTreeSet<&'module str>, path: &str) -> &'module str {
    modules.iter().filter(|module| is_in(path, module)).max_by_key(|module| module.len()).unwrap()
}

/// The paths that each module names.
fn uses(sources: &[Source]) -> Vec<(&str, Vec<String>)> {
    let modules: BTreeSet<&str> = sources.iter().map(|source| &*source.module).collect();
    let uses = sources.iter().map(|source| {
        let within = modules.iter().filter(|module| !module.is_empty() && parent(module) == source.module);
        let children: Vec<&str> = within.map(|module| module.rsplit("::").next().unwrap()).collect();
        let mut paths = paths(source, &children);
        // A macro belongs to the crate, and to no folder.
        paths.retain(|path| !path.starts_with('$') && !path.ends_with('!'));
        (&*source.module, paths)
    });
    uses.collect()
}

/// All uses of one module by another, if modules name these paths.
fn arrows(uses: &[(&str, Vec<String>)]) -> Arrows {
    uses.iter().flat_map(|(module, paths)| arrows_from(module, paths, uses)).collect()
}

/// The uses of other modules by one module.
fn arrows_from(module: &str, paths: &[String], uses: &[(&str, Vec<String>)]) -> Arrows {
    let modules: BTreeSet<&str> = uses.iter().map(|(module, _)| *module).chain([""]).collect();
    let arrow = |path: &String| {
        let mut used = module_of(&modules, path);
        // If that module imports the name from another one, it is the other one that is used.
        let name = path[used.len()..].trim_start_matches("::").split("::").next().unwrap();
        let mut imports = uses.iter().filter(|(other, _)| *other == used).flat_map(|(_, paths)| paths);
        let end = format!("::{name}");
        if let Some(import) = imports.find(|import| !name.is_empty() && import.ends_with(&end)) {
            used = module_of(&modules, import);
        }
        beside(module, used).map(|arrow| (arrow, path.clone()))
    };
    paths.iter().filter_map(arrow).collect()
}

/// The modules of one common folder that contain `one` and `other`, or are these. `None` if one of the two contains the other.
fn beside(one: &str, other: &str) -> Option<(String, String)> {
    let (mut one, mut other) = (one.split("::"), other.split("::"));
    let mut folder = String::new();
    loop {
        match (one.next()?, other.next()?) {
            ("", _) | (_, "") => return None,
            (one, other) if one == other => folder = within(&folder, one),
            (one, other) => return Some((within(&folder, one), within(&folder, other))),
        }
    }
}

/// The uses that form a circle, as messages. `None` if there is no circle.
fn circle(arrows: &Arrows) -> Option<Vec<String>> {
    let mut left: BTreeSet<&(String, String)> = arrows.keys().collect();
    loop {
        // An arrow from a module that none uses, or to one that uses none, is part of no circle.
        let (users, used): (BTreeSet<_>, BTreeSet<_>) = left.iter().map(|(user, used)| (user, used)).unzip();
        let before = left.len();
        left.retain(|(user, other)| used.contains(user) && users.contains(other));
        if left.len() == before {
            break;
        }
    }
    let said = |arrow: &&(String, String)| format!("{} uses {}: {}", arrow.0, arrow.1, arrows[*arrow]);
    (!left.is_empty()).then(|| left.iter().map(said).collect())
}

/// The crates whose modules are compared: those of `crates/`, and the kernels.
fn crates() -> Vec<(String, Vec<Source>)> {
    let root = std::path::Path::new(super::ROOT);
    let folders = std::fs::read_dir(root.join("crates")).unwrap();
    let names = folders.map(|folder| folder.unwrap().file_name().into_string().unwrap());
    let kernels =
        ["kernels", "kernels/bare"].map(|name| (name.to_owned(), sources_below(&root.join(name).join("src"))));
    names.map(|name| (name.clone(), sources(&name))).chain(kernels).collect()
}

#[test]
fn no_modules_use_each_other_in_a_circle() {
    for (name, sources) in crates() {
        assert_eq!(circle(&arrows(&uses(&sources))), None, "{name}");
    }
}

/// Broken twins: for each use, an import in the opposite direction makes a circle.
#[test]
fn a_circle_is_found() {
    let mut turned = 0;
    for (name, sources) in crates() {
        let uses = uses(&sources);
        let found = arrows(&uses);
        for (user, used) in found.keys() {
            let text = format!("use crate::{user}::Thing;");
            let import = paths(&Source { module: used.clone(), text }, &[]);
            let mut arrows = found.clone();
            arrows.extend(arrows_from(used, &import, &uses));
            assert!(circle(&arrows).is_some(), "{name}: {used} may use {user}");
            turned += 1;
        }
    }
    assert!(turned > 200, "{turned}");
}

#[test]
fn a_circle_is_found_however_it_is_written() {
    let is_round = |texts: &[(&str, &str)]| {
        let source = |(module, text): &(&str, &str)| Source { module: (*module).into(), text: (*text).into() };
        circle(&arrows(&uses(&texts.iter().map(source).collect::<Vec<_>>()))).is_some()
    };
    assert!(!is_round(&[("a", "use crate::b::B;"), ("b", "use crate::c::C;"), ("c", "")]));
    assert!(is_round(&[("a", "use crate::b::B;"), ("b", "use crate::c::C;"), ("c", "use super::a::A;")]));
    // A circle through folders, each of which has two files.
    assert!(is_round(&[
        ("a", ""),
        ("a::x", "use crate::b::y::Y;"),
        ("b", ""),
        ("b::y", ""),
        ("b::z", "use crate::a::f;")
    ]));
    // A circle through a folder's own file, which imports the name from another file.
    assert!(is_round(&[("a", "use y::Y;"), ("a::x", "use super::Y;"), ("a::y", "use super::x::X;")]));
    // No circle: the folder's own file defines the item.
    assert!(!is_round(&[("a", "use x::X; use y::Y;"), ("a::x", "use super::A;"), ("a::y", "use super::{A, x::X};")]));
}
