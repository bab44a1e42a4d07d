//! Makes a page for each header of C and C++, from its comments and declarations.

mod declaration;
mod header;
mod prose;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use self::header::{Group, Header};
use super::pages::Pages;

const INCLUDE: &str = "crates/jumplabel-capi/include";

/// The page that lists all headers.
const ALL: &str = "c-api.md";

/// Headers without anything for programs: only other headers include them.
const INNER: [&str; 8] =
    ["arch.h", "note.h", "pe.h", "pv_op_site.h", "range.h", "sdt_arguments.h", "site.h", "site_macros.h"];

/// The heading of a group of declarations shows at most this number of names.
const NAMES: usize = 4;

/// Adds the pages of the headers.
pub fn add(root: &Path, pages: &mut Pages) -> Result<()> {
    let mut rows = String::new();
    for name in headers(&root.join(INCLUDE))? {
        if INNER.iter().any(|inner| name == format!("jumplabel/{inner}")) {
            continue;
        }
        let header = header::read(&fs::read_to_string(root.join(INCLUDE).join(&name))?);
        let page = page_of(&name);
        let about = header.about.join(" ");
        let first = about.split_once(". ").map_or(about.as_str(), |(first, _)| first);
        let first = first.split_once(": ").map_or(first, |(what, _)| what).trim_end_matches('.');
        rows += &format!("| [`<{name}>`]({page}) | {} |\n", prose::paragraph(first));
        pages.add_below(ALL, &name, &page, page_text(&name, &header));
    }
    pages.add(
        ALL,
        format!(
            "# C and C++ API\n\nEach page is what a header says of itself: its first comment, and what it declares for programs. \
             [c.md](c.md) and [linux-api.md](linux-api.md) tell how to use it, [errors.md](errors.md#c-and-c) what its errors mean.\n\n\
             | header | |\n|---|---|\n{rows}"
        ),
    );
    Ok(())
}

/// The paths of the headers. Headers outside the folder `jumplabel` come first.
fn headers(include: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for folder in ["", "jumplabel"] {
        let mut of_folder = Vec::new();
        for entry in fs::read_dir(include.join(folder))? {
            let name = entry?.file_name().into_string().ok().context("no UTF-8")?;
            if name.contains(".h") {
                of_folder.push(Path::new(folder).join(name).display().to_string());
            }
        }
        of_folder.sort_by_key(|name| (name.contains("optional"), name.clone()));
        names.append(&mut of_folder);
    }
    Ok(names)
}

fn page_of(header: &str) -> String {
    format!("c-{}.md", header.trim_start_matches("jumplabel/").replace('.', "-"))
}

fn page_text(name: &str, header: &Header) -> String {
    let mut text = format!("# {name}\n\n```c\n#include <{name}>\n```\n\n{}", prose::markdown(&header.about));
    for group in &header.groups {
        if let Some(title) = &group.title {
            text += &format!("\n## {title}\n");
        }
        text += &group_text(group);
    }
    text
}

fn group_text(group: &Group) -> String {
    let names: Vec<_> = group.declarations.iter().map(|item| format!("`{}`", item.name)).collect();
    let more = if names.len() > NAMES { " …" } else { "" };
    let title = names[..names.len().min(NAMES)].join(", ");
    let code: String = group.declarations.iter().map(|item| format!("{}\n", item.text)).collect();
    format!("\n### {title}{more}\n\n```c\n{code}```\n\n{}", prose::markdown(&group.comment))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Pages {
        let mut pages = Pages::default();
        add(&crate::root(), &mut pages).unwrap();
        pages
    }

    /// Functions that constructors call. The code that calls them is in the headers.
    const OF_OBJECTS: [&str; 2] = ["jumplabel_register_object", "jumplabel_unregister_object"];

    /// Tests that each function that the shared libraries export for programs is on a page.
    #[test]
    fn all_that_is_exported() {
        let pages = all();
        let all: String = pages.texts.values().map(String::as_str).collect();
        let mut count = 0;
        for library in ["libjumplabel0", "libjumplabel-agent0", "libjumplabel-fail0"] {
            let list = fs::read_to_string(crate::root().join(format!("debian/{library}.symbols"))).unwrap();
            // Leaves out the versions, which GNU ld lists as names.
            let names = list.lines().skip(1).filter_map(|line| line.trim().split('@').next());
            let names = names.filter(|name| !name.starts_with("JUMPLABEL_"));
            for name in
                names.filter(|name| !name.ends_with('_') && !name.starts_with('_') && !OF_OBJECTS.contains(name))
            {
                assert!(all.contains(&format!(" {name}(")) || all.contains(&format!("*{name}(")), "{name}");
                count += 1;
            }
        }
        assert!(count > 50, "{count}");
    }

    /// Tests that no page shows names that are the library's own.
    #[test]
    fn nothing_else() {
        let pages = all();
        assert!(pages.below[ALL].len() > 15 && !pages.texts.contains_key("c-site-h.md"));
        for (name, text) in &pages.texts {
            let titles = text.lines().filter(|line| line.starts_with("### "));
            assert!(titles.clone().all(|title| !title.contains("_`")), "{name}: {titles:?}");
        }
    }
}
