//! Finds names that are similar to a name that a user has misspelt.

use std::fmt::Write as _;

use crate::What;

/// The largest number of names in a suggestion.
const MOST: usize = 3;
/// The length of the longest pattern that is compared with names. A comparison takes time proportional to the product of both lengths.
const LONGEST: usize = 64;

/// Returns a suggestion such as `; did you mean net.trace or net.traced?`, to be appended to the message that `what` chooses nothing. The suggestion
/// is empty if no name is similar, or if `what` does not choose by name.
#[must_use]
pub fn did_you_mean<'a>(what: &What, names: impl IntoIterator<Item = &'a str>) -> String {
    let near = nearest(what, names);
    let mut text = String::new();
    for (at, name) in near.iter().enumerate() {
        let before = match at {
            0 => "; did you mean ",
            _ if at + 1 == near.len() => " or ",
            _ => ", ",
        };
        let _ = write!(text, "{before}{name}");
    }
    if !near.is_empty() {
        text.push('?');
    }
    text
}

/// The names that are most similar to the pattern of `what`: at most [`MOST`], the most similar one first.
fn nearest<'a>(what: &What, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let What::Name(glob) = what else { return Vec::new() };
    let pattern = glob.text().to_lowercase();
    if pattern.len() > LONGEST {
        return Vec::new();
    }
    let mut near: Vec<(usize, &str)> =
        names.into_iter().filter_map(|name| Some((distance(&pattern, &name.to_lowercase())?, name))).collect();
    near.sort_unstable();
    near.dedup();
    near.into_iter().map(|(_, name)| name).take(MOST).collect()
}

/// The number of characters of `pattern` that must change so that it matches `name` or its last components. `None` if that is more than a third of
/// the pattern's characters: then it is no misspelling.
fn distance(pattern: &str, name: &str) -> Option<usize> {
    let ends = name.match_indices(['.', ':']).map(|(at, separator)| &name[at + separator.len()..]);
    let same = |text: &str, part: &str| {
        let (most, length) = (text.chars().count() / 3, part.chars().count());
        let is_near = text.chars().count().abs_diff(length) <= most && most > 0;
        is_near.then(|| strsim::osa_distance(text, part)).filter(|&distance| distance <= most)
    };
    let Some((start, rest)) = pattern.split_once('*') else {
        return [name].into_iter().chain(ends).filter_map(|part| same(pattern, part)).min();
    };
    // Of a pattern with stars, only one part is compared: the part before the first star or the part after the last one, whichever is longer.
    let end = rest.rsplit_once('*').map_or(rest, |(_, end)| end);
    let skipped = name.chars().count().saturating_sub(end.chars().count());
    if start.len() >= end.len() {
        same(start, &name.chars().take(start.chars().count()).collect::<String>())
    } else {
        same(end, &name.chars().skip(skipped).collect::<String>())
    }
}
