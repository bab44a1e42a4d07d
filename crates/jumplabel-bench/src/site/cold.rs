//! The cold loop: 64 checks of 64 different keys or flags, after the caches were swept. Each check is in a function of its own.
//!
//! ```text
//!   sweep    run 2,048 other functions (at least 128 KiB of code), read twice the size of the second-level cache
//!   time     call the 64 functions once each, in a scattered order
//! ```
//!
//! The calls take most of the time, and their time is subtracted. Loads that miss can overlap with each other and with the calls, as they do in
//! programs. Each function begins at a cache line, so all variants fetch the same number of lines and differ only in the check and its data. (In
//! programs, a check with a load also needs more cache lines, because it is longer. Here it does not.)

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};

use jumplabel::{RawKey, static_branch_unlikely, static_key};

use super::checks::{Check, Flag};
use crate::sites::{Functions, site_functions};

/// The number of checks after each sweep.
pub const CELLS: usize = 64;

static_key! {
    static KEYS: [false; CELLS];
    static OR_LOAD: [false; CELLS], or_load;
    /// Keys that are never patched.
    static UNPATCHED: [false; CELLS], or_load;
}
static FLAGS: [Flag; CELLS] = [const { Flag(AtomicBool::new(false)) }; CELLS];
static FLAGS_ON: [Flag; CELLS] = [const { Flag(AtomicBool::new(false)) }; CELLS];

/// A function with one check.
pub type Cell = fn(u64) -> u64;

/// The work that a check guards. It is never inlined, so the check remains a branch.
#[cold]
#[inline(never)]
pub fn taken(x: u64) -> u64 {
    x ^ 1
}

macro_rules! cell {
    ($name:ident, $at:ident, $check:expr) => {
        #[inline(never)]
        fn $name<const $at: usize>(x: u64) -> u64 {
            // SAFETY: the code jumps to the next cache line.
            unsafe { ::std::arch::asm!($crate::isa::next_line!("64", "0"), options(nomem, nostack, preserves_flags)) };
            let x = x.wrapping_mul(5).wrapping_add($at as u64);
            if $check { $crate::site::cold::taken(x) } else { x }
        }
    };
}
pub(crate) use cell;

cell!(baseline, N, N > CELLS);
cell!(constant, N, false);
cell!(site, N, static_branch_unlikely!(KEYS[N]));
cell!(unpatched, N, static_branch_unlikely!(UNPATCHED[N]));
cell!(or_load, N, static_branch_unlikely!(OR_LOAD[N]));
cell!(relaxed, N, FLAGS[N].0.load(Ordering::Relaxed));
cell!(acquire, N, FLAGS[N].0.load(Ordering::Acquire));
cell!(seq_cst, N, FLAGS[N].0.load(Ordering::SeqCst));
cell!(relaxed_on, N, FLAGS_ON[N].0.load(Ordering::Relaxed));

/// Makes one cell for each name. Each cell checks a naked key of its own.
macro_rules! naked_cells {
    ($($name:ident)*) => {
        /// The cells with their keys.
        static NAKED: [(Cell, fn() -> &'static RawKey); CELLS] = [$({
            jumplabel::naked_key! { static KEY: false; }
            cell!($name, N, KEY.get());
            ($name::<0>, || &KEY)
        },)*];
    };
}

naked_cells! {
    n00 n01 n02 n03 n04 n05 n06 n07 n08 n09 n10 n11 n12 n13 n14 n15 n16 n17 n18 n19 n20 n21 n22 n23 n24 n25 n26 n27 n28 n29 n30 n31
    n32 n33 n34 n35 n36 n37 n38 n39 n40 n41 n42 n43 n44 n45 n46 n47 n48 n49 n50 n51 n52 n53 n54 n55 n56 n57 n58 n59 n60 n61 n62 n63
}

/// The cells of one variant. Cell number 29 * n modulo 64 is the n-th to run, so neighbours in memory do not run one after the other.
macro_rules! cells {
    ($name:ident) => {
        cells!(@ $name; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31)
    };
    (@ $name:ident; $($at:literal)*) => {
        [$($name::<{ 29 * $at % CELLS }> as Cell, $name::<{ 29 * ($at + 32) % CELLS }> as Cell,)*]
    };
}

pub fn cells_of(check: Check) -> [Cell; CELLS] {
    match check {
        Check::Baseline => cells!(baseline),
        Check::Constant => cells!(constant),
        Check::SiteOff | Check::SitePrimed | Check::SiteOn => cells!(site),
        Check::OrLoadUnpatched => cells!(unpatched),
        Check::OrLoadOff | Check::OrLoadOn => cells!(or_load),
        Check::NakedOff | Check::NakedOn => std::array::from_fn(|at| NAKED[29 * at % CELLS].0),
        Check::Relaxed => cells!(relaxed),
        Check::Acquire => cells!(acquire),
        Check::SeqCst => cells!(seq_cst),
        Check::RelaxedOn => cells!(relaxed_on),
    }
}

pub fn keys(check: Check) -> impl Iterator<Item = &'static RawKey> {
    let sites = KEYS.iter().map(|key| -> &RawKey { key });
    let or_load = OR_LOAD.iter().map(|key| -> &RawKey { key });
    let naked = NAKED.iter().map(|(_, key)| key());
    let (is_naked, is_or_load) = (check.is_naked(), check.is_or_load());
    let sites = (!is_naked && !is_or_load).then_some(sites).into_iter().flatten();
    let or_load = is_or_load.then_some(or_load).into_iter().flatten();
    sites.chain(or_load).chain(is_naked.then_some(naked).into_iter().flatten())
}

/// Stores to the flags. [`super::checks::store`] has the reason.
pub fn store() {
    super::checks::store(&FLAGS, false);
    super::checks::store(&FLAGS_ON, true);
}

site_functions!("bench_sweep", 2048, 128, test);

unsafe extern "C" {
    fn bench_sweep();
}

/// Memory and code that replace everything else in the caches.
pub struct Sweep {
    memory: Vec<u64>,
}

impl Sweep {
    pub fn new() -> Sweep {
        Sweep { memory: vec![1; 2 * crate::machine::second_level_cache() / size_of::<u64>()] }
    }

    pub fn sweep(&mut self) {
        let code = Functions { first: bench_sweep as *const () as usize, count: 2048, apart: 128 };
        for at in 0..code.count {
            black_box(code.call(at));
        }
        // Changes a word of each cache line.
        for word in self.memory.iter_mut().step_by(8) {
            *word = word.wrapping_add(1);
        }
        black_box(&self.memory);
    }
}

/// Runs all cells once.
#[inline(never)]
pub fn pass(cells: &[Cell; CELLS]) -> u64 {
    cells.iter().fold(1, |x, cell| cell(x))
}
