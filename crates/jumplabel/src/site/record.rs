//! Key records: the name, file, line and default of each key that `static_key!` declared, in the read-only section
//! `__jump_keys`, where tools find them in a stripped binary too.

use core::fmt;
use core::ops::Range;

use super::{index, object, relative};
use crate::error::Error;
use crate::key::RawKey;
use crate::patch::Lock;
use crate::text::list::{self, List};

/// Describes one key, or one array of keys. 32 bytes, all words relative to themselves.
#[repr(C, align(4))]
pub struct KeyRecord {
    key: i32,
    name: i32,
    file: i32,
    name_len: u32,
    file_len: u32,
    line: u32,
    /// How many keys: more than one for an array.
    count: u32,
    /// Bit 0: the default. Bit 1: the key word leads to a GOT slot that holds the key's address. From bit 8: bytes from
    /// one element to the next.
    shape: u32,
}

impl KeyRecord {
    fn text(word: *const i32, len: u32) -> &'static str {
        // SAFETY: the macro that emits records points the word at a constant of `len` bytes of a string literal. The
        // object may be unloaded later; `KeyInfo` documents how long its texts live.
        unsafe {
            core::str::from_utf8_unchecked(core::slice::from_raw_parts(relative(word) as *const u8, len as usize))
        }
    }

    fn info(&self, element: u32, lock: &Lock) -> Result<KeyInfo, Error> {
        let key = self.key(element);
        let mut sites = 0;
        for object in object::all(lock) {
            sites += index::count(object, key.address(), lock)?;
        }
        Ok(KeyInfo {
            name: KeyRecord::text(&raw const self.name, self.name_len),
            element: (self.stride() != 0).then_some(element),
            file: KeyRecord::text(&raw const self.file, self.file_len),
            line: self.line,
            default: self.shape & 1 != 0,
            enabled: key.is_enabled(),
            count: key.count(),
            sites,
            key,
        })
    }

    fn key(&self, element: u32) -> &'static RawKey {
        let mut address = relative(&raw const self.key);
        if self.shape & super::INDIRECT != 0 {
            // SAFETY: then the macro emits a slot of the object's GOT, which the loader has filled.
            address = unsafe { (address as *const usize).read() };
        }
        // SAFETY: the macro emits the address of a static key, or array of `count` keys at that distance.
        unsafe { &*((address + element as usize * self.stride()) as *const RawKey) }
    }

    fn stride(&self) -> usize {
        (self.shape >> super::OFFSET_SHIFT) as usize
    }
}

/// A key, as introspection shows it. The texts and the key live as long as the object that declares them is loaded.
#[derive(Clone, Copy, Debug)]
pub struct KeyInfo {
    /// Path of the static: `crate::module::NAME`.
    pub name: &'static str,
    /// The element, for a key of an array.
    pub element: Option<u32>,
    /// Source file of the declaration.
    pub file: &'static str,
    /// Line of the `static_key!` that declares it.
    pub line: u32,
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
}

/// As it is written in the program: `crate::module::NAME`, or `crate::module::NAMES[3]`. What [`find_key`] takes.
impl fmt::Display for KeyInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)?;
        self.element.map_or(Ok(()), |element| write!(f, "[{element}]"))
    }
}

/// Calls `visit` for each key that `static_key!` declared, of all loaded objects.
///
/// The keys are looked at under the lock and visited after it: `visit` may flip. An object must not be unloaded while its
/// keys are visited, nor while what `visit` keeps of them is used. Costs one binary search for each key and object.
///
/// # Errors
/// [`Error::OutOfMemory`], and where the lock cannot be taken, as for [`RawKey::seal`].
pub fn for_each_key(visit: impl FnMut(KeyInfo)) -> Result<(), Error> {
    each_key(|record| 0..record.count, visit).map(drop)
}

/// The key of that name, of all loaded objects: `crate::module::NAME`, or `crate::module::NAMES[3]` for an element of an array,
/// as [`KeyInfo`] displays it.
///
/// Costs a comparison for each declaration. The object of the key must not be unloaded while what is found is used.
///
/// # Errors
/// [`Error::NoSuchKey`], [`Error::SeveralKeys`]; otherwise as [`for_each_key`].
pub fn find_key(name: &str) -> Result<KeyInfo, Error> {
    let (path, element) = match name.strip_suffix(']').and_then(|name| name.rsplit_once('[')) {
        Some((path, number)) => (path, Some(number.parse::<u32>().map_err(|_| Error::NoSuchKey)?)),
        None => (name, None),
    };
    let named = |record: &KeyRecord| {
        let is_named = KeyRecord::text(&raw const record.name, record.name_len) == path;
        let is_array = record.stride() != 0;
        match element {
            Some(element) if is_named && is_array && element < record.count => element..element + 1,
            None if is_named && !is_array => 0..1,
            _ => 0..0,
        }
    };
    let mut found = None;
    match each_key(named, |key| found = Some(key))? {
        0 | 1 => found.ok_or(Error::NoSuchKey),
        count => Err(Error::SeveralKeys { count }),
    }
}

/// Visits the elements that `which` says of each record. How many they are.
fn each_key(which: impl Fn(&KeyRecord) -> Range<u32>, visit: impl FnMut(KeyInfo)) -> Result<usize, Error> {
    let fill = |keys: &mut List<KeyInfo>, lock: &Lock| {
        for record in object::all(lock).flat_map(|object| object.keys()) {
            for element in which(record) {
                keys.push(record.info(element, lock)?, lock.text())?;
            }
        }
        Ok(())
    };
    list::collect(fill, visit)
}
