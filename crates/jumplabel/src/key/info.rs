//! A key as introspection shows it.

use core::fmt;

use super::RawKey;
use crate::format::Declaration;
use crate::key_record::Record;
use crate::key_record::meta::MetaFn;
use crate::key_record::name::{Number, Tail};
#[cfg(jumplabel_sites)]
use crate::{platform::list::List, sort::sort_unstable_by};

/// A key, as introspection shows it. The texts and the key live as long as the object that declares them is loaded.
#[derive(Clone, Copy)]
pub struct KeyInfo {
    /// The name that `#[key(name = "...")]` gives, else the path.
    pub name: &'static str,
    /// Path of the static, `crate::module::NAME`, or of a place that [`record_key!`](crate::record_key) names,
    /// `crate::module::NAME.field`.
    pub path: &'static str,
    /// The module of the declaration: what the path begins with. A key that a function declares is in the module around it.
    pub module: &'static str,
    /// The element, for a key of an array.
    pub element: Option<u32>,
    /// Source file of the declaration.
    pub file: &'static str,
    /// Line of the `static_key!` that declares it, or of the macro of yours that has this one in it.
    pub line: u32,
    /// Its column.
    pub column: u32,
    /// Its default.
    pub default: bool,
    /// Whether it is on.
    pub enabled: bool,
    /// Its count.
    pub count: i32,
    /// How many sites check it; damaged entries that say so are counted.
    pub sites: usize,
    /// The key, to flip it or to list its sites.
    pub key: &'static RawKey,
    meta: Option<MetaFn>,
    /// Its place among those that were found, for `drop_repeated`.
    #[cfg_attr(not(jumplabel_sites), allow(dead_code))]
    number: usize,
}

impl KeyInfo {
    pub(crate) fn of(record: &Record, element: u32, sites: usize, number: usize) -> KeyInfo {
        // SAFETY: the callers pass records of keys (`Record::is_key`), and elements that these have.
        let key: &'static RawKey = unsafe { record.patchable(element) };
        let &Declaration { line, column, .. } = record.declaration();
        KeyInfo {
            name: record.name(),
            path: record.path(),
            module: record.module(),
            element: record.is_array().then_some(element),
            file: record.file(),
            line,
            column,
            default: record.default(),
            enabled: key.is_enabled(),
            count: key.count(),
            sites,
            key,
            meta: record.meta,
            number,
        }
    }

    /// Drops records that say again what another one says: an `inline` key of C++ has one from each file that sees its declaration. The
    /// others stay in their order.
    #[cfg(jumplabel_sites)]
    pub(crate) fn drop_repeated(keys: &mut List<KeyInfo>) {
        let declared = |key: &KeyInfo| (key.key.address(), key.line, key.column, key.path, key.name, key.file);
        sort_unstable_by(keys.as_mut_slice(), |a, b| (declared(a), a.number) < (declared(b), b.number));
        keys.retain(|key, kept| kept.last().is_none_or(|last| declared(last) != declared(key)));
        sort_unstable_by(keys.as_mut_slice(), |a, b| a.number < b.number);
    }

    /// The data that the declaration attaches: `&META` of `static K: false, meta &META;`. `None` if it adds nothing, or
    /// something of another type, or if the key is of an object with another instance of the library: types of the same name can
    /// differ there.
    ///
    /// Costs a call of a function of the object that declares the key, which must not be unloaded meanwhile, nor while the result is
    /// used. Safe anywhere, signal handlers included, if the expression behind `meta` is a reference to a static.
    #[must_use]
    pub fn meta<T: 'static>(&self) -> Option<&'static T> {
        self.meta?().get()
    }
}

/// The name, with the element in an array: `crate::module::NAME`, or `crate::module::NAMES[3]`. Alternate (`{:#}`): with the place
/// of the declaration after it, `crate::module::NAME@src/main.rs:7:5`. [`find_key`](crate::find_key) takes both.
impl fmt::Display for KeyInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)?;
        Tail { element: self.element, place: f.alternate().then_some((self.file, self.line, self.column)) }.fmt(f)
    }
}

impl fmt::Debug for KeyInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:#}: {:?}, {}", self.key, Number(self.sites, "site"))
    }
}
