//! Finds names that are similar to a misspelt one.

use std::fmt::Write as _;

use crate::What;

/// At most this many names are suggested.
const MOST: usize = 3;
/// A longer pattern is not compared: for each name, the comparison takes time proportional to the product of the two lengths.
const LONGEST: usize = 64;

/// A suggestion, `; did you mean net.trace or net.traced?`, for the end of a sentence that says that `what` chooses nothing. Empty if no name is
/// similar, or if `what` does not choose by a name.
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

/// The names that are most similar to the pattern, the nearest first.
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

/// The number of characters that must change until a pattern matches a name, or its last components. `None` if they are too many for a misspelling.
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
    // A pattern with a star has a part before all stars, and a part after them. The longer part is compared.
    let end = rest.rsplit_once('*').map_or(rest, |(_, end)| end);
    let skipped = name.chars().count().saturating_sub(end.chars().count());
    if start.len() >= end.len() {
        same(start, &name.chars().take(start.chars().count()).collect::<String>())
    } else {
        same(end, &name.chars().skip(skipped).collect::<String>())
    }
}
