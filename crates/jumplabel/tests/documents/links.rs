//! Links between documents, and the names of documents in sources.

use std::path::{Path, PathBuf};

use crate::desk::{read, repository};
use crate::markdown::split;

/// The targets of the links in a text, without those on other hosts.
pub fn links(text: &str) -> Vec<String> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.filter(|target| !target.contains("://")).map(str::to_owned).collect()
}

/// Whether the file exists, and has the heading.
pub fn leads(document: &str, link: &str) -> Result<(), String> {
    let (file, anchor) = link.split_once('#').map_or((link, None), |(file, anchor)| (file, Some(anchor)));
    let path = Path::new(document).parent().unwrap().join(file);
    let path = if file.is_empty() { document.to_owned() } else { path.to_string_lossy().into_owned() };
    if !repository("").join(&path).exists() {
        return Err("no such file".into());
    }
    match anchor {
        Some(anchor) if !anchors(&split(&read(&path)).1).iter().any(|heading| heading == anchor) => {
            Err(format!("{path} has no such heading"))
        }
        _ => Ok(()),
    }
}

/// The headings of a text, as GitHub calls them in links.
pub fn anchors(text: &str) -> Vec<String> {
    let mut anchors: Vec<String> = Vec::new();
    for line in text.lines().filter(|line| line.trim_start_matches('#').starts_with(' ') && line.starts_with('#')) {
        let heading = line.trim_start_matches('#').trim().to_lowercase();
        let keeps = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
        let anchor: String = heading.chars().filter(keeps).map(|c| if c == ' ' { '-' } else { c }).collect();
        let before = anchors.iter().filter(|&other| *other == anchor).count();
        anchors.push(if before == 0 { anchor } else { format!("{anchor}-{before}") });
    }
    anchors
}

/// Calls the function with each source of a crate and each document of `docs/` that it names; returns how many there are.
pub fn documents_in_sources(mut visit: impl FnMut(&Path, &str)) -> usize {
    let mut count = 0;
    let mut directories = vec![repository("crates"), repository("kernels"), repository("test-crates")];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path: PathBuf = entry.unwrap().path();
            if path.is_dir() {
                if path.file_name().is_some_and(|name| name != "target") {
                    directories.push(path);
                }
                continue;
            }
            let is_source = path
                .extension()
                .is_some_and(|end| ["rs", "h", "hpp", "c", "cpp", "toml"].iter().any(|&one| end == one));
            if !is_source {
                continue;
            }
            for rest in std::fs::read_to_string(&path).unwrap().split("docs/").skip(1) {
                let end = rest.find(|c: char| !c.is_ascii_lowercase() && c != '-').unwrap_or(rest.len());
                if rest[end..].starts_with(".md") && rest[..end] != *"coffee" {
                    visit(&path, &format!("docs/{}.md", &rest[..end]));
                    count += 1;
                }
            }
        }
    }
    count
}
