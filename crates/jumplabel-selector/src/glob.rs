//! Patterns of names: `*` stands for any text, `?` for one character, and every other character for itself. So brackets have no special meaning,
//! because elements of arrays have names like `HOOKS[3]`.

/// A pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob(String);

impl Glob {
    /// Makes a pattern of a text. Every text is a valid pattern.
    pub fn new(text: &str) -> Glob {
        Glob(text.to_owned())
    }

    /// True if the pattern matches all of `text`. Takes at most time proportional to the product of both lengths.
    pub fn matches(&self, text: &str) -> bool {
        let (mut pattern, mut text) = (self.0.as_str(), text);
        // After a mismatch, the loop goes on here: with the pattern after the last star, and the text that this star has not consumed yet.
        let mut again: Option<(&str, &str)> = None;
        loop {
            let mut rest = pattern.chars();
            let (wanted, found) = (rest.next(), text.chars().next());
            match (wanted, found) {
                (Some('*'), _) => {
                    pattern = rest.as_str();
                    again = Some((pattern, text));
                    continue;
                }
                (None, None) => return true,
                (Some(wanted), Some(found)) if wanted == '?' || wanted == found => {
                    pattern = rest.as_str();
                    text = &text[found.len_utf8()..];
                    continue;
                }
                _ => {}
            }
            let Some((behind, from)) = again else { return false };
            let Some(taken) = from.chars().next() else { return false };
            (pattern, text) = (behind, &from[taken.len_utf8()..]);
            again = Some((pattern, text));
        }
    }

    /// True if the pattern matches a name, or its last components: `cache.rs` matches `src/cache.rs`, and `read` matches `net::read`.
    pub fn matches_end(&self, name: &str, separator: &str) -> bool {
        let ends = name.match_indices(separator).map(|(at, _)| &name[at + separator.len()..]);
        self.matches(name) || ends.into_iter().any(|end| self.matches(end))
    }

    /// True if the pattern matches a path, or its last components. `/` and `\` both separate components, because paths of Windows can have both.
    pub fn matches_path(&self, path: &str) -> bool {
        self.with_slashes().matches_end(&with_slashes(path), "/")
    }

    /// True if the pattern matches all of `text`, which contains a path: `/` and `\` count as the same character.
    pub fn matches_with_path(&self, text: &str) -> bool {
        self.with_slashes().matches(&with_slashes(text))
    }

    fn with_slashes(&self) -> Glob {
        Glob(with_slashes(&self.0))
    }

    /// The pattern as it was written.
    pub fn text(&self) -> &str {
        &self.0
    }
}

fn with_slashes(text: &str) -> String {
    text.replace('\\', "/")
}
