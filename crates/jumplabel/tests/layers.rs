//! The layers of the core, as the figure in docs/how-it-works.md has them: a module uses those below it, and none above or beside it.
#![cfg(not(miri))]

use std::path::Path;

const FIGURE: &str = include_str!("../../../docs/how-it-works.md");
const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src");

/// The rows of the figure, from the top: names of modules.
fn layers(document: &str) -> Vec<Vec<&str>> {
    let figure = document.split("```text\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let rows = figure.lines().filter_map(|line| line.strip_prefix("  ").filter(|row| !row.starts_with(' ')));
    rows.map(|row| row.split("  ").next().unwrap().split(' ').collect()).collect()
}

/// The name in the figure that a path belongs to, and its row: the longest that it begins with.
fn place<'name>(layers: &[Vec<&'name str>], path: &str) -> Option<(usize, &'name str)> {
    let names = layers.iter().enumerate().flat_map(|(row, names)| names.iter().map(move |name| (row, *name)));
    let is_in = |name: &str| path.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"));
    names.filter(|(_, name)| is_in(name)).max_by_key(|(_, name)| name.len())
}

/// The files of the core, by the paths of their modules, without their tests.
fn sources() -> Vec<(String, String)> {
    fn walk(folder: &Path, files: &mut Vec<(String, String)>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, files);
                continue;
            }
            let module = path.strip_prefix(SOURCES).unwrap().with_extension("");
            let names = module.iter().map(|name| name.to_str().unwrap()).filter(|name| *name != "mod");
            let text = std::fs::read_to_string(&path).unwrap();
            files.push((names.collect::<Vec<_>>().join("::"), text));
        }
    }
    let mut files = Vec::new();
    walk(SOURCES.as_ref(), &mut files);
    files.retain(|(module, _)| module != "lib");
    files
}

/// The paths from the crate's root that `source`, of a module, names. Imports of groups are taken apart.
fn paths(module: &str, source: &str) -> Vec<String> {
    let lines = source.lines().map(|line| line.split("//").next().unwrap());
    let code: String = lines.take_while(|line| *line != "mod tests {").flat_map(|line| [line, "\n"]).collect();
    let mut paths = Vec::new();
    // What a macro names by `$crate` is expanded elsewhere.
    for (at, _) in code.match_indices("crate::").filter(|(at, _)| !code[..*at].ends_with('$')) {
        tree(&code[at + "crate::".len()..], "", &mut paths);
    }
    let parent = |module: &str| module.rsplit_once("::").map_or(String::new(), |(parent, _)| parent.to_owned());
    let mut rest = &*code;
    while let Some(at) = rest.find("super::") {
        let mut above = parent(module);
        rest = &rest[at + "super::".len()..];
        while let Some(further) = rest.strip_prefix("super::") {
            (above, rest) = (parent(&above), further);
        }
        let prefix = if above.is_empty() { above } else { above + "::" };
        tree(rest, &prefix, &mut paths);
    }
    // A macro is called by its name, wherever it is; what is behind `in` in `pub(in ...)` uses nothing.
    paths.retain(|path| !path.starts_with("__") && !["", "*"].contains(&&**path));
    paths
}

/// The paths of a tree of imports that `code` begins with. What is behind them.
fn tree<'code>(code: &'code str, prefix: &str, paths: &mut Vec<String>) -> &'code str {
    let code = code.trim_start();
    if let Some(mut group) = code.strip_prefix('{') {
        loop {
            group = group.trim_start().trim_start_matches(',').trim_start();
            if let Some(behind) = group.strip_prefix('}') {
                return behind;
            }
            let behind = tree(group, prefix, paths);
            assert!(behind.len() < group.len(), "no path: {group:.40}");
            group = behind;
        }
    }
    let end = code.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '*').unwrap_or(code.len());
    let (name, behind) = code.split_at(end);
    match behind
        .strip_prefix("::")
        .filter(|further| further.starts_with(|c: char| c.is_alphabetic() || "_{*".contains(c)))
    {
        Some(further) => tree(further, &format!("{prefix}{name}::"), paths),
        None => {
            paths.push(format!("{prefix}{name}"));
            behind
                .trim_start()
                .strip_prefix("as ")
                .map_or(behind, |renamed| renamed.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_'))
        }
    }
}

/// What is wrong with a module.
fn complaints(layers: &[Vec<&str>], module: &str, source: &str) -> Vec<String> {
    let Some((row, name)) = place(layers, module) else { return vec![format!("{module} is not in the figure")] };
    let upward = |path: &String| match place(layers, path) {
        None => Some(format!("{module} uses {path}: name the module that it is in")),
        Some((other_row, other)) => (other != name && other_row <= row)
            .then(|| format!("{module} uses {path}, but {other} is not below {name}")),
    };
    paths(module, source).iter().filter_map(upward).collect()
}

#[test]
fn imports_point_down() {
    let layers = layers(FIGURE);
    let found: Vec<String> =
        sources().iter().flat_map(|(module, source)| complaints(&layers, module, source)).collect();
    assert!(found.is_empty(), "{found:#?}");
}

/// Each name of the figure is there.
#[test]
fn the_figure_names_what_there_is() {
    let modules: Vec<String> = sources().into_iter().map(|(module, _)| module).collect();
    let layers = layers(FIGURE);
    assert!(layers.len() > 8);
    for name in layers.iter().flatten() {
        assert!(modules.iter().any(|module| module == name), "{name} is no module");
    }
}

/// Broken twins: each import that is turned around is found.
#[test]
fn an_upward_import_is_found() {
    let layers = layers(FIGURE);
    let sources = sources();
    let mut turned = 0;
    for (module, source) in &sources {
        let own = place(&layers, module).unwrap();
        for path in paths(module, source) {
            let (_, other) = place(&layers, &path).unwrap();
            if other == own.1 {
                continue;
            }
            let (below, text) = sources.iter().find(|(module, _)| module == other).unwrap();
            for import in
                [format!("use crate::{module}::Thing;"), format!("use crate::{{error::Error, {module}::{{A, B}}}};")]
            {
                let text = format!("{import}\n{text}");
                assert!(!complaints(&layers, below, &text).is_empty(), "{below} may use {module}");
                turned += 1;
            }
        }
    }
    assert!(turned > 100, "{turned}");
    let beside = "use crate::scoped::KeyGuard;";
    assert!(!complaints(&layers, "batch", beside).is_empty());
    assert!(!complaints(&layers, "text::linux::fork", "fn f() { super::super::super::patch::f() }").is_empty());
    assert!(complaints(&layers, "text::linux::fork", "use super::super::{Held, list::List as L};").is_empty());
    assert!(!complaints(&layers, "key::raw", "use super::flip;").is_empty());
}

/// CONTRIBUTING.md says in which files each mechanism is: they are there.
#[test]
fn mechanisms_have_files() {
    let table = include_str!("../../../CONTRIBUTING.md").split("Where each mechanism is:").nth(1).unwrap();
    let rows = table.trim_start().lines().take_while(|line| line.starts_with('|')).filter(|line| line.contains('`'));
    let mut mechanisms = 0;
    for row in rows {
        mechanisms += 1;
        let mut folder = Path::new("").to_path_buf();
        for name in row.split('`').skip(1).step_by(2).filter(|name| name.ends_with('/') || name.ends_with(".rs")) {
            // A name without a folder is in that of the one before it, if not in the first; of another crate, it is whole.
            let (beside, whole) = (folder.join(name), Path::new("../../..").join(name));
            let file =
                [Path::new(name), &beside, &whole].into_iter().find(|file| Path::new(SOURCES).join(file).exists());
            let file = file.unwrap_or_else(|| panic!("no {name}: {row}"));
            folder = file.parent().unwrap().to_path_buf();
        }
    }
    assert!(mechanisms > 15, "{mechanisms}");
}
