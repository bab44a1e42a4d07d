//! Which pages the site has, in which order, and what a file of the repository is called there.
//!
//! packaging/site/SUMMARY.md lists them, as mdBook has it, but for the paths: a path with a file leads to that document, any other one to a page
//! that is generated.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};

/// Pages by their names, which end with `.md`.
#[derive(Default)]
pub struct Pages {
    pub texts: BTreeMap<String, String>,
    /// Below a generated page: titles and names of pages, in their order.
    pub below: BTreeMap<String, Vec<(String, String)>>,
}

impl Pages {
    pub fn add(&mut self, name: &str, text: String) {
        self.texts.insert(name.to_owned(), text);
    }

    /// A page of one that is generated.
    pub fn add_below(&mut self, above: &str, title: &str, name: &str, text: String) {
        self.add(name, text);
        self.below.entry(above.to_owned()).or_default().push((title.to_owned(), name.to_owned()));
    }
}

/// The name of a document's page: the site has no folders, and begins with the guide.
pub fn name(document: &str) -> String {
    match document {
        "README.md" => "overview.md".into(),
        "docs/README.md" => "index.md".into(),
        document => document.trim_start_matches("docs/").to_lowercase(),
    }
}

/// Where the links of SUMMARY.md lead.
pub fn listed(summary: &str) -> impl Iterator<Item = &str> {
    summary.split("](").skip(1).filter_map(|rest| rest.split(')').next())
}

/// SUMMARY.md as mdBook reads it: with the names of pages, and with those that are below generated ones. All pages must be in it.
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

    /// A page that nobody finds, and one that there is not.
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
