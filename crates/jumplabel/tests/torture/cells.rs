//! The cells of the table: the keys that are flipped, and the places of their sites. Each is visited again and again, with every writer.

use crate::sites::*;

/// The way in which the keys of a cell are flipped.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// One by one.
    Single,
    /// All in one transaction, and now and then one alone in between.
    Batch,
    /// By three threads at once: `inc` and `dec` of a key that they share, and flips of one of their own.
    Counted,
    /// By a writer that refuses in the middle of the transaction: all sites must be old again.
    Refused,
    /// Static calls, led elsewhere: one by one, or all in one transaction.
    #[cfg(target_arch = "x86_64")]
    Retarget,
    /// The same, refused in the middle.
    #[cfg(target_arch = "x86_64")]
    RetargetRefused,
}

impl Kind {
    /// Whether static calls are led elsewhere, and no key is flipped.
    #[cfg(target_arch = "x86_64")]
    pub fn is_retarget(self) -> bool {
        matches!(self, Kind::Retarget | Kind::RetargetRefused)
    }
}

/// One cell.
pub struct Cell {
    /// The place of the sites, or another property of the cell.
    pub name: &'static str,
    /// Sites of a flip.
    pub sites: usize,
    pub kind: Kind,
    pub arrays: &'static [&'static Array],
}

const fn single(name: &'static str, sites: usize, arrays: &'static [&'static Array]) -> Cell {
    Cell { name, sites, kind: Kind::Single, arrays }
}

const fn batch(sites: usize, arrays: &'static [&'static Array]) -> Cell {
    Cell { name: "batch", sites, kind: Kind::Batch, arrays }
}

/// The number of cells with short sites.
const SHORT: usize = 5 * cfg!(all(unix, any(target_arch = "x86_64", target_arch = "x86"))) as usize;

static BATCH: [&Array; 6] =
    [&batch_1::ARRAY, &batch_2::ARRAY, &batch_255::ARRAY, &batch_256::ARRAY, &batch_257::ARRAY, &batch_10000::ARRAY];

#[cfg(target_arch = "x86_64")]
const fn retarget(name: &'static str, sites: usize, kind: Kind) -> Cell {
    Cell { name, sites, kind, arrays: &[] }
}

pub static CELLS: [Cell; 26 + SHORT + 3 * cfg!(target_arch = "x86_64") as usize] = [
    single("start", 1, &[&start_1::ARRAY]),
    single("start", 64, &[&start_64::ARRAY]),
    single("start", 10_000, &[&start_10000::ARRAY]),
    single("crosses 8", 1, &[&cross8_1::ARRAY]),
    single("crosses 8", 64, &[&cross8_64::ARRAY]),
    single("crosses 8", 10_000, &[&cross8_10000::ARRAY]),
    single("crosses 16", 1, &[&cross16_1::ARRAY]),
    single("crosses 16", 64, &[&cross16_64::ARRAY]),
    single("crosses 16", 10_000, &[&cross16_10000::ARRAY]),
    single("crosses 32", 1, &[&cross32_1::ARRAY]),
    single("crosses 32", 64, &[&cross32_64::ARRAY]),
    single("crosses 32", 10_000, &[&cross32_10000::ARRAY]),
    single("crosses 64", 1, &[&cross64_1::ARRAY]),
    single("crosses 64", 64, &[&cross64_64::ARRAY]),
    single("crosses 64", 10_000, &[&cross64_10000::ARRAY]),
    single("crosses page", 1, &[&page_1::ARRAY]),
    single("crosses page", 64, &[&page_64::ARRAY]),
    single("crosses page", 10_000, &[&page_10000::ARRAY]),
    batch(1, BATCH.split_at(1).0),
    batch(2, BATCH.split_at(2).0),
    batch(255, BATCH.split_at(3).0),
    batch(256, BATCH.split_at(4).0),
    batch(257, BATCH.split_at(5).0),
    batch(10_000, &BATCH),
    Cell { name: "counted", sites: 64, kind: Kind::Counted, arrays: &[&counted::ARRAY] },
    Cell { name: "refused", sites: 64, kind: Kind::Refused, arrays: &[&cross64_64::ARRAY, &page_64::ARRAY] },
    #[cfg(all(unix, any(target_arch = "x86_64", target_arch = "x86")))]
    single("short", 1, &[&short::short_1::ARRAY]),
    #[cfg(all(unix, any(target_arch = "x86_64", target_arch = "x86")))]
    single("short", 64, &[&short::short_64::ARRAY, &short::short_page::ARRAY]),
    #[cfg(all(unix, any(target_arch = "x86_64", target_arch = "x86")))]
    single("short", 10_000, &[&short::short_10000::ARRAY]),
    // Sites of both sizes in one transaction.
    #[cfg(all(unix, any(target_arch = "x86_64", target_arch = "x86")))]
    Cell {
        name: "short and long",
        sites: 128,
        kind: Kind::Batch,
        arrays: &[&short::short_64::ARRAY, &cross64_64::ARRAY],
    },
    #[cfg(all(unix, any(target_arch = "x86_64", target_arch = "x86")))]
    Cell {
        name: "short, refused",
        sites: 64,
        kind: Kind::Refused,
        arrays: &[&short::short_64::ARRAY, &page_64::ARRAY],
    },
    #[cfg(target_arch = "x86_64")]
    retarget("retarget", 1, Kind::Retarget),
    #[cfg(target_arch = "x86_64")]
    retarget("retarget", 32, Kind::Retarget),
    #[cfg(target_arch = "x86_64")]
    retarget("no retarget", 32, Kind::RetargetRefused),
];
