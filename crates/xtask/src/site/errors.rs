//! Makes the page of errors. The causes come from the documentation in the core's error.rs. The messages, which say what to do, are printed by the
//! program crates/jumplabel-capi/docs/errors.rs.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use xshell::{Shell, cmd};

use super::pages::Pages;

/// The output of crates/jumplabel-capi/docs/errors.rs about a variant.
#[derive(Default)]
struct Printed {
    kind: String,
    number: i32,
    messages: Vec<String>,
}

/// Adds the page of errors.
pub fn add(sh: &Shell, root: &Path, pages: &mut Pages) -> Result<()> {
    let printed = cmd!(sh, "cargo run --quiet -p jumplabel-capi --example errors").quiet().read()?;
    let read = |name: &str| fs::read_to_string(root.join(name)).with_context(|| name.to_owned());
    let (errors, kinds) = (read("crates/jumplabel/src/error.rs")?, read("crates/jumplabel/src/error/kind.rs")?);
    let numbers = numbers(&read("crates/jumplabel-capi/src/errno.rs")?);
    pages.add("errors.md", page(&documented(&errors, "Error"), &documented(&kinds, "ErrorKind"), &numbers, &printed)?);
    Ok(())
}

/// The variants of a public enum, in their order, with their documentation as Markdown.
fn documented(source: &str, name: &str) -> Vec<(String, Vec<String>)> {
    let body = source.split(&format!("pub enum {name} {{\n")).nth(1).unwrap_or_default();
    let (mut variants, mut lines) = (Vec::new(), Vec::new());
    for line in body.lines().take_while(|line| *line != "}") {
        if let Some(text) = line.strip_prefix("    ///") {
            lines.push(without_links(text.trim_start()));
        } else if line.starts_with("    ") && line[4..].starts_with(|c: char| c.is_ascii_uppercase()) {
            let name: String = line.trim().chars().take_while(char::is_ascii_alphanumeric).collect();
            variants.push((name, std::mem::take(&mut lines)));
        }
    }
    variants
}

/// Replaces rustdoc's links by their texts, because those links lead nowhere on this page.
fn without_links(line: &str) -> String {
    let mut text = String::new();
    let mut parts = line.split("[`");
    text += parts.next().unwrap_or_default();
    for part in parts {
        let (name, rest) = part.split_once("`]").unwrap_or((part, ""));
        let rest = rest.strip_prefix('(').and_then(|link| link.split_once(')')).map_or(rest, |(_, rest)| rest);
        text += &format!("`{name}`{rest}");
    }
    text
}

/// Linux's names of error numbers, from lines like `pub(crate) const EIO: u8 = 5;`.
fn numbers(source: &str) -> BTreeMap<i32, String> {
    let named = source.lines().filter_map(|line| line.strip_prefix("pub(crate) const E")?.split_once(": u8 = "));
    let number = |value: &str| value.rsplit(|c: char| !c.is_ascii_digit()).find(|word| !word.is_empty())?.parse().ok();
    named.filter_map(|(name, value)| Some((number(value)?, format!("E{name}")))).collect()
}

fn page(
    errors: &[(String, Vec<String>)],
    kinds: &[(String, Vec<String>)],
    numbers: &BTreeMap<i32, String>,
    printed: &str,
) -> Result<String> {
    let (mut of_rust, mut of_c) = (BTreeMap::<&str, Printed>::new(), String::new());
    for line in printed.lines() {
        match line.split('\t').collect::<Vec<_>>()[..] {
            ["rust", name, kind, number, message] => {
                let printed = of_rust.entry(name).or_default();
                (printed.kind, printed.number) = (kind.to_owned(), number.parse()?);
                printed.messages.push(message.to_owned());
            }
            ["c", number, text] => {
                let number: i32 = number.parse()?;
                let name = numbers.get(&number).with_context(|| format!("no name of {number}"))?;
                let causes: Vec<_> = errors
                    .iter()
                    .filter(|(name, _)| of_rust.get(name.as_str()).is_some_and(|of| of.number == number))
                    .map(|(name, _)| format!("[`{name}`](#{})", name.to_lowercase()))
                    .collect();
                of_c += &format!("| `-{name}` | {} | {} |\n", escaped(text), causes.join(", "));
            }
            _ => anyhow::bail!("errors.rs prints {line}"),
        }
    }
    let names: Vec<_> = errors.iter().map(|(name, _)| name.as_str()).collect();
    let missing: Vec<_> = names.iter().filter(|name| !of_rust.contains_key(**name)).collect();
    ensure!(
        missing.is_empty() && of_rust.len() == names.len(),
        "crates/jumplabel-capi/docs/errors.rs lacks {missing:?}"
    );

    let mut page = String::from(
        "# Errors\n\nWhat an error means, and what to do about it. A message says both; here is each, with addresses and numbers of an example. \
         [Why flips fail](operating.md#why-flips-fail) has what operators see, [Errors](safety.md#errors) what holds after one.\n",
    );
    for (kind, document) in kinds {
        page += &format!("\n## {kind}\n\n{}\n", document.join("\n"));
        for (name, cause) in errors.iter().filter(|(name, _)| of_rust[name.as_str()].kind == *kind) {
            let printed = &of_rust[name.as_str()];
            let number = numbers.get(&printed.number).context("a number without a name")?;
            page += &format!("\n### `{name}`\n\n{}\n\n", cause.join("\n"));
            for message in &printed.messages {
                page += &format!("> {}\n\n", escaped(message));
            }
            page += &format!(
                "[In Rust](api/jumplabel/enum.Error.html#variant.{name}) `Error::{name}`, in C `-{number}`.\n"
            );
        }
    }
    page += &format!(
        "\n## C and C++\n\nFunctions that return `int` return 0, or one of these, on Linux; the text is that of `jumplabel_strerror()`.\n\n\
         | error | | in Rust |\n|---|---|---|\n{of_c}"
    );
    Ok(page)
}

/// Escapes a text for Markdown.
fn escaped(text: &str) -> String {
    let mut written = String::new();
    for c in text.chars() {
        if matches!(c, '*' | '_' | '<' | '>' | '[' | ']' | '`' | '|' | '#') {
            written.push('\\');
        }
        written.push(c);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    const ERRORS: &str = "pub enum Error {\n    /// No way: [`f`](crate::f),\n    /// [`G`].\n    Denied {\n        /// Who.\n        \
                          who: u8,\n    },\n    /// Too early.\n    Early,\n}\n    /// No more.\n    Other,\n";
    const KINDS: &str = "pub enum ErrorKind {\n    /// Wait.\n    Moment,\n    /// Allow it.\n    System,\n}\n";
    const PRINTED: &str = "rust\tDenied\tSystem\t13\tno_1: 2\nrust\tDenied\tSystem\t13\tno\nrust\tEarly\tMoment\t5\tlater\n\
                           c\t5\tI/O\nc\t13\tdenied\n";

    fn made(printed: &str) -> Result<String> {
        let numbers = numbers("pub(crate) const EIO: u8 = 5;\npub(crate) const EACCES: u8 = of_system(9, 11, 13);\n");
        page(&documented(ERRORS, "Error"), &documented(KINDS, "ErrorKind"), &numbers, printed)
    }

    #[test]
    fn each_error() {
        let page = made(PRINTED).unwrap();
        let denied = "## System\n\nAllow it.\n\n### `Denied`\n\nNo way: `f`,\n`G`.\n\n> no\\_1: 2\n\n> no\n\n";
        assert!(page.contains(denied), "{page}");
        assert!(page.contains("`Error::Denied`, in C `-EACCES`"), "{page}");
        assert!(page.contains("| `-EIO` | I/O | [`Early`](#early) |"), "{page}");
        assert!(page.find("## Moment") < page.find("## System") && !page.contains("No more"), "{page}");
    }

    /// Tests that the program contains all errors of the core.
    #[test]
    fn none_is_missing() {
        let read = |name: &str| fs::read_to_string(crate::root().join(name)).unwrap();
        let (errors, program) = (read("crates/jumplabel/src/error.rs"), read("crates/jumplabel-capi/docs/errors.rs"));
        let errors = documented(&errors, "Error");
        assert!(errors.len() > 25 && errors.iter().all(|(_, document)| !document.is_empty()), "{errors:?}");
        for (name, _) in errors {
            let follows = |end: &str| program.contains(&format!("Error::{name}{end}"));
            assert!(follows(" {") || follows(","), "crates/jumplabel-capi/docs/errors.rs lacks {name}");
        }
        let numbers = numbers(&read("crates/jumplabel-capi/src/errno.rs"));
        assert!(numbers.len() > 15 && numbers.get(&13).is_some_and(|name| name == "EACCES"), "{numbers:?}");
    }

    /// Broken twin: a variant that the program does not print is an error.
    #[test]
    fn broken_twin() {
        let printed = PRINTED.replace("rust\tEarly\tMoment\t5\tlater\n", "");
        assert!(made(&printed).unwrap_err().to_string().contains("lacks [\"Early\"]"));
    }
}
