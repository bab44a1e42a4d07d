//! Says whether sites can be read. Code can be execute-only. A load from such code faults, and ends the program, because a flip blocks the
//! signal that would report the fault. So whoever is going to read a site or arms asks here first. A *stretch* is a range of addresses that
//! can be read, as the platform says. It is a page or, if the caller is going to ask about much else after it, several pages.
//!
//! ```text
//!   platform    [page][page]   [======= pages =======][======= pages =======]   the last stretch since `forget`; one that goes on
//!   entries       .    .         first . . . . . . . . . . . . . .  last        where the last one ends makes that one longer
//! ```
//!
//! The caller asks about entries in the order of their addresses: if the stretch holds the first and the last, it holds all. Arms and the
//! words in front of stubs have a stretch of their own, because they can lie far from their sites.
//!
//! All of this is called under the lock. Protections can change between two flips, so each transaction begins with nothing known.

use core::sync::atomic::{AtomicUsize, Ordering};

use super::Entries;
use crate::error::Error;
use crate::format::{Entry, LOADING, OP, SWITCH};
use crate::platform::platform;

/// This many times in a transaction, the platform is asked for a page. After that, it is asked for a stretch of [`FAR`] bytes, which costs
/// more. (The caller is looking at arms or stubs, or at all sites of an object: most of what it asks for lies close together.)
const CHEAP: usize = 8;
const FAR: usize = 128 * 1024;
/// If a patchable has more sites than this, and they lie close together, the platform is asked for all of them at once.
const MANY: usize = 32;
/// Sites lie close together if there are no more bytes than this for each of them. Otherwise most pages between them have no site.
const CLOSE: usize = 8192;

/// Where a stretch begins and ends.
type Stretch = [AtomicUsize; 2];

/// The last stretch that was asked for because of a site. Callers ask about sites in the order of their addresses, so one is enough.
static SITES: Stretch = [const { AtomicUsize::new(0) }; 2];
/// The last stretch that was asked for because of arms or stubs.
static OTHERS: Stretch = [const { AtomicUsize::new(0) }; 2];
static ASKED: AtomicUsize = AtomicUsize::new(0);

/// Forgets what is known.
pub(crate) fn forget() {
    ASKED.store(0, Ordering::Relaxed);
    SITES[1].store(0, Ordering::Relaxed);
    OTHERS[1].store(0, Ordering::Relaxed);
}

fn known(stretch: &Stretch) -> [usize; 2] {
    stretch.each_ref().map(|word| word.load(Ordering::Relaxed))
}

/// The end of a stretch that holds `address`. 0 if `address` cannot be read. If no stretch is known that holds it, notes the one that the
/// platform names as `stretch`. The caller is going to ask about `bytes` bytes, or as many as it takes to come to what it looks for.
#[inline(never)]
fn end_of(address: usize, bytes: usize, stretch: &Stretch) -> usize {
    for [start, end] in [known(&SITES), known(&OTHERS)] {
        if start <= address && address < end {
            return end;
        }
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

/// The address of a part of `entry` that cannot be read: its site, the word in front of its stub or, if some arm or the list of arms cannot
/// be read, that list. `None` if all can be read.
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

/// Whether all sites of `entries` are known to be readable without another question to the platform. False if `entries` have arms or stubs.
/// The caller passes entries of one patchable, in the order of their sites.
#[inline(always)] // Called for each key, in each flip.
fn are_known(entries: Entries<'_>) -> bool {
    let Some(first) = entries.get(0) else { return true };
    let from = first.start();
    let last = if entries.len() == 1 { first } else { entries.get(entries.len() - 1).unwrap_or(first) };
    // A site has seven bytes at most, so the eight bytes from its address on include it.
    let [start, end] = known(&SITES);
    start <= from && last.code().wrapping_add(8) <= end && !has_more(first) && !has_more(last)
}

/// What [`hidden`] returns for the first entry that cannot be read. `None` if all can. The caller passes entries of one patchable, in the
/// order of their sites.
#[inline(never)]
fn first_hidden(entries: Entries<'_>) -> Option<usize> {
    let (count, last) = (entries.len(), entries.get(entries.len() - 1)?);
    let last_end = last.code().wrapping_add(8);
    for entry in entries.iter() {
        let start = entry.start();
        let bytes = last_end.wrapping_sub(start);
        let end = end_of(start, if count > MANY && bytes <= CLOSE * count { bytes } else { 1 }, &SITES);
        // A site has seven bytes at most.
        let hidden = if !has_more(entry) && entry.code().wrapping_add(8) <= end { None } else { hidden(entry) };
        // If this entry can be read, and its stretch holds the last site, too, the entries in between need no look.
        if hidden.is_some() || (!has_more(entry) && !has_more(last) && last_end <= end) {
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
