//! The name of a key that has no record: the key is in an element of a list, and the list names it.

use core::fmt;

use super::{RawKey, StaticKey};

/// A key in an element of a list, with its name and the place of its declaration. [`List::names`](crate::List::names) takes a function that returns a
/// `NamedKey`.
#[derive(Clone, Copy, Debug)]
pub struct NamedKey {
    pub(crate) key: &'static RawKey,
    pub(crate) default: bool,
    pub(crate) name: &'static str,
    pub(crate) place: (&'static str, u32, u32),
}

impl NamedKey {
    /// Gives `key` this name and place. Several keys may have the same name; for example, `name` can be `module_path!()`. `file`, `line` and `column`
    /// are the place where the user invokes the macro that makes the element.
    #[must_use]
    pub const fn new<const DEFAULT: bool, const OR_LOAD: bool>(
        key: &'static StaticKey<DEFAULT, OR_LOAD>,
        name: &'static str,
        file: &'static str,
        line: u32,
        column: u32,
    ) -> NamedKey {
        NamedKey { key: key.raw(), default: DEFAULT, name, place: (file, line, column) }
    }

    /// Whether `wanted` is the key's name, alone or followed by the place: `name` or `name@file:line:column`.
    pub(crate) fn is(&self, wanted: &str) -> bool {
        let (file, line, column) = self.place;
        let mut rest = Rest(wanted);
        wanted == self.name
            || fmt::write(&mut rest, format_args!("{}@{file}:{line}:{column}", self.name)).is_ok() && rest.0.is_empty()
    }
}

/// The part of a text that was not compared yet. A write to this value removes the written text from the beginning of that part. The write fails if
/// the part does not begin with the written text.
struct Rest<'a>(&'a str);

impl fmt::Write for Rest<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 = self.0.strip_prefix(text).ok_or(fmt::Error)?;
        Ok(())
    }
}
