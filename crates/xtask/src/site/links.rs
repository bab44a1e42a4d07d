//! Rewrites the links of a document: a link to a file of the repository becomes a link to the file's page.

use std::path::{Component, Path};

use anyhow::{Context, Result, bail};

/// Rewrites a document's text. `page` returns the name of the page for a file of the repository. Also gives each code block a language.
///
/// # Errors
/// A link leads nowhere.
pub fn rewritten(document: &str, text: &str, mut page: impl FnMut(&str) -> Result<String>) -> Result<String> {
    let (mut written, mut is_block) = (String::new(), false);
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            // Without a language, mdBook would guess one.
            let is_bare = !is_block && line.trim() == "```";
            written += &format!("{line}{}\n", if is_bare { "text" } else { "" });
            is_block = !is_block;
        } else if is_block {
            written += &format!("{line}\n");
        } else {
            let mut parts = line.split("](");
            written += parts.next().unwrap_or_default();
            for part in parts {
                let (link, rest) = part.split_once(')').with_context(|| format!("{document}: {line}"))?;
                let link = led(document, link, &mut page).with_context(|| format!("{document}: {link}"))?;
                written += &format!("]({link}){rest}");
            }
            written.push('\n');
        }
    }
    Ok(written)
}

/// The target of a rewritten link.
fn led(document: &str, link: &str, page: &mut impl FnMut(&str) -> Result<String>) -> Result<String> {
    if link.contains("://") || link.starts_with('#') {
        return Ok(link.to_owned());
    }
    let (path, anchor) = link.split_once('#').map_or((link, None), |(path, anchor)| (path, Some(anchor)));
    let page = page(&resolved(document, path)?)?;
    Ok(anchor.map_or(page.clone(), |anchor| format!("{page}#{anchor}")))
}

/// The path in the repository to which a path in a document leads.
fn resolved(document: &str, path: &str) -> Result<String> {
    let mut names: Vec<&str> = document.split('/').collect();
    names.pop();
    for component in Path::new(path).components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => drop(names.pop().context("it leads out of the repository")?),
            Component::Normal(name) => names.push(name.to_str().context("no UTF-8")?),
            Component::RootDir | Component::Prefix(_) => bail!("it leads out of the repository"),
        }
    }
    Ok(names.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(path: &str) -> Result<String> {
        match path {
            "docs/c.md" => Ok("c.md".into()),
            "kernels/main.rs" => Ok("files/kernels/main.rs.md".into()),
            path => bail!("no {path}"),
        }
    }

    #[test]
    fn of_a_page() {
        let text = "[a](c.md#b) and [d\n](../kernels/main.rs), [e](#f), [g](https://example.org)\n```\n[h](i)\n```\n```c\n```\n";
        let written = "[a](c.md#b) and [d\n](files/kernels/main.rs.md), [e](#f), [g](https://example.org)\n```text\n[h](i)\n```\n```c\n```\n";
        assert_eq!(rewritten("docs/ops.md", text, page).unwrap(), written);
        assert_eq!(rewritten("README.md", "[a](docs/c.md)", page).unwrap(), "[a](c.md)\n");
    }

    #[test]
    fn broken_twins() {
        for link in ["coffee.md", "../coffee", "../../c.md", "/docs/c.md"] {
            let error = rewritten("docs/ops.md", &format!("[a]({link})"), page).unwrap_err();
            assert!(error.to_string().contains(link), "{error:#}");
        }
    }
}
