//! The list of the site's pages, their order, and the names of the pages for files of the repository.
//!
//! packaging/site/SUMMARY.md lists the pages, in mdBook's format, but with other paths. The path of a document leads to the page of that document.
//! Any other path leads to a page that is generated.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};

/// The texts of pages by the pages' names, which end with `.md`.
#[derive(Default)]
pub struct Pages {
    pub texts: BTreeMap<String, String>,
    /// For a generated page, the titles and names of the pages below it, in their order.
    pub below: BTreeMap<String, Vec<(String, String)>>,
}

impl Pages {
    pub fn add(&mut self, name: &str, text: String) {
        self.texts.insert(name.to_owned(), text);
    }

    /// Adds a page below a generated page.
    pub fn add_below(&mut self, above: &str, title: &str, name: &str, text: String) {
        self.add(name, text);
        self.below.entry(above.to_owned()).or_default().push((title.to_owned(), name.to_owned()));
    }
}

/// The name of a document's page. These pages are in no folder. The first page, index.md, is docs/README.md, the guide.
pub fn name(document: &str) -> String {
    match document {
        "README.md" => "overview.md".into(),
        "docs/README.md" => "index.md".into(),
        document => document.trim_start_matches("docs/").to_lowercase(),
    }
}

/// The paths of the links in SUMMARY.md.
pub fn listed(summary: &str) -> impl Iterator<Item = &str> {
    summary.split("](").skip(1).filter_map(|rest| rest.split(')').next())
}

/// Makes SUMMARY.md as mdBook needs it: paths become names of pages, and the pages below generated pages are added. It is an error if a page is
/// missing.
pub fn summary(template: &str, pages: &Pages) -> Result<String> {
    let mut summary = String::new();
    for line in template.lines() {
        let Some(path) = listed(line).next() else {
            summary += &format!("{line}\n");
            continue;
        };
        let name = name(path);
        ensure!(pages.texts.contains_key(&name), "packaging/site/SUMMARY.md: there is no {path}");
        summary += &format!("{}\n", line.replace(path, &name));
        let indent = line.find('-').map_or(0, |at| at + 2);
        for (title, name) in pages.below.get(&name).into_iter().flatten() {
            summary += &format!("{:indent$}- [{title}]({name})\n", "");
        }
    }
    for name in pages.texts.keys() {
        ensure!(summary.contains(&format!("({name})")), "packaging/site/SUMMARY.md lacks {name}");
    }
    Ok(summary)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages() -> Pages {
        let mut pages = Pages::default();
        pages.add("index.md", "guide".into());
        pages.add("errors.md", "errors".into());
        pages.add_below("errors.md", "EIO", "e.md", "EIO".into());
        pages
    }

    #[test]
    fn as_mdbook_reads_it() {
        let template = "# Summary\n\n[Guide](docs/README.md)\n\n- [Errors](errors.md)\n";
        let summary = summary(template, &pages()).unwrap();
        assert_eq!(summary, "# Summary\n\n[Guide](index.md)\n\n- [Errors](errors.md)\n  - [EIO](e.md)\n");
        assert_eq!(listed(template).collect::<Vec<_>>(), ["docs/README.md", "errors.md"]);
    }

    /// Tests a page that is not listed, and a listed page that does not exist.
    #[test]
    fn broken_twins() {
        let error = |template| summary(template, &pages()).unwrap_err().to_string();
        assert!(error("- [Errors](errors.md)\n").contains("lacks index.md"));
        assert!(
            error("[Guide](docs/README.md)\n- [Errors](errors.md)\n- [Coffee](docs/coffee.md)\n")
                .contains("no docs/coffee")
        );
    }
}
