//! Lists keys, static calls and modes from their records, and sites from the tables of objects.

mod named;
mod sites;

use core::ops::Range;
use core::sync::atomic::Ordering;

use crate::call::info::CallInfo;
use crate::error::Error;
use crate::format::Entry;
#[cfg(jumplabel_sites)]
use crate::key::RawKey;
use crate::key::info::KeyInfo;
use crate::key::named::NamedKey;
use crate::key_record::name::named;
use crate::key_record::{self, Record};
use crate::patch::Lock;
use crate::platform::list::{List, Owned};
use crate::platform::{Held, Objects};
#[cfg(any(jumplabel_sites, fuzzing))]
use crate::site::index;
use crate::site::object;
use crate::switch::info::ModeInfo;
use named::each_named;
pub use sites::{Site, for_each_mode_site, for_each_site, loading};

/// Calls `visit` for each key that has a record, in all loaded objects. `static_key!`, `naked_key!`, `record_key!` and `tracepoint!` leave records,
/// and so do declarations in C. After that, calls `visit` for each key to which a list gives a name: see [`List::names`](crate::List::names).
///
/// The function collects the keys under the lock, and calls `visit` after it has released the lock. So `visit` can flip keys. Do not unload an object
/// while its keys are visited, nor while you use anything that `visit` stored. For each key, costs a binary search in the index of each object.
///
/// # Errors
/// [`Error::OutOfMemory`]. If the lock cannot be taken, the errors of [`RawKey::seal`]. In the fallback, [`Error::NoRecords`] if no constructors have
/// run.
pub fn for_each_key(visit: impl FnMut(KeyInfo)) -> Result<(), Error> {
    each_key(|record| 0..record.declaration().count, |_| true, visit).map(drop)
}

/// Returns the key that has the name `name`, in any loaded object. `name` is a name as [`KeyInfo`] displays it, with or without the place:
/// `crate::module::NAME`, or `crate::module::NAMES[3]` for an element of an array.
///
/// Costs a comparison for each declaration. Do not unload the key's object while you use the result.
///
/// # Errors
/// [`Error::NoSuchKey`], [`Error::SeveralKeys`], and the errors of [`for_each_key`].
pub fn find_key(name: &str) -> Result<KeyInfo, Error> {
    let mut found = None;
    match each_key(|record| named(record, name), |key| key.is(name), |key| found = Some(key))? {
        0 | 1 => found.ok_or(Error::NoSuchKey),
        count => Err(Error::SeveralKeys { count }),
    }
}

/// Calls `visit` for each static call that `static_call!` declared, in all loaded objects. A static call that no code calls may be left out, because
/// the record is in the call's trampoline. On powerpc64le, which has no trampolines, nothing is visited. In all other respects, it is like
/// [`for_each_key`].
///
/// # Errors
/// The errors of [`for_each_key`].
pub fn for_each_call(visit: impl FnMut(CallInfo)) -> Result<(), Error> {
    // SAFETY: `each_record` passes only records that `Record::is_call` accepts.
    each_record(Record::is_call, |record, sites| unsafe { CallInfo::of(record, sites) }, visit)
}

/// Calls `visit` for each static mode that `static_mode!` declared, in all loaded objects. A mode that no code sets may be left out, because the
/// record is linked with the code that sets the mode. In all other respects, it is like [`for_each_key`].
///
/// # Errors
/// The errors of [`for_each_key`].
pub fn for_each_mode(visit: impl FnMut(ModeInfo)) -> Result<(), Error> {
    // SAFETY: `each_record` passes only records that `Record::is_mode` accepts.
    each_record(Record::is_mode, |record, sites| unsafe { ModeInfo::of(record, sites) }, visit)
}

/// Calls `visit` with the `info` of each record that `is` accepts. The second argument of `info` is the number of sites.
fn each_record<T: Copy>(
    is: fn(&Record) -> bool,
    info: impl Fn(&Record, usize) -> T,
    visit: impl FnMut(T),
) -> Result<(), Error> {
    #[cfg(jumplabel_sites)]
    let visited = collect(
        |infos, held| {
            for record in key_record::all(held).filter(is) {
                // SAFETY: the record is of a call or a mode, and both have at least one byte.
                let address = core::ptr::from_ref(unsafe { record.patchable::<u8>(0) }) as usize;
                infos.push(info(&record, count(address, held)?), held.platform())?;
            }
            Ok(())
        },
        visit,
    );
    #[cfg(not(jumplabel_sites))]
    let visited = key_record::all().map(|all| all.filter(is).map(|record| info(&record, 0)).for_each(visit));
    visited.map(drop)
}

/// The number of table entries that name the key, call or mode at `address`.
#[cfg(jumplabel_sites)]
fn count(address: usize, held: &Held<Objects>) -> Result<usize, Error> {
    object::all(held).map(|object| index::count(object, address, held)).sum()
}

/// Visits two groups of keys: first the elements that `which` returns for each record of keys, then the keys of lists that `is` accepts. Returns the
/// number of visited keys.
#[cfg(jumplabel_sites)]
fn each_key(
    which: impl Fn(&Record) -> Range<u32>,
    is: impl Fn(&NamedKey) -> bool,
    mut visit: impl FnMut(KeyInfo),
) -> Result<usize, Error> {
    let mut of_lists = Owned::new(crate::platform::platform());
    let mut pushed = Ok(());
    each_named(&mut |key| {
        if is(&key) && pushed.is_ok() {
            pushed = of_lists.push(key);
        }
    })?;
    pushed?;
    let fill = |keys: &mut List<KeyInfo>, held: &Held<Objects>| {
        for record in key_record::all(held).filter(Record::is_key) {
            for element in which(&record) {
                // SAFETY: the filter lets only records of keys through, and `which` returns only elements that the record has.
                let key: &RawKey = unsafe { record.patchable(element) };
                let sites = count(key.address(), held)?;
                keys.push(KeyInfo::of(&record, element, sites, keys.len()), held.platform())?;
            }
        }
        KeyInfo::drop_repeated(keys);
        for key in of_lists.list.iter() {
            let sites = count(key.key.address(), held)?;
            keys.push(KeyInfo::of_list(key, sites, keys.len()), held.platform())?;
        }
        Ok(())
    };
    collect(fill, &mut visit)
}

/// Does the same as the function above, in a build without sites. It takes no lock, so it visits each key at once, and collects nothing.
#[cfg(not(jumplabel_sites))]
fn each_key(
    which: impl Fn(&Record) -> Range<u32>,
    is: impl Fn(&NamedKey) -> bool,
    mut visit: impl FnMut(KeyInfo),
) -> Result<usize, Error> {
    let mut count = 0;
    for record in key_record::all()?.filter(Record::is_key) {
        for element in which(&record) {
            visit(KeyInfo::of(&record, element, 0, count));
            count += 1;
        }
    }
    each_named(&mut |key| {
        if is(&key) {
            visit(KeyInfo::of_list(&key, 0, count));
            count += 1;
        }
    })?;
    Ok(count)
}

/// Whether any byte of any site lies in the addresses `range`. Another patcher should call this before it writes there. (Linux:
/// `jump_label_text_reserved`, whose end is inclusive; the end of a Rust range is not.)
///
/// Costs a scan of all tables. Safe to call anywhere except in the middle of a flip.
///
/// # Errors
/// If the lock cannot be taken, the errors of [`RawKey::seal`].
pub fn text_reserved(range: core::ops::Range<usize>) -> Result<bool, Error> {
    Ok(text_reserved_locked(range, &Lock::take()?))
}

/// Does the same as [`text_reserved`], for a caller that holds the lock.
#[must_use]
pub fn text_reserved_locked(range: core::ops::Range<usize>, lock: &Lock) -> bool {
    // The index has not checked these entries, so an entry can lead to any address. That is why the addition saturates.
    let end = |entry: &Entry| entry.code().saturating_add(entry.bytes());
    let overlaps = |entry: &Entry| entry.code() < range.end && range.start < end(entry) && !range.is_empty();
    object::all(&lock.objects).any(|object| object.table().iter().any(overlaps))
}

/// The present size of all indexes in bytes. A flip allocates the index of each object that has none. The index stays until its object is unloaded,
/// or until [`Lock::read_tables_anew`].
///
/// # Errors
/// If the lock cannot be taken, the errors of [`RawKey::seal`].
pub fn index_bytes() -> Result<usize, Error> {
    let lock = Lock::take()?;
    Ok(object::all(&lock.objects).map(|object| object.index_bytes.load(Ordering::Relaxed)).sum())
}

/// Visits the entries of a key in the table of an object, as a flip of the key would find them. Only for the fuzzer. The object need not be
/// registered.
///
/// # Errors
/// The errors of a flip.
#[cfg(fuzzing)]
#[doc(hidden)]
pub fn read_table(object: &crate::format::Object, key: usize, visit: impl FnMut(&Entry)) -> Result<(), Error> {
    let lock = Lock::take()?;
    let result = index::entries(object, key, &lock.objects).map(|entries| entries.iter().for_each(visit));
    index::discard(object, &lock.objects);
    result
}

/// Collects items with `fill` under the lock, releases the lock, and then calls `visit` for each item. So `visit` can do anything. Returns the number
/// of items.
fn collect<T: Copy>(
    fill: impl FnOnce(&mut List<T>, &Held<Objects>) -> Result<(), Error>,
    mut visit: impl FnMut(T),
) -> Result<usize, Error> {
    let lock = Lock::take()?;
    let platform = lock.platform();
    let mut found = Owned::new(platform);
    fill(&mut found.list, &lock.objects)?;
    drop(lock);
    found.list.iter().copied().for_each(&mut visit);
    Ok(found.list.len())
}
