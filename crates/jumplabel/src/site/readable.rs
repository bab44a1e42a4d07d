//! Whether sites can be read. If code is execute-only, a load there ends the program, and a flip blocks the signal that would say so. So
//! whoever reads what tables lead to, site or arms, asks here first.
//!
//! ```text
//!   platform    [page][page]   [========= mapping =========]   what it has said that can be read, since `forget`
//!   entries       .    .         first . . . . . . .  last     in order: if one stretch has the first and the last, it has all
//! ```
//!
//! All of this is under the lock. Protections may change between two flips, so each transaction begins with nothing known.

use core::sync::atomic::{AtomicUsize, Ordering};

use super::Entries;
use crate::format::{Entry, OP, SWITCH};
use crate::platform::platform;

/// How often the platform is asked for what is cheap to know. More sites than `MANY` are a reason to ask at once for what is not.
const CHEAP: usize = 8;
const MANY: usize = 32;

/// Where the last stretch begins and ends that was found. Sites are asked about in the order of their addresses, so one is enough.
static KNOWN: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];
static ASKED: AtomicUsize = AtomicUsize::new(0);

/// Nothing is known any more.
pub(crate) fn forget() {
    ASKED.store(0, Ordering::Relaxed);
    KNOWN[1].store(0, Ordering::Relaxed);
}

fn known() -> [usize; 2] {
    KNOWN.each_ref().map(|word| word.load(Ordering::Relaxed))
}

/// Where the stretch ends that `address` is in and that can be read; 0 if it cannot. `far`: much else is going to be asked for.
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

/// What of an entry cannot be read: its site, or its arms.
#[inline(never)]
pub(crate) fn hidden(entry: &Entry) -> Option<usize> {
    let mut address = entry.code();
    let mut is_readable = can_read(address, read_bytes(entry));
    if has_arms(entry) && is_readable {
        let word = size_of::<u32>();
        address = entry.target();
        is_readable = can_read(address, word)
            && can_read(address.saturating_add(word), size_of_val(entry.arms()))
            && entry.arms().iter().all(|arm| can_read(arm.address(), arm.length()));
    }
    (!is_readable).then_some(address)
}

/// Whether it is known that the sites of one patchable, in their order, can be read, and nothing else has to be.
#[inline(always)] // In each flip, for each key.
pub(crate) fn are_known(entries: Entries<'_>) -> bool {
    let Some(first) = entries.get(0) else { return true };
    let from = first.code();
    let last = if entries.len() == 1 { from } else { entries.get(entries.len() - 1).map_or(from, Entry::code) };
    // Sites have seven bytes at most.
    let [start, end] = known();
    start <= from && last.wrapping_add(8) <= end && !has_arms(first)
}

/// [`hidden`], of the first of one patchable's entries, in the order of their sites, of which anything is.
#[inline(never)]
pub(crate) fn first_hidden(entries: Entries<'_>) -> Option<usize> {
    let last = entries.get(entries.len() - 1)?.code();
    for entry in entries.iter() {
        let end = end_of(entry.code(), entries.len() > MANY);
        let hidden = hidden(entry);
        // Perhaps one stretch has the rest, too.
        if hidden.is_some() || (!has_arms(entry) && last.wrapping_add(8) <= end) {
            return hidden;
        }
    }
    None
}

/// How many bytes `read_code` reads of a site: four at least, but two of a site of two bytes. (An instruction with a lock prefix has
/// four.)
pub(crate) fn read_bytes(entry: &Entry) -> usize {
    match entry.bytes() {
        #[cfg(jumplabel_short_engine)]
        2 => 2,
        bytes => bytes.max(4),
    }
}

/// Whether its target is a list of arms, in the code: all entries of a patchable are like that, or none.
fn has_arms(entry: &Entry) -> bool {
    matches!(entry.kind(), SWITCH | OP)
}
