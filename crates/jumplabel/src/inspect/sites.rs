//! Lists the sites of keys and modes, with their contents.

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

/// A site, as introspection shows it.
#[derive(Clone, Copy)]
pub struct Site {
    /// Address of the site's instruction.
    pub address: usize,
    /// The address that the site jumps to if it jumps and does not load. If the site never jumps (a naked key's on x86 and RISC-V), its own
    /// address.
    pub target: usize,
    /// The value of the check if execution falls through: true for `static_branch_likely`.
    pub arm: bool,
    /// Whether the site is in the function of a naked key. Then the site decides what the function returns.
    pub naked: bool,
    /// Whether the site loads now: it jumps to a stub, which loads the key's count and continues in the arm that the count asks for. Sites of
    /// keys declared `or_load` begin in this state.
    pub loads: bool,
    /// The bytes that the site holds now.
    pub bytes: Code,
    /// The state of the site. `None` if something outside the library has written to the site, or to its site prefix (x86).
    pub state: Option<State>,
    /// Whether something outside the library has written to the site prefix (x86). Then a jump that hooks the function ends there, so threads do
    /// not run the site. In this case `state` is `None`.
    pub is_hooked: bool,
}

/// For people: `0x55d1c3a0 nop -> 0x55d1c40f unlikely`. A site that loads is shown as `load`. A site without a state ([`Site::state`] is
/// `None`) is shown with its bytes.
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
    /// # Safety
    /// `entry` belongs to a loaded object, which cannot be unloaded during the call. The index has checked the entry.
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
        // SAFETY: the caller says that the index has checked the entry, and that its object stays loaded.
        let is_hooked = unsafe { front::foreign_byte(entry) }.is_some();
        let state = state.filter(|_| !is_hooked);
        let (naked, loads) = (entry.kind() == NAKED, state == Some(State::LOADS));
        Site { address, target, arm: entry.arm(), naked, loads, bytes, state, is_hooked }
    }
}

/// Calls `visit` for each site of `key`, in the order of objects and then of addresses. Returns the number of sites.
///
/// The function collects the sites under the lock, and visits them after it has released the lock. So `visit` can flip keys. Costs one binary
/// search for each object; the first call also builds the index.
///
/// # Errors
/// [`Error::DamagedTable`] if a damaged entry belongs, or may belong, to this key. [`Error::OutOfMemory`]. If the lock cannot be taken, the
/// errors of [`RawKey::seal`].
pub fn for_each_site(key: &RawKey, visit: impl FnMut(Site)) -> Result<usize, Error> {
    sites_of(key.address(), visit)
}

/// [`for_each_site`] for a mode: visits the mode's switches. For the mode of a table of operations ([`RawOps::mode`](crate::RawOps::mode)),
/// it visits the operations in place. For both, [`Site::target`] is the address of the arms' list, and [`Site::state`] is `None`.
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
                // SAFETY: the object is loaded, the lock is held, and the index has checked the entry.
                sites.push(unsafe { Site::of(entry) }, held.platform())?;
            }
        }
        Ok(())
    };
    collect(fill, visit)
}

/// The number of sites that load their keys now, in all loaded objects: unpatched sites of keys declared `or_load`. A program can ask this to find
/// out whether its checks cost more than they must. [`prepare`](crate::prepare) patches the sites that should fall through. A flip of its key
/// patches a site that should jump. For each site of a key, [`for_each_site`] says whether it loads. In the fallback, which has no sites, the
/// number is 0.
///
/// Costs a look at each table, and a read of each site of such keys. Sites that cannot be read are not counted.
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
        // SAFETY: the index has found that these entries are sound, their objects are loaded, and the lock is held.
        Ok(readable.filter(|entry| unsafe { Site::of(entry) }.loads).count())
    }
    #[cfg(not(jumplabel_sites))]
    {
        drop(lock);
        Ok(0)
    }
}
