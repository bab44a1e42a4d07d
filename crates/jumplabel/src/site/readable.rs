//! Finds out whether sites can be read. Code can be execute-only. A load from such code faults, and ends the program, because a flip blocks the
//! signal that would report the fault. So the library asks here before it reads a site or arms. A *stretch* is a range of addresses that the platform
//! says can be read. A stretch is one page or, if the caller will ask about many addresses after the first, several pages.
//!
//! ```text
//!   platform    [page][page]   [======= pages =======][======= pages =======]   only the last stretch is remembered; if the next one
//!   entries       .    .         first . . . . . . . . . . . . . .  last        begins where it ends, the two become one
//! ```
//!
//! The caller asks about entries in the order of their addresses. If the stretch contains the first entry's site and the last one's, it contains all
//! sites in between. Arms and the words in front of stubs have their own stretch, because they can lie far from their sites.
//!
//! All functions here are called under the lock. Protections can change between two flips, so each transaction first forgets the stretches.

use core::sync::atomic::{AtomicUsize, Ordering};

use super::Entries;
use crate::error::Error;
use crate::format::{Entry, LOADING, OP, SWITCH};
use crate::platform::platform;

/// The number of times in a transaction that the library asks the platform about a single page. After that, the library asks about [`FAR`] bytes at
/// once, which costs more. (The caller is then looking at arms or stubs, or at all sites of an object, and most of these lie close together.)
const CHEAP: usize = 8;
const FAR: usize = 128 * 1024;
/// A patchable has many sites if it has more sites than this. If these sites lie close together, the library asks the platform about all of them at
/// once.
const MANY: usize = 32;
/// Sites lie close together if there are at most this many bytes for each of them. Otherwise most pages between them have no site.
const CLOSE: usize = 8192;

/// The beginning and the end of a stretch.
type Stretch = [AtomicUsize; 2];

/// The last stretch that the platform returned for a site. Callers ask about sites in the order of their addresses, so one stretch is enough.
static SITES: Stretch = [const { AtomicUsize::new(0) }; 2];
/// The last stretch that the platform returned for arms, or for words in front of stubs.
static OTHERS: Stretch = [const { AtomicUsize::new(0) }; 2];
static ASKED: AtomicUsize = AtomicUsize::new(0);

/// Forgets all stretches.
#[cfg_attr(target_os = "none", inline(never))]
pub(crate) fn forget() {
    ASKED.store(0, Ordering::Relaxed);
    SITES[1].store(0, Ordering::Relaxed);
    OTHERS[1].store(0, Ordering::Relaxed);
}

fn known(stretch: &Stretch) -> [usize; 2] {
    let [start, end] = stretch;
    [start.load(Ordering::Relaxed), end.load(Ordering::Relaxed)]
}

/// The end of a stretch that contains `address`. 0 if `address` cannot be read. If no known stretch contains the address, asks the platform about the
/// next `bytes` bytes, and stores the answer in `stretch`.
#[inline(never)]
fn end_of(address: usize, bytes: usize, stretch: &Stretch) -> usize {
    // There is no loop over the two stretches, because a loop would keep both on the stack, and the stack of a first flip is deepest here.
    let end_in = |stretch: &Stretch| {
        let [start, end] = known(stretch);
        (start <= address && address < end).then_some(end)
    };
    if let Some(end) = end_in(&SITES).or_else(|| end_in(&OTHERS)) {
        return end;
    }
    ASKED.fetch_add(1, Ordering::Relaxed);
    let found = platform().readable(address..address.saturating_add(bytes));
    if !found.contains(&address) {
        return 0;
    }
    let [start, end] = known(stretch);
    if found.start != end || start >= end {
        stretch[0].store(found.start, Ordering::Relaxed);
    }
    stretch[1].store(found.end, Ordering::Relaxed);
    found.end
}

/// Whether `bytes` bytes at `address` can be read.
#[cfg_attr(target_os = "none", inline(never))]
pub(crate) fn can_read(address: usize, bytes: usize) -> bool {
    is_readable(address, bytes, &OTHERS)
}

#[inline(never)]
fn is_readable(address: usize, bytes: usize, stretch: &Stretch) -> bool {
    let end = address.saturating_add(bytes);
    let mut at = address;
    while at != 0 && at < end {
        at = end_of(at, if ASKED.load(Ordering::Relaxed) < CHEAP { 1 } else { FAR }, stretch);
    }
    at != 0
}

/// The address of a part of `entry` that cannot be read: its site; the word in front of its stub; or the list of arms, if the list or one of the
/// arms cannot be read. `None` if everything can be read.
#[inline(never)]
pub(crate) fn hidden(entry: &Entry) -> Option<usize> {
    let mut address = entry.code();
    let mut is_hidden = !is_readable(entry.start(), entry.bytes_in_front() + read_bytes(entry), &SITES);
    if entry.loads() && !is_hidden {
        address = entry.arm_word();
        is_hidden = !can_read(address, size_of::<u32>());
    }
    if has_arms(entry) && !is_hidden {
        let word = size_of::<u32>();
        address = entry.target();
        is_hidden = !(can_read(address, word)
            && can_read(address.saturating_add(word), size_of_val(entry.arms()))
            && entry.arms().iter().all(|arm| can_read(arm.address(), arm.length())));
    }
    is_hidden.then_some(address)
}

/// Returns an error if a site of `entries` cannot be read. The caller passes entries of one patchable, in the order of their sites.
#[inline]
pub(crate) fn demand(entries: Entries<'_>) -> Result<(), Error> {
    match if are_known(entries) { None } else { first_hidden(entries) } {
        Some(address) => Err(Error::Unreadable { address }),
        None => Ok(()),
    }
}

/// Whether the library already knows that all sites of `entries` can be read. False if the library would have to ask the platform, or if `entries`
/// have arms or stubs. The caller passes entries of one patchable, in the order of their sites.
#[inline(always)] // Called for each key, in each flip.
fn are_known(entries: Entries<'_>) -> bool {
    let Some(first) = entries.get(0) else { return true };
    let from = first.start();
    let last = if entries.len() == 1 { first } else { entries.get(entries.len() - 1).unwrap_or(first) };
    // A site has seven bytes at most, so the eight bytes from its address on include it.
    let [start, end] = known(&SITES);
    start <= from && last.code().wrapping_add(8) <= end && !has_more(first) && !has_more(last)
}

/// The result of [`hidden`] for the first entry that has a part that cannot be read. `None` if all parts of all entries can be read. The caller
/// passes entries of one patchable, in the order of their sites.
#[inline(never)]
fn first_hidden(entries: Entries<'_>) -> Option<usize> {
    let last = entries.get(entries.len() - 1)?;
    let last_end = last.code().wrapping_add(8);
    // If at most this number of bytes are left up to the end of the last site, the library asks about all of them at once.
    let most = if entries.len() > MANY { CLOSE * entries.len() } else { 0 };
    for entry in entries.iter() {
        let start = entry.start();
        let bytes = last_end.wrapping_sub(start);
        let end = end_of(start, if bytes <= most { bytes } else { 1 }, &SITES);
        // A site has seven bytes at most.
        let hidden = if !has_more(entry) && entry.code().wrapping_add(8) <= end { None } else { hidden(entry) };
        // If this site can be read, and its stretch also contains the last site, the sites in between can be read, too.
        if hidden.is_some() || (!has_more(entry) && !has_more(last) && last_end <= end) {
            return hidden;
        }
    }
    None
}

/// The number of bytes that `read_code` reads at a site: two if the site has two, otherwise at least four. (The site of a lock prefix has one
/// byte, but its instruction continues after it.)
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

/// Whether the library reads more than the entry's site: arms, or the word in front of a stub. Either all entries of a patchable have arms, or none
/// has. The same holds for stubs, with one exception: C's checks without a type never have stubs, even if other checks of the same key do. Those
/// stubs lie among the sites, or directly after them.
fn has_more(entry: &Entry) -> bool {
    matches!(entry.kind(), SWITCH | OP | LOADING)
}
