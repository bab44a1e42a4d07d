//! The modules of a crate, and the paths that each of them names.

use std::fs::read_to_string;
use std::path::{Path, PathBuf};

/// A file of a crate: the path of its module, which is empty for the root.
#[derive(Clone)]
pub struct Source {
    pub module: String,
    pub text: String,
}

/// The files below a folder.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files.extend(self::files(&path)) } else { files.push(path) }
    }
    files.sort();
    files
}

/// The files of a crate, `jumplabel` or another folder of `crates/`. Without its tests, and without programs beside the crate's own.
pub fn sources(name: &str) -> Vec<Source> {
    let folder = Path::new(super::ROOT).join("crates").join(name).join("src");
    let root = if folder.join("lib.rs").exists() { "lib" } else { "main" };
    let mut sources = Vec::new();
    for file in files(&folder) {
        let path = file.strip_prefix(&folder).unwrap().with_extension("");
        let mut names: Vec<&str> = path.iter().map(|name| name.to_str().unwrap()).collect();
        if names[0] == "bin" || names.contains(&"tests") || (names == ["main"] && root == "lib") {
            continue;
        }
        if names == [root] || names.ends_with(&["mod"]) {
            names.pop();
        }
        sources.push(Source { module: names.join("::"), text: read_to_string(&file).unwrap() });
    }
    for (file, module) in elsewhere(&sources) {
        sources.iter_mut().filter(|source| source.module == file).for_each(|source| source.module.clone_from(&module));
    }
    sources
}

/// Modules with a file of another name: the module that the file's name would be, and what it is.
fn elsewhere(sources: &[Source]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for Source { module, text } in sources {
        for (at, _) in text.match_indices("path = \"") {
            let mut rest = text[at..].split('"').skip(1);
            let file = rest.next().unwrap().trim_end_matches(".rs");
            let declared = text[at..].split("mod ").nth(1).unwrap().split(';').next().unwrap();
            found.push((within(module, file), within(module, declared)));
        }
    }
    found
}

/// The path of a name in a module.
pub fn within(module: &str, name: &str) -> String {
    if module.is_empty() { name.to_owned() } else { format!("{module}::{name}") }
}

/// The module that a module is in.
pub fn parent(module: &str) -> &str {
    module.rsplit_once("::").map_or("", |(parent, _)| parent)
}

/// Whether a path is in a module, or is that module.
pub fn is_in(path: &str, module: &str) -> bool {
    module.is_empty() || path.strip_prefix(module).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// Code without comments, the contents of strings, and its tests.
fn code(text: &str) -> String {
    let lines = text.lines().take_while(|line| line.starts_with(char::is_whitespace) || !line.ends_with("mod tests {"));
    let mut code = String::new();
    for line in lines.map(|line| line.split("//").next().unwrap()) {
        code.extend(line.split('"').step_by(2));
        code.push('\n');
    }
    // What is behind `in` uses nothing.
    code.replace("pub(in crate::", "pub(").replace("pub(in super::", "pub(")
}

/// The paths from the crate's root that a source names: by `crate`, by `super`, and by the names of its children. Imports of groups
/// are taken apart.
pub fn paths(Source { module, text }: &Source, children: &[&str]) -> Vec<String> {
    let code = code(text);
    let mut paths = Vec::new();
    // What a macro names by `$crate` is expanded elsewhere.
    for (at, _) in code.match_indices("crate::").filter(|(at, _)| !code[..*at].ends_with('$')) {
        tree(&code[at + "crate::".len()..], "", &mut paths);
    }
    let mut rest = &*code;
    while let Some(at) = rest.find("super::") {
        let mut above = parent(module);
        rest = &rest[at + "super::".len()..];
        while let Some(further) = rest.strip_prefix("super::") {
            (above, rest) = (parent(above), further);
        }
        tree(rest, above, &mut paths);
    }
    for child in children {
        for (at, _) in code.match_indices(&format!("{child}::")) {
            let before = code[..at].trim_end_matches("self::");
            if !before.ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':') {
                tree(&code[at..], module, &mut paths);
            }
        }
    }
    // A macro is called by its name, wherever it is.
    paths.retain(|path| !path.starts_with("__") && !["", "*"].contains(&&**path));
    paths
}

/// The paths of a tree of imports that `code` begins with, all of them in `module`. What is behind them.
fn tree<'code>(code: &'code str, module: &str, paths: &mut Vec<String>) -> &'code str {
    let code = code.trim_start();
    if let Some(mut group) = code.strip_prefix('{') {
        loop {
            group = group.trim_start().trim_start_matches(',').trim_start();
            if let Some(behind) = group.strip_prefix('}') {
                return behind;
            }
            let behind = tree(group, module, paths);
            assert!(behind.len() < group.len(), "no path: {group:.40}");
            group = behind;
        }
    }
    let end = code.find(|c: char| !c.is_alphanumeric() && !"_*$".contains(c)).unwrap_or(code.len());
    let (name, behind) = code.split_at(end);
    let is_path = |further: &&str| further.starts_with(|c: char| c.is_alphabetic() || "_{*".contains(c));
    match behind.strip_prefix("::").filter(is_path) {
        Some(further) => tree(further, &within(module, name), paths),
        None => {
            paths.push(within(module, name));
            let is_of_name = |c: char| c.is_alphanumeric() || c == '_';
            let renamed = behind.trim_start().strip_prefix("as ");
            renamed.map_or(behind, |renamed| renamed.trim_start_matches(is_of_name))
        }
    }
}

#[test]
fn paths_are_found_however_they_are_written() {
    let text = "use super::{b, c::{C, D as E}}; // crate::no\nfn f() { child::g(crate::top::h(), \"crate::no\"); }\n\
        pub(in crate::a) use self::child::Thing;\nfn g() { $crate::no(); other_child::no() }";
    let source = Source { module: "a::x".to_owned(), text: text.to_owned() };
    let mut found = paths(&source, &["child"]);
    found.sort();
    assert_eq!(found, ["a::b", "a::c::C", "a::c::D", "a::x::child::Thing", "a::x::child::g", "top::h"]);
}
