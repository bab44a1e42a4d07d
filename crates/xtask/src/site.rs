//! Makes the documentation a site: the documents of the repository, the APIs, the errors, and a report of measurements.
//!
//! ```text
//!   README.md, docs/*.md, ...  ──links──►┐
//!   headers of C, errors, crates ───────►├─ target/site-source/ ──mdBook──► target/site/ ──► each link is checked
//!   results of `make bench` ────────────►┘                                  target/site/api/ ◄── rustdoc
//! ```
//!
//! The repository has no second copy of any text: the pages are made from the documents and sources each time. packaging/site has the files that only
//! the site needs: the list of pages, mdBook's settings, and a style.

mod anchors;
mod c_api;
mod errors;
mod links;
mod pages;
mod report;
mod rust_api;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use xshell::{Shell, cmd};

use self::pages::Pages;
use crate::{has, printed, root};

/// The version of mdBook, which decides how the pages look. No crate of the workspace depends on mdBook.
const MDBOOK: &str = "0.5.4";

const SOURCE: &str = "target/site-source";
const SITE: &str = "target/site";

pub fn run(sh: &Shell) -> Result<()> {
    let root = root();
    let mdbook = mdbook(sh, &root)?;
    let template = fs::read_to_string(root.join("packaging/site/SUMMARY.md"))?;
    let mut pages = Pages::default();
    documents(&root, &template, &mut pages)?;
    c_api::add(&root, &mut pages)?;
    errors::add(sh, &root, &mut pages)?;
    report::add(sh, &root, &mut pages)?;
    let crates = rust_api::add(sh, &mut pages)?;

    let (source, site) = (root.join(SOURCE), root.join(SITE));
    write(&root, &source, &pages::summary(&template, &pages)?, &pages)?;
    if site.exists() {
        fs::remove_dir_all(&site)?;
    }
    cmd!(sh, "{mdbook} build {source} --dest-dir {site}").quiet().ignore_stdout().run()?;
    rust_api::build(sh, &crates, &site.join(anchors::API))?;
    let count = anchors::check(&site)?;
    println!("{} pages, {count} links: {SITE}/index.html", pages.texts.len());
    Ok(())
}

/// The path of an mdBook that was built without its web server. The first call compiles it.
fn mdbook(sh: &Shell, root: &Path) -> Result<String> {
    let folder = root.join("target/mdbook").display().to_string();
    let program = format!("{folder}/bin/mdbook");
    let is_there = has(&program) && printed(cmd!(sh, "{program} --version"))?.trim() == format!("mdbook v{MDBOOK}");
    if !is_there {
        println!("installing mdBook {MDBOOK}");
        let options = ["--locked", "--quiet", "--force", "--no-default-features", "--features", "search"];
        cmd!(sh, "cargo install mdbook --version {MDBOOK} {options...} --root {folder}").quiet().run()?;
    }
    Ok(program)
}

/// Makes pages of the documents, and of the files to which their links lead.
fn documents(root: &Path, template: &str, pages: &mut Pages) -> Result<()> {
    let listed: BTreeSet<&str> = pages::listed(template).filter(|path| root.join(path).is_file()).collect();
    let files = RefCell::new(BTreeSet::new());
    let page = |path: &str| {
        if listed.contains(path) {
            return Ok(pages::name(path));
        }
        ensure!(!path.ends_with(".md"), "packaging/site/SUMMARY.md lacks {path}");
        ensure!(root.join(path).is_file(), "there is no such file");
        files.borrow_mut().insert(path.to_owned());
        Ok(format!("files/{path}.md"))
    };
    for document in &listed {
        let text = fs::read_to_string(root.join(document))?;
        pages.add(&pages::name(document), links::rewritten(document, &text, page)?);
    }
    let mut list = String::from(
        "# Files\n\nThe files of the repository to which documents lead, as they were when this site was made.\n\n",
    );
    for path in files.into_inner() {
        let name = format!("files/{path}.md");
        list += &format!("* [{path}]({name})\n");
        let text = fs::read_to_string(root.join(&path)).with_context(|| path.clone())?;
        pages.add_below("files.md", &path, &name, file(&path, &text));
    }
    pages.add("files.md", list);
    Ok(())
}

/// Makes a page that shows a file.
fn file(path: &str, text: &str) -> String {
    let language = match Path::new(path).extension().and_then(|extension| extension.to_str()) {
        Some("rs") => "rust",
        Some("c" | "h") => "c",
        _ => "text",
    };
    format!("# `{path}`\n\n````{language}\n{}\n````\n", text.trim_end())
}

/// Writes the input of mdBook.
fn write(root: &Path, source: &Path, summary: &str, pages: &Pages) -> Result<()> {
    if source.exists() {
        fs::remove_dir_all(source)?;
    }
    fs::create_dir_all(source.join("src"))?;
    for name in ["book.toml", "site.css"] {
        fs::copy(root.join("packaging/site").join(name), source.join(name))?;
    }
    fs::write(source.join("src/SUMMARY.md"), summary)?;
    for (name, text) in &pages.texts {
        let file = source.join("src").join(name);
        let Some(folder) = file.parent() else { bail!("{name}") };
        fs::create_dir_all(folder)?;
        fs::write(file, text)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests that all documents of the repository are on the site, and that their links lead to its pages.
    #[test]
    fn all_documents() {
        let template = fs::read_to_string(root().join("packaging/site/SUMMARY.md")).unwrap();
        let mut pages = Pages::default();
        documents(&root(), &template, &mut pages).unwrap();
        for (folder, before) in [("", ""), ("docs", "docs/")] {
            for entry in fs::read_dir(root().join(folder)).unwrap() {
                let name = format!("{before}{}", entry.unwrap().file_name().display());
                assert!(
                    !name.ends_with(".md") || pages.texts.contains_key(&pages::name(&name)),
                    "SUMMARY.md lacks {name}"
                );
            }
        }
        assert!(pages.texts["kernels.md"].contains("(files/kernels/src/main.rs.md)"));
        assert!(pages.texts["files/kernels/src/main.rs.md"].contains("#![no_main]"));
        let lacking = template.replace("- [Kernels](docs/kernels.md)\n", "");
        let error = documents(&root(), &lacking, &mut Pages::default()).unwrap_err();
        assert!(format!("{error:#}").contains("lacks docs/kernels.md"), "{error:#}");
    }
}
