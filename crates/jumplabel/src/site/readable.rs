//! Says whether sites can be read. Code can be execute-only. A load from such code faults, and ends the program, because a flip blocks the
//! signal that would report the fault. So whoever is going to read a site or arms asks here first. A *stretch* is a range of addresses that
//! can be read, as the platform says.
//!
//! ```text
//!   platform    [page][page]   [========= mapping =========]   the last stretch that it named since `forget`
//!   entries       .    .         first . . . . . . .  last     in order: if the stretch holds the first and the last, it holds all
//! ```
//!
//! All of this is called under the lock. Protections can change between two flips, so each transaction begins with nothing known.

use core::sync::atomic::{AtomicUsize, Ordering};

use super::Entries;
use crate::format::{Entry, LOADING, OP, SWITCH};
use crate::platform::platform;

/// This many times in a transaction, the platform is asked for a stretch that it finds cheaply. After that, it is asked for a longer
/// stretch, which costs more.
const CHEAP: usize = 8;
/// If a patchable has more sites than this, the platform is asked for a longer stretch at once.
const MANY: usize = 32;

/// Where the last stretch begins and ends. Callers ask about sites in the order of their addresses, so one stretch is enough.
static KNOWN: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];
static ASKED: AtomicUsize = AtomicUsize::new(0);

/// Forgets what is known.
pub(crate) fn forget() {
    ASKED.store(0, Ordering::Relaxed);
    KNOWN[1].store(0, Ordering::Relaxed);
}

fn known() -> [usize; 2] {
    KNOWN.each_ref().map(|word| word.load(Ordering::Relaxed))
}

/// The end of the stretch that holds `address`. 0 if `address` cannot be read. `far`: the caller is going to ask about much else, so the
/// platform looks for a longer stretch at once.
#[inline(never)]
fn end_of(address: usize, far: bool) -> usize {
    let [start, end] = known();
    if start <= address && address < end {
        return end;
    }
    let far = far || ASKED.fetch_add(1, Ordering::Relaxed) >= CHEAP;
    let found = platform().readable(address, far);
    if !found.contains(&address) {
        return 0;
    }
    KNOWN[0].store(found.start, Ordering::Relaxed);
    KNOWN[1].store(found.end, Ordering::Relaxed);
    found.end
}

/// Whether `bytes` bytes at `address` can be read.
#[inline(never)]
pub(crate) fn can_read(address: usize, bytes: usize) -> bool {
    let end = address.saturating_add(bytes);
    let mut at = address;
    while at != 0 && at < end {
        at = end_of(at, false);
    }
    at != 0
}

/// The address of a part of `entry` that cannot be read: its site, the word in front of its stub or, if some arm or the list of arms cannot
/// be read, that list. `None` if all can be read.
#[inline(never)]
pub(crate) fn hidden(entry: &Entry) -> Option<usize> {
    let mut address = entry.code();
    let mut is_readable = can_read(address, read_bytes(entry));
    if entry.loads() && is_readable {
        address = entry.arm_word();
        is_readable = can_read(address, size_of::<u32>());
    }
    if has_arms(entry) && is_readable {
        let word = size_of::<u32>();
        address = entry.target();
        is_readable = can_read(address, word)
            && can_read(address.saturating_add(word), size_of_val(entry.arms()))
            && entry.arms().iter().all(|arm| can_read(arm.address(), arm.length()));
    }
    (!is_readable).then_some(address)
}

/// Whether all sites of `entries` are known to be readable without another question to the platform. False if `entries` have arms or stubs.
/// The caller passes entries of one patchable, in the order of their sites.
#[inline(always)] // Called for each key, in each flip.
pub(crate) fn are_known(entries: Entries<'_>) -> bool {
    let Some(first) = entries.get(0) else { return true };
    let from = first.code();
    let last = if entries.len() == 1 { first } else { entries.get(entries.len() - 1).unwrap_or(first) };
    // A site has seven bytes at most, so the eight bytes from its address on include it.
    let [start, end] = known();
    start <= from && last.code().wrapping_add(8) <= end && !has_more(first) && !has_more(last)
}

/// What [`hidden`] returns for the first entry that cannot be read. `None` if all can. The caller passes entries of one patchable, in the
/// order of their sites.
#[inline(never)]
pub(crate) fn first_hidden(entries: Entries<'_>) -> Option<usize> {
    let last = entries.get(entries.len() - 1)?;
    for entry in entries.iter() {
        let end = end_of(entry.code(), entries.len() > MANY);
        let hidden = hidden(entry);
        // If this entry can be read, and its stretch holds the last site, too, the entries in between need no look.
        if hidden.is_some() || (!has_more(entry) && !has_more(last) && last.code().wrapping_add(8) <= end) {
            return hidden;
        }
    }
    None
}

/// How many bytes `read_code` reads at a site: two if the site has two, otherwise at least four. (The site of a lock prefix has one byte,
/// but its instruction goes on after it.)
pub(crate) fn read_bytes(entry: &Entry) -> usize {
    match entry.bytes() {
        #[cfg(jumplabel_short_engine)]
        2 => 2,
        bytes => bytes.max(4),
    }
}

/// Whether the entry's target is a list of arms.
fn has_arms(entry: &Entry) -> bool {
    matches!(entry.kind(), SWITCH | OP)
}

/// Whether more than the entry's site is read: arms, or the word in front of a stub. Either all entries of a patchable have arms, or none
/// has. It is the same with stubs, except that C's checks without a type have none, whatever the key is. The stubs of such a key's other
/// checks lie among the sites, or directly after them.
fn has_more(entry: &Entry) -> bool {
    matches!(entry.kind(), SWITCH | OP | LOADING)
}
