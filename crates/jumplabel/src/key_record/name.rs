//! The names under which declarations are shown, and under which `find_key` finds them.

use core::fmt;
use core::ops::Range;

use super::Record;
use crate::format::Declaration;

/// The text that follows a name: the index of the element in an array, and the place of the declaration in the source.
pub(crate) struct Tail {
    pub(crate) element: Option<u32>,
    pub(crate) place: Option<(&'static str, u32, u32)>,
}

impl fmt::Display for Tail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.element.map_or(Ok(()), |element| write!(f, "[{element}]"))?;
        self.place.map_or(Ok(()), |(file, line, column)| write!(f, "@{file}:{line}:{column}"))
    }
}

/// A number with its noun: `1 site`, `2 sites`.
pub(crate) struct Number(pub(crate) usize, pub(crate) &'static str);

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let &Number(number, what) = self;
        write!(f, "{number} {what}{}", if number == 1 { "" } else { "s" })
    }
}

/// The part of a text that was not compared yet. A write to this value removes the written text from the beginning of that part. The write fails if
/// the part does not begin with the written text.
struct Expected<'a>(&'a str);

impl fmt::Write for Expected<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 = self.0.strip_prefix(text).ok_or(fmt::Error)?;
        Ok(())
    }
}

/// Finds the element of `record` whose displayed name is `wanted`, with or without the place of the declaration. Returns a range that contains only
/// the index of the element, or an empty range if there is no such element.
pub(crate) fn named(record: &Record, wanted: &str) -> Range<u32> {
    let Some(tail) = wanted.strip_prefix(record.name()) else { return 0..0 };
    let number = || tail.strip_prefix('[')?.split_once(']')?.0.parse().ok();
    let element = number().unwrap_or(0);
    let &Declaration { line, column, count, .. } = record.declaration();
    let is = |place| {
        let mut expected = Expected(tail);
        let tail = Tail { element: record.is_array().then_some(element), place };
        element < count && fmt::write(&mut expected, format_args!("{tail}")).is_ok() && expected.0.is_empty()
    };
    if is(None) || is(Some((record.file(), line, column))) { element..element + 1 } else { 0..0 }
}
