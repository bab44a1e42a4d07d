//! Anchored edits of source text. An edit that does not find its anchors exactly as often as it expects is an error. So the tool refuses a version of
//! upstream that looks different, and never leaves a file half edited.

use anyhow::{Result, ensure};
use regex::Regex;

/// A file's text, which edits change.
pub struct Text {
    /// The path of the file, for messages.
    name: &'static str,
    text: String,
}

impl Text {
    pub fn new(name: &'static str, text: String) -> Text {
        Text { name, text }
    }

    pub fn into_string(self) -> String {
        self.text
    }

    /// Replaces each match of `anchor` by `with`; there must be `times` matches. `with` can name groups: `$1`.
    pub fn replace(&mut self, anchor: &str, times: usize, with: &str) -> Result<()> {
        let anchor = Regex::new(anchor)?;
        self.demand(&anchor, times)?;
        self.text = anchor.replace_all(&self.text, with).into_owned();
        Ok(())
    }

    /// Adds `more` after each match of `anchor`.
    pub fn insert_behind(&mut self, anchor: &str, times: usize, more: &str) -> Result<()> {
        let more = more.replace('$', "$$");
        self.replace(anchor, times, &format!("${{0}}{more}"))
    }

    /// Adds `more` before each match of `anchor`.
    pub fn insert_before(&mut self, anchor: &str, times: usize, more: &str) -> Result<()> {
        let more = more.replace('$', "$$");
        self.replace(anchor, times, &format!("{more}${{0}}"))
    }

    /// Replaces each match of `anchor` by `open`, and puts `close` in front of the brace that closes the block around the match.
    pub fn wrap_rest_of_block(&mut self, anchor: &str, times: usize, open: &str, close: &str) -> Result<()> {
        let anchor = Regex::new(anchor)?;
        self.demand(&anchor, times)?;
        let places: Vec<_> = anchor.find_iter(&self.text).map(|found| found.range()).collect();
        for place in places.into_iter().rev() {
            let end = end_of_block(&self.text, place.end);
            ensure!(end.is_some(), "{}: no end of the block of `{anchor}`: {UNKNOWN}", self.name);
            let end = end.unwrap_or(place.end);
            self.text.insert_str(end, close);
            self.text.replace_range(place, open);
        }
        Ok(())
    }

    pub fn append(&mut self, more: &str) {
        self.text.push_str(more);
    }

    fn demand(&self, anchor: &Regex, times: usize) -> Result<()> {
        let found = anchor.find_iter(&self.text).count();
        ensure!(found == times, "{}: `{anchor}` is there {found} times instead of {times}: {UNKNOWN}", self.name);
        Ok(())
    }
}

const UNKNOWN: &str = "this version of the crate does not look as expected. Use a newer cargo-jumplabel, or an older version of the crate";

/// Returns the place of the brace that closes the block around `from`. Braces in comments and literals count, too. In upstream's text, these come in
/// pairs.
fn end_of_block(text: &str, from: usize) -> Option<usize> {
    let mut depth = 0;
    for (at, sign) in text.get(from..)?.char_indices() {
        match sign {
            '{' => depth += 1,
            '}' if depth == 0 => return Some(from + at),
            '}' => depth -= 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::Text;

    #[test]
    fn edits() {
        let mut text = Text::new("file", "({ a; let x = 1; if x { b } else { c } });".to_owned());
        text.wrap_rest_of_block("let x = 1;", 1, "if k { let x = 2;", "}").unwrap();
        text.insert_behind("else", 1, " $y").unwrap();
        text.insert_before(r"\(\{", 1, "=> ").unwrap();
        text.append("\n");
        assert_eq!(text.into_string(), "=> ({ a; if k { let x = 2; if x { b } else $y { c } }});\n");
    }

    #[test]
    fn an_anchor_that_is_not_there_is_an_error() {
        let mut text = Text::new("file", "one two two".to_owned());
        for (anchor, times) in [("two", 1), ("three", 1), ("one", 2)] {
            let error = text.replace(anchor, times, "").unwrap_err().to_string();
            assert!(error.starts_with(&format!("file: `{anchor}` is there ")), "{error}");
        }
        assert!(text.wrap_rest_of_block("one", 1, "", "").is_err());
        assert_eq!(text.into_string(), "one two two");
    }
}
