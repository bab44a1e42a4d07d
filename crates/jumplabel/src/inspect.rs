//! Lists keys, static calls and modes from their records, and sites from the tables.

use core::fmt;
use core::ops::Range;
use core::sync::atomic::Ordering;

use crate::arch::{Arch, Code, Native, State, read_code};
use crate::call::info::CallInfo;
use crate::error::Error;
use crate::format::{Entry, NAKED};
use crate::key::RawKey;
use crate::key::info::KeyInfo;
use crate::key_record::name::named;
use crate::key_record::{self, Record};
use crate::patch::Lock;
use crate::platform::list::{List, Owned};
use crate::platform::{Held, Objects};
use crate::site::{index, object};
use crate::switch::RawMode;
use crate::switch::info::ModeInfo;

/// Calls `visit` for each key that has a record, in all loaded objects. `static_key!`, `naked_key!`, `record_key!` and `tracepoint!` leave
/// records, and so do declarations in C.
///
/// It collects the keys under the lock, and visits them after it has released the lock: so `visit` can flip. Do not unload an object while
/// its keys are visited, nor while you use anything that `visit` stored. Costs one binary search for each key in each object.
///
/// # Errors
/// [`Error::OutOfMemory`]. If the lock cannot be taken, as [`RawKey::seal`].
pub fn for_each_key(visit: impl FnMut(KeyInfo)) -> Result<(), Error> {
    each_key(|record| 0..record.declaration().count, visit).map(drop)
}

/// The key that has the name `name`, in any loaded object: `crate::module::NAME`, or `crate::module::NAMES[3]` for an element of an array.
/// These are the names that [`KeyInfo`] displays.
///
/// Costs a comparison for each declaration. Do not unload the key's object while you use the result.
///
/// # Errors
/// [`Error::NoSuchKey`], [`Error::SeveralKeys`]; otherwise as [`for_each_key`].
pub fn find_key(name: &str) -> Result<KeyInfo, Error> {
    let mut found = None;
    match each_key(|record| named(record, name), |key| found = Some(key))? {
        0 | 1 => found.ok_or(Error::NoSuchKey),
        count => Err(Error::SeveralKeys { count }),
    }
}

/// Calls `visit` for each static call that `static_call!` declared and that some code calls, in all loaded objects; otherwise as
/// [`for_each_key`]. (The records belong to trampolines. powerpc64le has no trampolines, so nothing is listed there.)
///
/// # Errors
/// As for [`for_each_key`].
pub fn for_each_call(visit: impl FnMut(CallInfo)) -> Result<(), Error> {
    // SAFETY: `each_record` passes records of calls.
    each_record(Record::is_call, |record, sites| unsafe { CallInfo::of(record, sites) }, visit)
}

/// Calls `visit` for each static mode that `static_mode!` declared and that some code sets, in all loaded objects; otherwise as
/// [`for_each_key`].
///
/// # Errors
/// As for [`for_each_key`].
pub fn for_each_mode(visit: impl FnMut(ModeInfo)) -> Result<(), Error> {
    // SAFETY: `each_record` passes records of modes.
    each_record(Record::is_mode, |record, sites| unsafe { ModeInfo::of(record, sites) }, visit)
}

/// Computes the `info` of each record for which `is` holds, and calls `visit` with it.
fn each_record<T: Copy>(
    is: fn(&Record) -> bool,
    info: impl Fn(&Record, usize) -> T,
    visit: impl FnMut(T),
) -> Result<(), Error> {
    #[cfg(jumplabel_sites)]
    let visited = collect(
        |infos, held| {
            for record in key_record::all(held).filter(is) {
                // SAFETY: a call or a mode has at least one byte.
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

/// How many entries name the key, call or mode at `address`.
#[cfg(jumplabel_sites)]
fn count(address: usize, held: &Held<Objects>) -> Result<usize, Error> {
    object::all(held).map(|object| index::count(object, address, held)).sum()
}

/// Visits those elements of each record that `which` chooses. Returns how many it visited.
#[cfg(jumplabel_sites)]
fn each_key(which: impl Fn(&Record) -> Range<u32>, visit: impl FnMut(KeyInfo)) -> Result<usize, Error> {
    let fill = |keys: &mut List<KeyInfo>, held: &Held<Objects>| {
        for record in key_record::all(held).filter(Record::is_key) {
            for element in which(&record) {
                // SAFETY: the filter lets only records of keys through.
                let key: &RawKey = unsafe { record.patchable(element) };
                let sites = count(key.address(), held)?;
                keys.push(KeyInfo::of(&record, element, sites, keys.len()), held.platform())?;
            }
        }
        KeyInfo::drop_repeated(keys);
        Ok(())
    };
    collect(fill, visit)
}

/// Without sites, this takes no lock. So it visits each key at once, and collects nothing.
#[cfg(not(jumplabel_sites))]
fn each_key(which: impl Fn(&Record) -> Range<u32>, mut visit: impl FnMut(KeyInfo)) -> Result<usize, Error> {
    let mut count = 0;
    for record in key_record::all()?.filter(Record::is_key) {
        for element in which(&record) {
            visit(KeyInfo::of(&record, element, 0, count));
            count += 1;
        }
    }
    Ok(count)
}

/// A site, as introspection shows it.
#[derive(Clone, Copy)]
pub struct Site {
    /// Address of the instruction.
    pub address: usize,
    /// The address that the site jumps to when it jumps and does not load. If the site never jumps (a naked key's on x86 and RISC-V), its own
    /// address.
    pub target: usize,
    /// The value of the check if execution falls through: true for `static_branch_likely`.
    pub arm: bool,
    /// Whether the site is in the function of a naked key. Then the site decides what the function returns.
    pub naked: bool,
    /// Whether the site loads now: it jumps to a stub that loads the key's count, and that goes on in the arm that the count says. Sites of
    /// keys declared `or_load` begin like that.
    pub loads: bool,
    /// The bytes that the site holds now.
    pub bytes: Code,
    /// The state of the site. `None` if something outside the library has written to the site.
    pub state: Option<State>,
}

/// For people: `0x55d1c3a0 nop -> 0x55d1c40f unlikely`. A site that loads is shown as `load`. A site without a state ([`Site::state`] is
/// `None`) is shown with its bytes.
impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Site { address, target, arm, naked, loads: _, bytes, state } = self;
        write!(f, "{address:#x} ")?;
        match state {
            Some(state) => f.write_str(state.name())?,
            None => write!(f, "foreign bytes {bytes:?}")?,
        }
        match (naked, arm) {
            (true, _) => f.write_str(" naked"),
            (false, true) => write!(f, " -> {target:#x} likely"),
            (false, false) => write!(f, " -> {target:#x} unlikely"),
        }
    }
}

impl fmt::Debug for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Site({self})")
    }
}

impl Site {
    /// # Safety
    /// `entry` belongs to an object that is loaded, and that cannot be unloaded meanwhile. The index has checked the entry.
    unsafe fn of(entry: &Entry) -> Site {
        let address = entry.code();
        // SAFETY: the caller says that the index has checked the entry, and that its object stays loaded.
        let bytes = unsafe { read_code(entry.kind(), address, entry.bytes()) };
        let to = |target: usize| Native::displacement(address as u64, target as u64);
        let (target, displacement) = (entry.target(), to(entry.target()));
        // `displacement` counts from the end of five bytes. A short site ends three bytes earlier, so its displacement is greater by 3.
        #[cfg(jumplabel_short_engine)]
        let displacement = displacement.map(|displacement| match entry.bytes() {
            2 => displacement.wrapping_add(3),
            _ => displacement,
        });
        let (target, state) = match entry.known_kind().ok() {
            Some(_) if entry.loads() => {
                let arm = entry.arm_address();
                (arm, State::of_loading::<Native>(bytes, displacement, to(arm)))
            }
            kind => (target, kind.and_then(|kind| kind.decode::<Native>(bytes, displacement))),
        };
        let (naked, loads) = (entry.kind() == NAKED, state == Some(State::LOADS));
        Site { address, target, arm: entry.arm(), naked, loads, bytes, state }
    }
}

/// Calls `visit` for each site of `key`, in the order of objects and then of addresses. Returns how many there are.
///
/// It collects the sites under the lock, and visits them after it has released the lock: `visit` can flip. Costs one binary search for each
/// object; the first call also builds the index.
///
/// # Errors
/// [`Error::DamagedTable`] if a damaged entry belongs, or may belong, to this key. [`Error::OutOfMemory`]. If the lock cannot be taken, as
/// [`RawKey::seal`].
pub fn for_each_site(key: &RawKey, visit: impl FnMut(Site)) -> Result<usize, Error> {
    sites_of(key.address(), visit)
}

/// [`for_each_site`] for a mode: visits the mode's switches. For the mode of a table of operations ([`RawOps::mode`](crate::RawOps::mode)),
/// it visits the operations in place. For both, [`Site::target`] is the address of the arms' list, and [`Site::state`] is `None`.
///
/// # Errors
/// As for [`for_each_site`].
pub fn for_each_mode_site(mode: &RawMode, visit: impl FnMut(Site)) -> Result<usize, Error> {
    sites_of(mode.address(), visit)
}

fn sites_of(patchable: usize, visit: impl FnMut(Site)) -> Result<usize, Error> {
    let fill = |sites: &mut List<Site>, held: &Held<Objects>| {
        for object in object::all(held) {
            for entry in index::entries(object, patchable, held)?.iter() {
                // SAFETY: the object is loaded, the lock is held, and the index has checked the entry.
                sites.push(unsafe { Site::of(entry) }, held.platform())?;
            }
        }
        Ok(())
    };
    collect(fill, visit)
}

/// Whether any site overlaps `range` of addresses. Another patcher should ask this before it writes there. (Linux:
/// `jump_label_text_reserved`, whose end is inclusive; a Rust range's end is not.)
///
/// Costs a scan of all tables. Safe to call anywhere but in the middle of a flip.
///
/// # Errors
/// If the lock cannot be taken, as [`RawKey::seal`].
pub fn text_reserved(range: core::ops::Range<usize>) -> Result<bool, Error> {
    Ok(text_reserved_locked(range, &Lock::take()?))
}

/// [`text_reserved`] for a caller that holds the lock.
#[must_use]
pub fn text_reserved_locked(range: core::ops::Range<usize>, lock: &Lock) -> bool {
    // Nobody has checked the tables: an entry can lead anywhere, so the addition saturates.
    let end = |entry: &Entry| entry.code().saturating_add(entry.bytes());
    let overlaps = |entry: &Entry| entry.code() < range.end && range.start < end(entry) && !range.is_empty();
    object::all(&lock.objects).any(|object| object.table().iter().any(overlaps))
}

/// How many bytes all indexes take now. Flips allocate this memory, and do not give it back.
///
/// # Errors
/// If the lock cannot be taken, as [`RawKey::seal`](RawKey::seal).
pub fn index_bytes() -> Result<usize, Error> {
    let lock = Lock::take()?;
    Ok(object::all(&lock.objects).map(|object| object.index_bytes.load(Ordering::Relaxed)).sum())
}

/// For the fuzzer: visits the entries of a key in the table of an object, as a flip of the key would find them. The object need not be
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

/// Collects under the lock what `fill` finds, releases the lock, and hands each item to `visit`, which can then do anything.
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
