//! The names with which sources ask for settings of a build or an environment.

use std::collections::BTreeSet;
use std::path::Path;

use crate::desk::{read, repository};

/// Names with this beginning in a text. Those that end in `_` are the headers' own.
fn names<'a>(text: &'a str, begins: &'a str) -> impl Iterator<Item = &'a str> {
    text.match_indices(begins).filter_map(|(at, _)| {
        let name = text[at..].split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next()?;
        (!text[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_') && !name.ends_with('_')).then_some(name)
    })
}

/// Cfgs for which the core's build script asks, macros for which the headers ask, and variables that programs, the library and its builds read.
pub fn all() -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    let asked = read("crates/jumplabel/build.rs");
    all.extend(names(&asked, "CARGO_CFG_JUMPLABEL_").map(|name| name["CARGO_CFG_".len()..].to_lowercase()));
    files(&repository("crates/jumplabel-capi/include"), &mut |text| {
        let is_question = |line: &&str| line.starts_with("#if") || line.starts_with("#elif");
        let is_guard = |name: &&str| name.ends_with("_H") || name.ends_with("_HPP");
        for line in text.replace("\\\n", " ").lines().filter(is_question) {
            all.extend(names(line, "JUMPLABEL_").filter(|name| !is_guard(name)).map(str::to_owned));
        }
    });
    for name in ["jumplabel", "jumplabel-agent", "jumplabel-capi", "jumplabel-cli"] {
        files(&repository("crates").join(name).join("src"), &mut |text| {
            for literal in text.split('"').skip(1).filter(|literal| literal.starts_with("JUMPLABEL")) {
                let name = literal.trim_end_matches('=');
                let is_name = name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
                all.extend(is_name.then(|| name.to_owned()));
            }
        });
    }
    all
}

fn files(directory: &Path, visit: &mut impl FnMut(&str)) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, visit);
        } else {
            visit(&std::fs::read_to_string(path).unwrap());
        }
    }
}
