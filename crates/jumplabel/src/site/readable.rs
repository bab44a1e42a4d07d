//! Whether sites can be read. Code can be execute-only. A load from such code ends the program, because a flip blocks the signal that would
//! report the fault. So whoever reads a site, or arms, that a table leads to asks here first.
//!
//! ```text
//!   platform    [page][page]   [========= mapping =========]   stretches that can be read, as it has said since `forget`
//!   entries       .    .         first . . . . . . .  last     in order: if one stretch holds the first and the last, it holds all
//! ```
//!
//! All of this is called under the lock. Protections can change between two flips, so each transaction begins with nothing known.

use core::sync::atomic::{AtomicUsize, Ordering};

use super::Entries;
use crate::format::{Entry, OP, SWITCH};
use crate::platform::platform;

/// In a transaction, the platform is asked this many times for an answer that is cheap. After that, it is asked to look farther, which
/// costs more.
const CHEAP: usize = 8;
/// If a patchable has more sites than this, the platform is asked to look farther at once.
const MANY: usize = 32;

/// Where the last stretch that was found begins and ends. Sites are asked about in the order of their addresses, so one stretch is enough.
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

/// The end of the stretch that holds `address` and can be read. 0 if `address` cannot be read. `far`: the caller is going to ask for much
/// else, so the platform looks farther at once.
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

/// The address of what cannot be read of an entry: its site, or its arms. `None` if all can be read.
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

/// Whether it is already known that all sites of `entries` can be read, and there are no arms to be read. `entries` are those of one
/// patchable, in the order of their sites.
#[inline(always)] // Called for each key, in each flip.
pub(crate) fn are_known(entries: Entries<'_>) -> bool {
    let Some(first) = entries.get(0) else { return true };
    let from = first.code();
    let last = if entries.len() == 1 { from } else { entries.get(entries.len() - 1).map_or(from, Entry::code) };
    // Sites have seven bytes at most.
    let [start, end] = known();
    start <= from && last.wrapping_add(8) <= end && !has_arms(first)
}

/// What [`hidden`] returns for the first entry that has something hidden. `entries` are those of one patchable, in the order of their
/// sites.
#[inline(never)]
pub(crate) fn first_hidden(entries: Entries<'_>) -> Option<usize> {
    let last = entries.get(entries.len() - 1)?.code();
    for entry in entries.iter() {
        let end = end_of(entry.code(), entries.len() > MANY);
        let hidden = hidden(entry);
        // If nothing is hidden, the search ends early if this stretch holds the rest, too.
        if hidden.is_some() || (!has_arms(entry) && last.wrapping_add(8) <= end) {
            return hidden;
        }
    }
    None
}

/// How many bytes `read_code` reads of a site: two if the site has two, otherwise at least four. (An instruction with a lock prefix has
/// four.)
pub(crate) fn read_bytes(entry: &Entry) -> usize {
    match entry.bytes() {
        #[cfg(jumplabel_short_engine)]
        2 => 2,
        bytes => bytes.max(4),
    }
}

/// Whether the entry's target is a list of arms, in the code. That is so for all entries of a patchable, or for none.
fn has_arms(entry: &Entry) -> bool {
    matches!(entry.kind(), SWITCH | OP)
}
