//! The lines of `[patch.crates-io]` in the user's Cargo.toml.

use anyhow::{Context, Result, ensure};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike, Value, value};

/// The folder of the patched packages in the user's workspace.
pub const FOLDER: &str = "jumplabel-patches";

fn path_of(name: &str) -> String {
    format!("{FOLDER}/{name}")
}

fn is_ours(line: &Item, name: &str) -> bool {
    line.get("path").and_then(Item::as_str) == Some(&path_of(name))
}

/// Returns the manifest after `edit`. Each line keeps its end, and the text keeps its byte order mark if it has one. Cargo accepts CR LF and the
/// mark, but `toml_edit` drops them.
fn edited(manifest: &str, edit: impl FnOnce(&mut DocumentMut) -> Result<()>) -> Result<String> {
    const MARK: char = '\u{feff}';
    let (mark, text) = manifest.strip_prefix(MARK).map_or(("", manifest), |text| ("\u{feff}", text));
    let mut document: DocumentMut = text.parse().context("Cargo.toml cannot be read")?;
    edit(&mut document)?;
    Ok(mark.to_owned() + &with_ends_of(text, &document.to_string()))
}

/// Returns `after` with the ends of lines that `before` has. A new line ends as most lines of `before` do.
fn with_ends_of(before: &str, after: &str) -> String {
    let has_returns = 2 * before.matches("\r\n").count() > before.matches('\n').count();
    let mut theirs = before.split_inclusive('\n');
    let lines = after.replace("\r\n", "\n");
    let ended = lines.split_inclusive('\n').map(|line| {
        let is_line = |their: &&str| their.trim_end_matches(['\r', '\n']) == line.trim_end_matches('\n');
        let stays = |their: &&str| lines.contains(their.trim_end_matches(['\r', '\n']));
        let mut rest = theirs.clone();
        // A new empty line must not be taken for an empty line that stands farther below in `before`.
        let found = rest.find(|their| is_line(their) || line == "\n" && stays(their)).filter(is_line);
        if found.is_some() {
            theirs = rest;
        }
        let has_return = found.map_or(has_returns, |their| their.ends_with("\r\n"));
        if has_return { line.replace('\n', "\r\n") } else { line.to_owned() }
    });
    ended.collect()
}

/// The manifest with a line of `[patch.crates-io]` for each package in `names`.
pub fn with(manifest: &str, names: &[&str]) -> Result<String> {
    edited(manifest, |manifest| {
        let mut implicit = Table::new();
        implicit.set_implicit(true);
        let patches = manifest.entry("patch").or_insert(Item::Table(implicit));
        let patches = patches.as_table_like_mut().context("`patch` in Cargo.toml is no table")?;
        let lines = patches.entry("crates-io").or_insert(Item::Table(Table::new()));
        let lines = lines.as_table_like_mut().context("`patch.crates-io` in Cargo.toml is no table")?;
        for name in names {
            if let Some(line) = lines.get(name) {
                ensure!(
                    is_ours(line, name),
                    "Cargo.toml patches {name} already, with something else: {}",
                    line.to_string().trim()
                );
                continue;
            }
            let mut line = InlineTable::new();
            line.insert("path", path_of(name).into());
            lines.insert(name, value(line));
        }
        exclude(manifest);
        Ok(())
    })
}

/// True if a pattern such as `*` or `*/*` chooses the members of the workspace, so that it would choose packages of the folder.
fn has_pattern(workspace: &dyn TableLike) -> bool {
    let is_pattern =
        |member: &str| member.split('/').find(|part| *part != ".").is_some_and(|first| first.contains(['*', '?', '[']));
    let members = workspace.get("members").and_then(Item::as_array);
    members.is_some_and(|members| members.iter().filter_map(Value::as_str).any(is_pattern))
}

/// Keeps the folder out of the workspace, if a pattern chooses the workspace's members.
fn exclude(manifest: &mut DocumentMut) {
    let Some(workspace) = manifest.get_mut("workspace").and_then(Item::as_table_like_mut) else { return };
    if has_pattern(workspace) {
        let excluded = workspace.entry("exclude").or_insert(value(Array::new())).as_array_mut();
        if let Some(excluded) = excluded.filter(|excluded| !excluded.iter().any(|path| path.as_str() == Some(FOLDER))) {
            excluded.push(FOLDER);
        }
    }
}

/// The manifest without the lines of the packages in `names`, and without tables that become empty.
pub fn without(manifest: &str, names: &[&str]) -> Result<String> {
    edited(manifest, |manifest| {
        let Some(patches) = manifest.get_mut("patch").and_then(Item::as_table_like_mut) else { return Ok(()) };
        if let Some(lines) = patches.get_mut("crates-io").and_then(Item::as_table_like_mut) {
            for name in names {
                if lines.get(name).is_some_and(|line| is_ours(line, name)) {
                    lines.remove(name);
                }
            }
            if lines.is_empty() {
                patches.remove("crates-io");
            }
        }
        let lines = patches.get("crates-io").and_then(Item::as_table_like);
        let is_last = lines.is_none_or(|lines| !lines.iter().any(|(name, line)| is_ours(line, name)));
        if patches.is_empty() {
            manifest.remove("patch");
        }
        // If no pattern chooses the members, `exclude` has not added the folder: an entry for the folder is the user's own.
        if let Some(workspace) = manifest.get_mut("workspace").and_then(Item::as_table_like_mut).filter(|_| is_last)
            && has_pattern(workspace)
            && let Some(excluded) = workspace.get_mut("exclude").and_then(Item::as_array_mut)
        {
            excluded.retain(|path| path.as_str() != Some(FOLDER));
            if excluded.is_empty() {
                workspace.remove("exclude");
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::{with, without};

    /// The lines of the manifest that an edit does not concern stay as they are, to the byte.
    #[test]
    fn the_rest_stays() {
        let ours = "\n[patch.crates-io]\nlog = { path = \"jumplabel-patches/log\" }\n";
        let theirs = "# ours\n[package] # theirs\nname=\"p\"\nauthors = [\n  \"a\", # one\n]\ndescription = \"\"\"two\nlines\"\"\"\n";
        let returns = |text: &str| text.replace('\n', "\r\n");
        for (theirs, ours) in [
            (theirs.to_owned(), ours.to_owned()),
            (returns(theirs), returns(ours)),
            (format!("\u{feff}{theirs}"), ours.to_owned()),
            (format!("\u{feff}{}", returns(theirs)), returns(ours)),
        ] {
            let manifest = with(&theirs, &["log"]).unwrap();
            assert_eq!(manifest, format!("{theirs}{ours}"));
            assert_eq!(without(&manifest, &["log"]).unwrap(), theirs);
        }
    }

    /// Lines of a manifest may end in two ways. Each line keeps its end; a new line ends as most lines do.
    #[test]
    fn ends_of_two_kinds() {
        for (theirs, end) in [
            ("[workspace]\nmembers = [\"*\"]\n\n[package]\r\nname = \"p\"\n", "\n"),
            ("[workspace]\r\nmembers = [\"*\"]\r\n\n[package]\r\nname = \"p\"\n", "\r\n"),
        ] {
            let manifest = with(theirs, &["log"]).unwrap();
            let exclude = format!("exclude = [\"jumplabel-patches\"]{end}");
            let ours = format!("{end}[patch.crates-io]{end}log = {{ path = \"jumplabel-patches/log\" }}{end}");
            assert_eq!(manifest.replace(&exclude, ""), format!("{theirs}{ours}"));
            assert_eq!(without(&manifest, &["log"]).unwrap(), theirs);
        }
    }

    /// While the folder has packages, no pattern chooses them as members.
    #[test]
    fn members_by_patterns() {
        for (members, more) in [
            ("members = [\"*\"]\n", "exclude = [\"jumplabel-patches\"]\n"),
            ("members = [\"./*/*\"]\nexclude = [\"old\"]\n", ", \"jumplabel-patches\""),
            ("members = [\"crates/*\"]\n", ""),
        ] {
            let theirs = format!("[workspace]\n{members}");
            let one = with(&theirs, &["log"]).unwrap();
            assert!(
                one.contains(&format!("{}{more}", if more.starts_with(',') { "[\"old\"" } else { members })),
                "{one}"
            );
            let two = with(&one, &["fail"]).unwrap();
            assert_eq!(two.matches("jumplabel-patches\"").count(), one.matches("jumplabel-patches\"").count());
            assert_eq!(without(&two, &["fail"]).unwrap(), one);
            assert_eq!(without(&one, &["log"]).unwrap(), theirs);
        }
        // An entry in `exclude` that the user wrote stays, even if no pattern needs it.
        let theirs = "[workspace]\nmembers = [\"crates/*\"]\nexclude = [\"jumplabel-patches\"]\n";
        assert_eq!(without(&with(theirs, &["log"]).unwrap(), &["log"]).unwrap(), theirs);
    }
}
