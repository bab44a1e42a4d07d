//! Tests that modules keep the order of a figure: a module uses only modules in lines below its own. The core's figure is in
//! docs/how-it-works.md; other crates have theirs at the top of their own documentation.

use super::sources::{Root, Source, is_in, paths, sources};

/// The crates with a figure.
const CRATES: [&str; 3] = ["jumplabel", "jumplabel-cli", "jumplabel-bench"];

/// The name that the root of a crate itself defines for all of its modules.
const OF_THE_ROOT: &str = "Result";

/// The document that has the figure of a crate.
fn document(name: &str) -> String {
    if name == "jumplabel" {
        return include_str!("../../../../docs/how-it-works.md").to_owned();
    }
    let sources = sources(name);
    let root = sources.iter().find(|source| source.module.is_empty()).unwrap();
    let lines = root.text.lines().map_while(|line| line.strip_prefix("//!"));
    lines.flat_map(|line| [line.strip_prefix(' ').unwrap_or(line), "\n"]).collect()
}

/// The rows of a document's first figure, from the top: names of modules.
pub fn rows(document: &str) -> Vec<Vec<&str>> {
    let figure = document.split("```text\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let rows = figure.lines().filter_map(|line| line.strip_prefix("  ").filter(|row| !row.starts_with(' ')));
    rows.map(|row| row.split("  ").next().unwrap().split(' ').collect()).collect()
}

/// The place of a path in a figure: the longest name in which the path is, and that name's row.
fn place<'name>(rows: &[Vec<&'name str>], path: &str) -> Option<(usize, &'name str)> {
    let names = rows.iter().enumerate().flat_map(|(row, names)| names.iter().map(move |name| (row, *name)));
    names.filter(|(_, name)| is_in(path, name)).max_by_key(|(_, name)| name.len())
}

/// The modules of a crate without its root, which is above all others.
fn modules(name: &str) -> Vec<Source> {
    sources(name).into_iter().filter(|source| !source.module.is_empty()).collect()
}

/// The paths that a module uses: modules, and items in them.
fn uses(root: &Root, source: &Source) -> Vec<String> {
    let uses = paths(source, &[]).into_iter().flat_map(|path| root.resolve(&path));
    uses.filter(|path| path != OF_THE_ROOT).collect()
}

/// A message for each use by a module of one that is not below it in the figure.
fn complaints(rows: &[Vec<&str>], root: &Root, source: &Source) -> Vec<String> {
    let module = &source.module;
    let Some((row, name)) = place(rows, module) else { return vec![format!("{module} is not in the figure")] };
    let upward = |path: &String| match place(rows, path) {
        None => Some(format!("{module} uses {path}: name the module that it is in")),
        Some((other_row, other)) => (other != name && other_row <= row)
            .then(|| format!("{module} uses {path}, but {other} is not below {name}")),
    };
    uses(root, source).iter().filter_map(upward).collect()
}

#[test]
fn imports_point_down() {
    for name in CRATES {
        let document = document(name);
        let (rows, root) = (rows(&document), Root::of(&sources(name)));
        let found: Vec<String> = modules(name).iter().flat_map(|source| complaints(&rows, &root, source)).collect();
        assert!(found.is_empty(), "{name}: {found:#?}");
    }
}

#[test]
fn the_figure_names_what_there_is() {
    for name in CRATES {
        let (document, modules) = (document(name), modules(name));
        let rows = rows(&document);
        assert!(rows.len() > 5, "{name}");
        for named in rows.iter().flatten() {
            assert!(modules.iter().any(|source| source.module == *named), "{name}: {named} is no module");
        }
    }
}

/// Broken twins: each import in the opposite direction is found.
#[test]
fn an_upward_import_is_found() {
    for name in CRATES {
        let (document, modules) = (document(name), modules(name));
        let (rows, root) = (rows(&document), Root::of(&sources(name)));
        let mut turned = 0;
        for source in &modules {
            let module = &source.module;
            let own = place(&rows, module).unwrap();
            for path in uses(&root, source) {
                let (_, other) = place(&rows, &path).unwrap();
                if other == own.1 {
                    continue;
                }
                for import in
                    [format!("use crate::{module}::Thing;"), format!("use crate::{{{other}::B, {module}::{{A, B}}}};")]
                {
                    let below = Source { text: import, module: other.to_owned() };
                    assert!(!complaints(&rows, &root, &below).is_empty(), "{name}: {other} may use {module}");
                    turned += 1;
                }
            }
        }
        assert!(turned > 100, "{name}: {turned}");
    }
}

#[test]
fn an_import_from_beside_is_found_however_it_is_written() {
    let document = document("jumplabel");
    let (rows, root) = (rows(&document), Root::of(&sources("jumplabel")));
    let is_right = |module: &str, text: &str| {
        complaints(&rows, &root, &Source { module: module.into(), text: text.into() }).is_empty()
    };
    assert!(!is_right("batch", "use crate::scoped::KeyGuard;"));
    assert!(!is_right("platform::linux::fork", "fn f() { super::super::super::patch::f() }"));
    assert!(is_right("platform::linux::fork", "use super::super::{Held, list::List as L};"));
    assert!(!is_right("raw::key", "use crate::key::flip;"));
    assert!(!is_right("raw::key", "use crate::Key;"));
    for text in [
        "use crate::*;",
        "use super::super::super::*;",
        "use crate as root; fn f() { root::batch::f() }",
        "extern crate self as root; fn f() { root::batch::f() }",
        "use super::super::super as root; fn f() { root::batch::f() }",
        "use crate::{self as root, platform};",
        "pub use crate::batch::Batch;",
        "pub(crate) use crate::batch::{self};",
        "pub(in crate::platform) use crate ::r#batch::B;",
        "use {crate::batch::B, super::x};",
        "fn f() -> <crate::batch::Batch as T>::U { crate::batch::f() }",
        "const A: &str = \"a\nb\"; fn f() { crate::batch::f(\"c\nd\") }",
        "fn f() { ('\"', crate::batch::f(), '\"', \"//\") }",
        "fn f() { /* // */ crate::batch::f() }",
        "mod tests {\n}\nuse crate::batch::B;",
        "fn f() { crate::static_key! {} }",
        "fn f() { crate::__key_record!() }",
        "macro_rules! f { () => { $crate::__key_record!() } }",
        "macro_rules! f { () => { $crate::then!([$crate::__key_record]) } }",
        "macro_rules! f { () => { $crate::batch::f() } }",
        "macro_rules! f { () => { $crate::Batch::new() } }",
    ] {
        assert!(!is_right("platform::linux::fork", text), "{text}");
    }
    for text in [
        "/// [`f`](crate::batch)\nfn f() { \"crate::batch\" } // crate::batch",
        "pub(crate) fn f() { crate::error::f() } pub(in crate::batch) fn g() {}",
        "macro_rules! f { ($of:ident) => { use super::*; $crate::$of::new(); $crate::WriterKind } }",
        "mod tests { use crate::batch::B; }",
    ] {
        assert!(is_right("platform::linux::fork", text), "{text}");
    }
}
