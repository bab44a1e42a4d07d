//! The name of a key that has no record: that of an element of a list.

use core::fmt;

use super::{RawKey, StaticKey};

/// The key of an element of a list, with its name and its place: see [`List::names`](crate::List::names).
#[derive(Clone, Copy, Debug)]
pub struct NamedKey {
    pub(crate) key: &'static RawKey,
    pub(crate) default: bool,
    pub(crate) name: &'static str,
    pub(crate) place: (&'static str, u32, u32),
}

impl NamedKey {
    /// A key with this name and place. The name need not be unique: it can be `module_path!()`. File, line and column are those of the element's
    /// macro.
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

    /// Whether `wanted` is the key's name, with or without the place of the declaration.
    pub(crate) fn is(&self, wanted: &str) -> bool {
        let (file, line, column) = self.place;
        let mut rest = Rest(wanted);
        wanted == self.name
            || fmt::write(&mut rest, format_args!("{}@{file}:{line}:{column}", self.name)).is_ok() && rest.0.is_empty()
    }
}

/// The rest of a text, after the part that has already been written.
struct Rest<'a>(&'a str);

impl fmt::Write for Rest<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 = self.0.strip_prefix(text).ok_or(fmt::Error)?;
        Ok(())
    }
}
