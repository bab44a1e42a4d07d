//! Makes a page's text from the lines of a comment. Sentences become paragraphs, in which names are marked as code. Lines in columns stay as they
//! are.

/// A part of a comment.
enum Part {
    Text(String),
    Listed(String),
    Columns(Vec<String>),
}

/// The Markdown of a comment.
pub fn markdown(lines: &[String]) -> String {
    let mut parts: Vec<Part> = Vec::new();
    let mut is_new = true;
    for line in lines {
        let text = line.trim();
        let is_indented = line.starts_with("  ") || line.starts_with('\t');
        match parts.last_mut() {
            _ if text.is_empty() => {}
            Some(Part::Columns(columns)) if is_indented || is_set(line) => {
                columns.extend(is_new.then(String::new));
                columns.push(line.clone());
            }
            Some(Part::Listed(listed)) if !is_new && is_indented => *listed += &format!(" {text}"),
            _ if text.starts_with("- ") => parts.push(Part::Listed(text[2..].to_owned())),
            _ if is_indented || is_set(line) => parts.push(Part::Columns(vec![line.clone()])),
            Some(Part::Text(before)) if !is_new => *before += &format!(" {text}"),
            _ => parts.push(Part::Text(text.to_owned())),
        }
        is_new = text.is_empty();
    }
    let mut page = String::new();
    for part in &parts {
        page += &match part {
            Part::Text(text) => format!("{}\n\n", paragraph(text)),
            Part::Listed(text) => format!("- {}\n", paragraph(text)),
            Part::Columns(lines) => format!("```text\n{}\n```\n\n", without_margin(lines).join("\n")),
        };
    }
    page
}

/// Returns whether a line has columns, which three or more spaces separate.
fn is_set(line: &str) -> bool {
    line.trim().contains("   ")
}

fn without_margin(lines: &[String]) -> Vec<String> {
    let margin = |line: &String| line.len() - line.trim_start_matches(' ').len();
    let least = lines.iter().filter(|line| !line.is_empty()).map(margin).min().unwrap_or(0);
    lines.iter().map(|line| line.get(least..).unwrap_or_default().to_owned()).collect()
}

/// A paragraph in which names are marked as code.
pub fn paragraph(text: &str) -> String {
    let mut spans: Vec<_> = text.split('`').collect();
    if spans.len().is_multiple_of(2) {
        spans = vec![text];
    }
    let mut written = String::new();
    for (at, span) in spans.iter().enumerate() {
        written += &if at % 2 == 1 {
            format!("`{}`", span.trim_start_matches('_'))
        } else {
            span.split(' ').map(word).collect::<Vec<_>>().join(" ")
        };
    }
    written
}

/// A word of a paragraph: a document becomes a link to its page, a name becomes code.
fn word(word: &str) -> String {
    let start = word.find(|c| !matches!(c, '(' | '"')).unwrap_or(0);
    let (before, rest) = word.split_at(start);
    let end = rest.trim_end_matches(['.', ',', ';', ':', '"']).len();
    let (mut core, mut after) = rest.split_at(end);
    if core.ends_with(')') && core.matches('(').count() < core.matches(')').count() {
        (core, after) = rest.split_at(end - 1);
    }
    if let Some(name) = core.strip_prefix("docs/").filter(|name| name.ends_with(".md")) {
        return format!("{before}[{name}]({name}){after}");
    }
    let is_option = core.strip_prefix('-').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic()));
    let is_header = core.starts_with('<') && core.ends_with('>');
    let is_name =
        core.contains('_') || core.contains("()") || core.contains("::") || core.contains('=') || core == "NULL";
    if !core.contains('`') && (is_option || is_header || is_name) {
        return format!("{before}`{core}`{after}");
    }
    word.replace('\\', "\\\\").replace('<', "&lt;").replace(['*'], "\\*").replace('[', "\\[").replace('`', "\\`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_and_columns() {
        let lines = "Sets a_key (docs/c.md), or *none*:\n  -EIO    refused\n          by all\n\nSee\nf(a), `_b`.\n- one\n  more\n- two";
        let lines: Vec<_> = lines.lines().map(str::to_owned).collect();
        let page = "Sets `a_key` ([c.md](c.md)), or \\*none\\*:\n\n\
                    ```text\n-EIO    refused\n        by all\n```\n\nSee f(a), `b`.\n\n- one more\n- two\n";
        assert_eq!(markdown(&lines), page);
    }

    #[test]
    fn words() {
        for (text, written) in [
            ("f().", "`f()`."),
            ("(NULL: none)", "(`NULL`: none)"),
            ("-lm, -EIO - a", "`-lm`, `-EIO` - a"),
            ("<a.h> a<b", "`<a.h>` a&lt;b"),
            ("\"undefined reference to `a'\"", "\"undefined reference to \\`a'\""),
            ("(a_b())", "(`a_b()`)"),
        ] {
            assert_eq!(paragraph(text), written);
        }
    }
}
