//! Reads a header of C or C++ as its readers see it: its first comment, and groups of declarations, each with the comment before it.
//!
//! Names that end with an underscore are the library's own. They are left out.

use super::declaration::{self, Declaration};

/// A header.
#[derive(Debug, Default)]
pub struct Header {
    /// The lines of the header's first comment.
    pub about: Vec<String>,
    pub groups: Vec<Group>,
}

/// Declarations that no empty line separates.
#[derive(Debug, Default)]
pub struct Group {
    /// The title above the group, if this is the first group below that title.
    pub title: Option<String>,
    pub comment: Vec<String>,
    pub declarations: Vec<Declaration>,
}

/// A part of a header: one or more whole lines.
enum Piece {
    Empty,
    Comment(Vec<String>),
    Title(String),
    Code(String),
}

/// Reads a header.
pub fn read(text: &str) -> Header {
    let mut header = Header::default();
    let (mut group, mut title) = (Group::default(), None);
    for piece in pieces(text) {
        // A title, an empty line or another comment ends a group.
        if !matches!(piece, Piece::Code(_)) && !group.declarations.is_empty() {
            header.groups.push(std::mem::take(&mut group));
        }
        match piece {
            Piece::Empty => {}
            Piece::Title(text) => {
                group.comment.clear();
                title = Some(text);
            }
            Piece::Comment(lines) if header.about.is_empty() => header.about = lines,
            Piece::Comment(lines) => group.comment = lines,
            Piece::Code(text) => {
                let Some(declared) = declaration::read(&text) else { continue };
                if group.declarations.is_empty() {
                    group.title = title.take();
                }
                group.declarations.push(declared);
            }
        }
    }
    header.groups.push(group);
    without_repetitions(&mut header.groups);
    header
}

/// Removes repeated declarations. A function that stands in two branches of `#if` is declared twice. Keeps the place of the first declaration, with
/// the text of the last one, because the last branch is that of C with sites, and not the fallback's.
fn without_repetitions(groups: &mut Vec<Group>) {
    let all: Vec<(String, String)> = groups
        .iter()
        .flat_map(|group| &group.declarations)
        .map(|item| (item.name.clone(), item.text.clone()))
        .collect();
    let mut seen = Vec::new();
    for group in &mut *groups {
        group.declarations.retain_mut(|item| {
            let is_first = !seen.contains(&item.name);
            if let Some((_, last)) = all.iter().rev().find(|(name, _)| *name == item.name) {
                item.text.clone_from(last);
            }
            seen.push(item.name.clone());
            is_first
        });
    }
    let mut title = None;
    groups.retain_mut(|group| {
        title = group.title.take().or(title.take());
        if !group.declarations.is_empty() {
            group.title = title.take();
        }
        !group.declarations.is_empty()
    });
}

/// Cuts a header into parts, up to the line where the implementation begins.
fn pieces(text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let trimmed = line.trim();
        if trimmed.starts_with("#if") && trimmed.ends_with("_IMPLEMENTATION") {
            break;
        }
        if trimmed.contains("SPDX-License-Identifier") {
            continue;
        }
        if trimmed.is_empty() {
            pieces.push(Piece::Empty);
        } else if let Some(title) = trimmed.strip_prefix("/* ---- ").or_else(|| trimmed.strip_prefix("// ---- ")) {
            pieces.push(Piece::Title(title.trim_end_matches([' ', '-', '*', '/']).to_owned()));
        } else if trimmed.starts_with("//") {
            let mut comment = vec![line.to_owned()];
            while let Some(next) = lines.next_if(|next| next.trim().starts_with("//")) {
                comment.push(next.to_owned());
            }
            pieces.push(Piece::Comment(comment.iter().map(|line| bare(line.trim(), "//")).collect()));
        } else if trimmed.starts_with("/*") {
            let mut comment = vec![line.to_owned()];
            while !comment.last().is_some_and(|line| line.contains("*/")) {
                let Some(next) = lines.next() else { break };
                comment.push(next.to_owned());
            }
            pieces.push(Piece::Comment(block(&comment)));
        } else {
            let mut code = line.to_owned();
            while !is_whole(&code) {
                let Some(next) = lines.next() else { break };
                code += &format!("\n{next}");
            }
            pieces.push(Piece::Code(code));
        }
    }
    pieces
}

/// A line of a comment, without `sign` before it and without one space after `sign`.
fn bare(line: &str, sign: &str) -> String {
    let line = line.strip_prefix(sign).unwrap_or(line);
    line.strip_prefix(' ').unwrap_or(line).trim_end().to_owned()
}

/// The lines of a comment between `/*` and `*/`. Each line begins with a star or with three spaces, which are removed.
fn block(lines: &[String]) -> Vec<String> {
    let text = lines.join("\n");
    let text = text.trim().trim_start_matches("/*").split("*/").next().unwrap_or_default().to_owned();
    let mut bare_lines: Vec<_> = text
        .lines()
        .map(|line| match line.trim_start().strip_prefix('*') {
            Some(starred) => bare(starred, ""),
            None => line.strip_prefix("   ").or_else(|| line.strip_prefix(' ')).unwrap_or(line).trim_end().to_owned(),
        })
        .collect();
    while bare_lines.first().is_some_and(String::is_empty) {
        bare_lines.remove(0);
    }
    while bare_lines.last().is_some_and(String::is_empty) {
        bare_lines.pop();
    }
    bare_lines
}

/// Returns whether a directive or a declaration is complete.
fn is_whole(code: &str) -> bool {
    if code.trim_start().starts_with('#') {
        return !code.ends_with('\\');
    }
    let code = declaration::without_comments(code);
    let code = code.trim_end();
    let depth = code.chars().fold(0, |depth, c| match c {
        '{' | '(' | '[' => depth + 1,
        '}' | ')' | ']' => depth - 1,
        _ => depth,
    });
    // A namespace or `extern "C"` opens and closes on lines of its own. A macro that stands for such a line is a single word.
    let opens = ["namespace ", "extern \"C"].iter().any(|word| code.starts_with(word)) && code.ends_with('{');
    let is_word = code.chars().all(|c| c.is_alphanumeric() || c == '_');
    opens || is_word || code == "}" || (depth == 0 && code.ends_with([';', '}']))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = include_str!("tests/header.h");

    #[test]
    fn groups() {
        let header = read(HEADER);
        assert_eq!(header.about, ["What it is for.", "", "    a program();"]);
        let seen: Vec<_> = header
            .groups
            .iter()
            .map(|group| {
                let names: Vec<_> = group.declarations.iter().map(|item| item.name.as_str()).collect();
                (group.title.as_deref(), group.comment.join("|"), names.join(" "))
            })
            .collect();
        let expected = [
            (Some("Keys"), "A key.", "key"),
            (None, "Numbers:|  -EINVAL   no key", "turn_on turn_off"),
            (None, "", "seal"),
            (Some("Checks"), "Whether it is on.", "IS_ON"),
            (None, "Two lines,|and a slash.", "visit_fn"),
        ];
        assert_eq!(seen, expected.map(|(title, comment, names)| (title, comment.to_owned(), names.to_owned())));
        let text = |name: &str| {
            let mut items = header.groups.iter().flat_map(|group| &group.declarations);
            items.find(|item| item.name == name).unwrap().text.clone()
        };
        assert_eq!(text("key"), "struct key {\n\tint on; /* a word { */\n};");
        assert_eq!(text("IS_ON"), "#define IS_ON(x)", "the last one");
        assert_eq!(text("seal"), "int seal(struct key *key);");
    }
}
