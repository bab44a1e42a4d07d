//! The names by which declarations are shown and found.

use core::fmt;
use core::ops::Range;

use super::Record;
use crate::format::Declaration;

/// The text after a name: the number of the element, and the place of the declaration in the source.
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

/// The rest of a text that is compared with the parts that are written to this value. Each written part must be the beginning of the rest, and
/// is then removed from it.
struct Expected<'a>(&'a str);

impl fmt::Write for Expected<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 = self.0.strip_prefix(text).ok_or(fmt::Error)?;
        Ok(())
    }
}

/// The element of `record` that is displayed as `wanted`, with or without the place of the declaration: a range with the element's number, or empty
/// if there is no such element.
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
