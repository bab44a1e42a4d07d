//! The modules of a crate, and the paths that each of them names.

use std::fs::read_to_string;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// A file of a crate: the path of its module, which is empty for the root, and its text.
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

/// The files of a crate, `jumplabel` or another folder of `crates/`.
pub fn sources(name: &str) -> Vec<Source> {
    sources_below(&Path::new(super::ROOT).join("crates").join(name).join("src"))
}

/// The files of the crate whose `src` is this folder. Leaves out its tests, and further programs of the crate.
pub fn sources_below(folder: &Path) -> Vec<Source> {
    let root = if folder.join("lib.rs").exists() { "lib" } else { "main" };
    let mut sources = Vec::new();
    for file in files(folder).iter().filter(|file| file.extension().is_some_and(|extension| extension == "rs")) {
        let path = file.strip_prefix(folder).unwrap().with_extension("");
        let mut names: Vec<&str> = path.iter().map(|name| name.to_str().unwrap()).collect();
        if names[0] == "bin" || names.contains(&"tests") || (names == ["main"] && root == "lib") {
            continue;
        }
        if names == [root] || names.ends_with(&["mod"]) {
            names.pop();
        }
        sources.push(Source { module: names.join("::"), text: read_to_string(file).unwrap() });
    }
    for (file, module) in elsewhere(&sources) {
        for source in sources.iter_mut().filter(|source| is_in(&source.module, &file)) {
            source.module = format!("{module}{}", &source.module[file.len()..]);
        }
    }
    sources
}

/// Modules with a `#[path]`: the module that the file's name stands for, and the module that it is.
fn elsewhere(sources: &[Source]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for Source { module, text } in sources {
        for (at, _) in text.match_indices("path = \"") {
            let mut rest = text[at..].split('"').skip(1);
            let file = rest.next().unwrap().trim_end_matches(".rs").trim_end_matches("/mod").replace('/', "::");
            let declared = text[at..].split("mod ").nth(1).unwrap().split(';').next().unwrap();
            found.push((within(module, &file), within(module, declared)));
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

/// Returns whether a path is in a module, or is that module.
pub fn is_in(path: &str, module: &str) -> bool {
    module.is_empty() || path.strip_prefix(module).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// The tokens of a file, in their order: names, punctuation, and brackets. Leaves out comments, literals and the module `tests`. In a macro's rules,
/// `$crate` is one name.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let file: TokenStream = text.parse().unwrap_or_else(|error| panic!("{error}: {text}"));
    flatten(file, false, &mut tokens);
    tokens
}

fn flatten(stream: TokenStream, is_macro: bool, tokens: &mut Vec<String>) {
    for token in stream {
        let last = |count: usize, words: &[&str]| tokens.len() >= count && tokens[tokens.len() - count..] == *words;
        match token {
            TokenTree::Group(_) if last(2, &["mod", "tests"]) => {}
            TokenTree::Group(group) => {
                // `macro_rules! name { }`
                let is_macro = is_macro || tokens.iter().rev().nth(2).is_some_and(|word| word == "macro_rules");
                let (open, close) = match group.delimiter() {
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => continue,
                };
                tokens.push(open.into());
                flatten(group.stream(), is_macro, tokens);
                tokens.push(close.into());
            }
            TokenTree::Ident(name) if last(1, &["$"]) => *tokens.last_mut().unwrap() = format!("${name}"),
            // In a macro, `super` is that of the module in which the macro is expanded.
            TokenTree::Ident(name) if is_macro && name == "super" => tokens.push("$super".into()),
            TokenTree::Ident(name) => tokens.push(name.to_string().trim_start_matches("r#").to_owned()),
            TokenTree::Punct(sign) if sign.as_char() == ':' && last(1, &[":"]) => {
                *tokens.last_mut().unwrap() = "::".into();
            }
            TokenTree::Punct(sign) => tokens.push(sign.as_char().to_string()),
            TokenTree::Literal(_) => tokens.push("\"\"".into()),
        }
    }
}

/// The names that a crate's root has from its modules: macros, whose names end with `!`, and imports. Each has its module or path.
pub struct Root(Vec<(String, String)>);

impl Root {
    pub fn of(sources: &[Source]) -> Root {
        let mut names = Vec::new();
        for Source { module, text } in sources {
            let tokens = tokens(text);
            let macros = tokens.windows(3).filter(|words| words[0] == "macro_rules" && words[1] == "!");
            names.extend(macros.map(|words| (format!("{}!", words[2]), module.clone())));
        }
        let modules: Vec<&str> =
            sources.iter().map(|source| &*source.module).filter(|module| !module.contains("::")).collect();
        let imports = sources.iter().find(|source| source.module.is_empty()).map(|root| paths(root, &modules));
        names.extend(
            imports.into_iter().flatten().filter_map(|path| Some((path.rsplit_once("::")?.1.to_owned(), path))),
        );
        Root(names)
    }

    /// The modules in which a path's macro is defined, or from which the root imports the name that a macro's rules use. Otherwise, the path itself.
    pub fn resolve(&self, path: &str) -> Vec<String> {
        let (from_macro, name) = path.strip_prefix("$crate::").map_or((false, path), |name| (true, name));
        let first = name.split("::").next().unwrap();
        // A macro may be passed the name of the next macro, without the `!`.
        let is_it = |(known, _): &&(String, String)| match known.strip_suffix('!') {
            Some(of_macro) => first == known || from_macro && first == of_macro,
            None => from_macro && first == known,
        };
        let found: Vec<String> = self.0.iter().filter(is_it).map(|(_, module)| module.clone()).collect();
        if found.is_empty() { vec![name.to_owned()] } else { found }
    }
}

/// The paths from the crate's root that a source names: by `crate`, by `super`, and by the names of its children. A group of imports yields a path
/// for each member.
pub fn paths(Source { module, text }: &Source, children: &[&str]) -> Vec<String> {
    let tokens = tokens(text);
    let mut paths = Vec::new();
    for at in 0..tokens.len() {
        let before = at.checked_sub(1).map_or("", |before| &*tokens[before]);
        let is = |distance: usize, word: &str| tokens.get(at + distance).is_some_and(|token| token == word);
        match &*tokens[at] {
            // A visibility, such as `pub(in crate::a)`, uses nothing.
            "crate" | "super" if before == "in" || is(1, ")") && before == "(" => {}
            "crate" if before == "extern" && !is(1, "self") => {}
            "crate" if is(1, "::") => drop(tree(&tokens[at + 2..], "", &mut paths)),
            // The caller of the macro gives the rest of the path.
            "$crate" if tokens.get(at + 2).is_some_and(|word| word.starts_with('$')) => {}
            "$crate" if is(1, "::") => drop(tree(&tokens[at + 2..], "$crate", &mut paths)),
            // The root gets another name here, so the rest of a path cannot be found.
            "crate" | "$crate" => paths.push(String::new()),
            "super" if before != "::" || tokens.get(at.wrapping_sub(2)).is_none_or(|word| word != "super") => {
                let (mut above, mut end) = (parent(module), at + 1);
                while tokens.get(end).is_some_and(|word| word == "::")
                    && tokens.get(end + 1).is_some_and(|word| word == "super")
                {
                    (above, end) = (parent(above), end + 2);
                }
                match tokens.get(end) {
                    Some(sign) if sign == "::" => drop(tree(&tokens[end + 1..], above, &mut paths)),
                    _ => paths.push(above.to_owned()),
                }
            }
            child if children.contains(&child) && is(1, "::") => {
                let is_own = before == "::" && tokens.get(at.wrapping_sub(2)).is_some_and(|word| word == "self");
                if before != "::" || is_own {
                    tree(&tokens[at..], module, &mut paths);
                }
            }
            _ => {}
        }
    }
    paths
}

/// Adds the paths of the tree of imports with which `tokens` begin. All are in `module`. Returns the tokens after the tree.
fn tree<'tokens>(tokens: &'tokens [String], module: &str, paths: &mut Vec<String>) -> &'tokens [String] {
    let word = |at: usize| tokens.get(at).map_or("", |word| &**word);
    if word(0) == "{" {
        let mut group = &tokens[1..];
        while group.first().is_some_and(|word| word != "}") {
            let behind = tree(group, module, paths);
            group = if behind.first().is_some_and(|word| word == ",") { &behind[1..] } else { behind };
        }
        return group.get(1..).unwrap_or_default();
    }
    let is_path = |word: &str| word.starts_with(|c: char| c.is_alphabetic() || "_{*".contains(c));
    let name = within(module, word(0));
    if word(1) == "::" && is_path(word(2)) {
        return tree(&tokens[2..], &name, paths);
    }
    let is_macro = word(1) == "!" && ["", "$crate"].contains(&module);
    paths.push(if is_macro { name + "!" } else { name });
    &tokens[if word(1) == "as" { 3 } else { 1 }.min(tokens.len())..]
}

#[test]
fn paths_are_found_however_they_are_written() {
    let text = "use super::{b, c::{C, D as E}}; // crate::no\nfn f() { child::g(crate::top::h(), \"crate::no\"); }\n\
        pub(in crate::a) use self::child::Thing;\nfn g() { $crate::no(); other_child::no() }";
    let source = Source { module: "a::x".to_owned(), text: text.to_owned() };
    let mut found = paths(&source, &["child"]);
    found.sort();
    assert_eq!(found, ["$crate::no", "a::b", "a::c::C", "a::c::D", "a::x::child::Thing", "a::x::child::g", "top::h"]);
}
