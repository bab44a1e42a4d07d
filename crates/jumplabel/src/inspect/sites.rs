//! Lists the sites of keys and modes, and the bytes that they hold.

use core::fmt;

use super::collect;
use crate::arch::{Arch, Code, Native, State, read_code};
use crate::error::Error;
use crate::format::{Entry, NAKED};
use crate::key::RawKey;
use crate::patch::Lock;
use crate::platform::list::List;
use crate::platform::{Held, Objects};
#[cfg(jumplabel_sites)]
use crate::site::readable;
use crate::site::{front, index, object};
use crate::switch::RawMode;

/// A site of a key or of a mode, as [`for_each_site`] and [`for_each_mode_site`] show it.
#[derive(Clone, Copy)]
pub struct Site {
    /// Address of the site's instruction.
    pub address: usize,
    /// Address of the arm out of line, to which the site jumps when it jumps and does not load. If the site never jumps (that of a naked key on x86
    /// and RISC-V), this is the site's own address.
    pub target: usize,
    /// The value of the check if execution falls through: true for `static_branch_likely`, false for `static_branch_unlikely`.
    pub arm: bool,
    /// Whether the site is in the function of a naked key, where it decides what the function returns.
    pub naked: bool,
    /// Whether the site loads now: it jumps to a stub, which loads the key's count and continues in the right arm. Sites of keys declared `or_load`
    /// begin in this state.
    pub loads: bool,
    /// The bytes that the site holds now.
    pub bytes: Code,
    /// The state of the site. `None` if something outside the library has written to the site, or to its site prefix (x86). For the site of a mode,
    /// always `None`.
    pub state: Option<State>,
    /// Whether something outside the library has written to the site prefix (x86). Then the prefix is probably the last byte of a jump that hooks the
    /// function, and threads do not execute the site. In this case `state` is `None`.
    pub is_hooked: bool,
}

/// Shows the site to people: `0x55d1c3a0 nop -> 0x55d1c40f unlikely`. A site that loads is shown as `load`, and one with a foreign site prefix as
/// `hooked`. Any other site without a state is shown with its bytes.
impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Site { address, target, arm, naked, loads: _, bytes, state, is_hooked } = self;
        write!(f, "{address:#x} ")?;
        match state {
            Some(state) => f.write_str(state.name())?,
            None if *is_hooked => f.write_str("hooked")?,
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
    /// Reads the site of `entry`.
    ///
    /// # Safety
    /// `entry` belongs to a loaded object, which cannot be unloaded during the call. The index has checked the entry, and the site can be
    /// read.
    unsafe fn of(entry: &Entry) -> Site {
        let address = entry.code();
        // SAFETY: the caller ensures that the entry is sound, that its object stays loaded, and that the site can be read.
        let bytes = unsafe { read_code(entry.kind(), address, entry.bytes()) };
        let to = |target: usize| Native::displacement(address as u64, target as u64);
        let (target, displacement) = (entry.target(), to(entry.target()));
        // The displacement is relative to the end of an instruction of five bytes. A short site ends three bytes earlier, so its displacement is
        // greater by 3.
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
        // SAFETY: the caller ensures that the entry is sound, that its object stays loaded, and that the site and its prefix can be read.
        let is_hooked = unsafe { front::foreign_byte(entry) }.is_some();
        let state = state.filter(|_| !is_hooked);
        let (naked, loads) = (entry.kind() == NAKED, state == Some(State::LOADS));
        Site { address, target, arm: entry.arm(), naked, loads, bytes, state, is_hooked }
    }
}

/// Calls `visit` for each site of `key`, object by object, and in each object in the order of addresses. Returns the number of sites.
///
/// The function collects the sites under the lock, and calls `visit` after it has released the lock. So `visit` can flip keys. Costs one binary
/// search for each object; the first call also builds the index.
///
/// # Errors
/// [`Error::DamagedTable`], [`Error::CopiedCode`] or [`Error::UnknownKind`] if an entry with such a fault belongs, or may belong, to this key.
/// [`Error::Unreadable`] if a site of the key cannot be read. [`Error::OutOfMemory`]. If the lock cannot be taken, the errors of [`RawKey::seal`].
pub fn for_each_site(key: &RawKey, visit: impl FnMut(Site)) -> Result<usize, Error> {
    sites_of(key.address(), visit)
}

/// Calls `visit` for each switch of a mode or, for the mode of a table of operations ([`RawOps::mode`](crate::RawOps::mode)), for each operation in
/// place. [`Site::target`] is then the address of the list of arms, and [`Site::state`] is `None`. In all other respects, it is like
/// [`for_each_site`].
///
/// # Errors
/// The errors of [`for_each_site`].
pub fn for_each_mode_site(mode: &RawMode, visit: impl FnMut(Site)) -> Result<usize, Error> {
    sites_of(mode.address(), visit)
}

fn sites_of(patchable: usize, visit: impl FnMut(Site)) -> Result<usize, Error> {
    let fill = |sites: &mut List<Site>, held: &Held<Objects>| {
        for object in object::all(held) {
            for entry in index::entries(object, patchable, held)?.iter() {
                // SAFETY: the lock keeps the object loaded. `index::entries` returns only entries that the index has checked and whose sites can be
                // read.
                sites.push(unsafe { Site::of(entry) }, held.platform())?;
            }
        }
        Ok(())
    };
    collect(fill, visit)
}

/// The number of sites that load their keys now, in all loaded objects: unpatched sites of keys declared `or_load`. A program can use it to find out
/// whether its checks cost more than they must. [`prepare`](crate::prepare) patches those sites that should fall through; a flip of its key also
/// patches a site that should jump. For the sites of one key, use [`for_each_site`] and [`Site::loads`]. In the fallback, which has no sites, the
/// number is 0.
///
/// Costs a look at all tables, and a read of each site of a key declared `or_load`. Sites that cannot be read are not counted.
///
/// # Errors
/// If the lock cannot be taken, the errors of [`RawKey::seal`].
pub fn loading() -> Result<usize, Error> {
    let lock = Lock::take()?;
    #[cfg(jumplabel_sites)]
    {
        readable::forget();
        let held = &lock.objects;
        let entries = index::all_sound(held).map(|(entry, _)| entry);
        let readable = entries.filter(|entry| entry.loads() && readable::hidden(entry).is_none());
        // SAFETY: the entries are sound, as the index has found, and their sites can be read. The lock keeps their objects loaded.
        Ok(readable.filter(|entry| unsafe { Site::of(entry) }.loads).count())
    }
    #[cfg(not(jumplabel_sites))]
    {
        drop(lock);
        Ok(0)
    }
}
