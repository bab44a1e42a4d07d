//! Checks the finished site: each link must lead to a file of the site, and to a place in that file.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

/// The folder of rustdoc's pages. Rustdoc checks their links itself.
pub const API: &str = "api";

/// Checks the links on the pages of a folder. Returns their number.
///
/// # Errors
/// A link leads nowhere, or a page loads something from another host.
pub fn check(folder: &Path) -> Result<usize> {
    let pages = pages(folder, folder)?;
    let mut ids: BTreeMap<PathBuf, BTreeSet<String>> = BTreeMap::new();
    let (mut count, mut dead) = (0, Vec::new());
    for page in &pages {
        let text = fs::read_to_string(folder.join(page))?;
        let loaded = values(&text, "src").into_iter().filter(|link| link.contains("://"));
        dead.extend(loaded.map(|link| format!("{}: loads {link}", page.display())));
        for link in values(&text, "href").into_iter().chain(values(&text, "src")) {
            if link.contains(':') {
                continue;
            }
            count += 1;
            if !leads(folder, page, &link, &mut ids) {
                dead.push(format!("{}: {link}", page.display()));
            }
        }
    }
    ensure!(dead.is_empty(), "links that lead nowhere:\n{}", dead.join("\n"));
    Ok(count)
}

/// Returns whether the link's file exists, and has the link's place.
fn leads(folder: &Path, page: &Path, link: &str, ids: &mut BTreeMap<PathBuf, BTreeSet<String>>) -> bool {
    let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
    let path = path.split('?').next().unwrap_or_default();
    let file = if path.is_empty() { folder.join(page) } else { folder.join(page).with_file_name("").join(path) };
    if !file.is_file() {
        return false;
    }
    let ids = ids.entry(file).or_insert_with_key(|file| {
        let text = fs::read_to_string(file).unwrap_or_default();
        values(&text, "id").into_iter().collect()
    });
    anchor.is_empty() || ids.contains(anchor)
}

/// The pages in a folder and below it, without those of rustdoc.
fn pages(root: &Path, folder: &Path) -> Result<Vec<PathBuf>> {
    let mut pages = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.strip_prefix(root)?.to_owned();
        if path.is_dir() && name != Path::new(API) {
            pages.extend(self::pages(root, &path)?);
        } else if path.extension().is_some_and(|extension| extension == "html") {
            pages.push(name);
        }
    }
    pages.sort();
    Ok(pages)
}

/// The values of an attribute in a page. Text of the page cannot look like an attribute, because its quotes are written as `&quot;`.
fn values(text: &str, attribute: &str) -> Vec<String> {
    let before = format!(" {attribute}=\"");
    let values = text.split(before.as_str()).skip(1).filter_map(|rest| rest.split('"').next());
    values.map(|value| value.replace("&amp;", "&").replace("&#x27;", "'")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks a site of two pages, one of which has this text.
    fn site(name: &str, text: &str) -> Result<usize> {
        let folder = std::env::temp_dir().join(format!("jumplabel-site-{}-{name}", std::process::id()));
        fs::create_dir_all(folder.join("files"))?;
        fs::write(folder.join("index.html"), "<h1 id=\"top\"></h1>")?;
        fs::write(folder.join("files/a.html"), text)?;
        let result = check(&folder);
        fs::remove_dir_all(&folder)?;
        result
    }

    #[test]
    fn links() {
        let text = "<a href=\"../index.html#top\"></a> <p id=\"b\"></p> <a href=\"#b\"></a> <a href=\"https://example.org\"></a>";
        assert_eq!(site("whole", text).unwrap(), 2);
    }

    #[test]
    fn broken_twins() {
        for (name, dead) in [
            ("file", "<a href=\"../coffee.html\"></a>"),
            ("place", "<a href=\"../index.html#coffee\"></a>"),
            ("here", "<a href=\"#coffee\"></a>"),
            ("folder", "<a href=\"..\"></a>"),
            ("image", "<img src=\"coffee.svg\">"),
            ("host", "<script src=\"https://example.org/coffee.js\"></script>"),
        ] {
            let error = site(name, dead).unwrap_err().to_string();
            assert!(error.contains("files/a.html"), "{error}");
        }
    }
}
