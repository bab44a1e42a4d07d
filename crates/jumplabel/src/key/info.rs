//! The description of a key for introspection.

use core::fmt;

use super::RawKey;
use super::named::NamedKey;
use crate::format::Declaration;
use crate::key_record::Record;
use crate::key_record::meta::MetaFn;
use crate::key_record::name::{Number, Tail};
#[cfg(jumplabel_sites)]
use crate::{platform::list::List, sort::sort_unstable_by};

/// The description of a key, as [`for_each_key`](crate::for_each_key) and [`find_key`](crate::find_key) give it. The texts and the key live as long
/// as the object that declares them stays loaded.
#[derive(Clone, Copy)]
pub struct KeyInfo {
    /// The name that `#[key(name = "...")]` gives. Without this attribute, the path.
    pub name: &'static str,
    /// The path of the static, `crate::module::NAME`, or the path of a place that [`record_key!`](crate::record_key) names,
    /// `crate::module::NAME.field`.
    pub path: &'static str,
    /// The path of the module that contains the declaration. [`path`](Self::path) begins with this module path. A function around the declaration
    /// adds nothing to either path. Empty for a key that a [`List`](crate::List) names.
    pub module: &'static str,
    /// The key's index, if the key is in an array. Otherwise `None`.
    pub element: Option<u32>,
    /// The source file of the declaration.
    pub file: &'static str,
    /// The line of the macro that declares the key (`static_key!`, for example). If a macro of yours contains this macro, the line that invokes your
    /// macro.
    pub line: u32,
    /// The column in [`line`](Self::line) where the macro begins.
    pub column: u32,
    /// The key's default.
    pub default: bool,
    /// Whether the key is on.
    pub enabled: bool,
    /// The key's count.
    pub count: i32,
    /// The number of table entries that name the key. Each entry stands for a site that checks the key; damaged entries are counted, too.
    pub sites: usize,
    /// The key, to flip it or to list its sites.
    pub key: &'static RawKey,
    meta: Option<MetaFn>,
    /// The key's place in the order in which keys were found. `drop_repeated` restores that order.
    #[cfg_attr(not(jumplabel_sites), allow(dead_code))]
    number: usize,
}

impl KeyInfo {
    pub(crate) fn of(record: &Record, element: u32, sites: usize, number: usize) -> KeyInfo {
        // SAFETY: the callers pass only records of keys (`Record::is_key`), and only elements below the record's count.
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

    /// The description of a key that has no record. A [`List`](crate::List) gives the key its name.
    pub(crate) fn of_list(named: &NamedKey, sites: usize, number: usize) -> KeyInfo {
        let &NamedKey { key, default, name, place: (file, line, column) } = named;
        let (enabled, count) = (key.is_enabled(), key.count());
        let (path, module, element, meta) = (name, "", None, None);
        KeyInfo { name, path, module, element, file, line, column, default, enabled, count, sites, key, meta, number }
    }

    /// Drops each description that repeats another one. (An `inline` key of C++ has a record from each file that includes its declaration.) The
    /// others stay in their order.
    #[cfg(jumplabel_sites)]
    pub(crate) fn drop_repeated(keys: &mut List<KeyInfo>) {
        let declared = |key: &KeyInfo| (key.key.address(), key.line, key.column, key.path, key.name, key.file);
        sort_unstable_by(keys.as_mut_slice(), |a, b| (declared(a), a.number) < (declared(b), b.number));
        keys.retain(|key, kept| kept.last().is_none_or(|last| declared(last) != declared(key)));
        sort_unstable_by(keys.as_mut_slice(), |a, b| a.number < b.number);
    }

    /// Returns the data that the declaration attaches: `&META` of `static K: false, meta &META;`. Returns `None` in three cases: the declaration
    /// attaches nothing; its data have another type than `T`; the key is in an object that has another instance of the library. (In another instance,
    /// a type with the same name can be different.)
    ///
    /// Costs a call of a function in the object that declares the key. Do not unload that object during the call or while you use the result.
    /// Safe anywhere, signal handlers included, if the expression after `meta` is a reference to a static.
    #[must_use]
    pub fn meta<T: 'static>(&self) -> Option<&'static T> {
        self.meta?().get()
    }
}

/// Shows the name: `crate::module::NAME`. For a key of an array, the index follows the name: `crate::module::NAMES[3]`. The alternate form (`{:#}`)
/// adds the place of the declaration: `crate::module::NAME@src/main.rs:7:5`. [`find_key`](crate::find_key) takes both forms.
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
