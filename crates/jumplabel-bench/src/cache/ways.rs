//! The ways to make a check, each in two programs.
//!
//! ```text
//!   one place     a loop around one check, as in the note: the loads load flag number n, and the key is always the same
//!   N places      N functions with one check each, called one after the other: check number n has its own flag, site or naked key
//! ```

use std::arch::asm;
use std::sync::atomic::{AtomicBool, Ordering};

use jumplabel::{naked_key, static_branch_unlikely, static_key};

use super::writer::WRITTEN;
use crate::Result;
use crate::site::cold::{Cell, cell};
use crate::site::decode::Path;

/// The number of checks that follow each other. There are as many flags.
pub const CHECKS: usize = 1000;

/// A flag on a cache line of its own. It also occupies the next line, because some processors fetch lines in pairs.
#[repr(align(128))]
struct Flag(AtomicBool);

static FLAGS: [Flag; CHECKS] = [const { Flag(AtomicBool::new(false)) }; CHECKS];

static_key! {
    static KEY: false;
    static KEYS: [false; CHECKS];
}
naked_key! { static NAKED: false; }

/// Stores values that the compiler does not know. Without these stores, the compiler would take the flags for constants.
pub fn store() {
    FLAGS.iter().for_each(|flag| flag.0.store(std::hint::black_box(false), Ordering::Relaxed));
}

/// Loads the flag without an atomic operation.
fn plain(flag: &AtomicBool) -> bool {
    // SAFETY: nobody writes the flag while it is read. The compiler does not know that, because the load is volatile.
    unsafe { flag.as_ptr().read_volatile() }
}

/// The flag of a check of the program with one place. Callers pass numbers below [`CHECKS`]. A bounds check would add instructions to the measured
/// check.
#[inline(always)]
fn flag(at: usize) -> &'static AtomicBool {
    debug_assert!(at < CHECKS);
    // SAFETY: callers pass numbers below `CHECKS`.
    unsafe { &FLAGS.get_unchecked(at).0 }
}

/// A way to make a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Constant,
    Naked,
    Site,
    Plain,
    Relaxed,
    Acquire,
    SeqCst,
    /// A relaxed load of a flag on a line that another thread writes.
    Written,
}

/// The ways in the order of the report. `Written` is missing, because only `shared_line` has a thread that writes.
pub const WAYS: [Way; 7] = [Way::Constant, Way::Naked, Way::Site, Way::Plain, Way::Relaxed, Way::Acquire, Way::SeqCst];

impl Way {
    pub fn name(self) -> &'static str {
        match self {
            Way::Constant => "constant",
            Way::Naked => "naked key",
            Way::Site => "site",
            Way::Plain => "plain load",
            Way::Relaxed => "relaxed load",
            Way::Acquire => "acquire load",
            Way::SeqCst => "SeqCst load",
            Way::Written => "relaxed load, another thread writes beside it",
        }
    }
}

/// Makes the checks from the first number (included) up to the second (not included).
pub type Run = fn(usize, usize) -> u64;

/// One of the two programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    OnePlace,
    Places,
}

pub const PROGRAMS: [Program; 2] = [Program::OnePlace, Program::Places];

impl Program {
    pub fn name(self) -> &'static str {
        match self {
            Program::OnePlace => "one_place",
            Program::Places => "places",
        }
    }
}

/// Tells the compiler that the arm is unlikely, so that it places the arm out of line.
#[cold]
#[inline]
fn unlikely() {}

macro_rules! one_place {
    ($name:ident, $at:ident, $check:expr) => {
        #[inline(never)]
        fn $name(from: usize, to: usize) -> u64 {
            let (mut $at, mut hits) = (from, 0_u64);
            while $at < to {
                if $check {
                    unlikely();
                    // SAFETY: an increment of a register.
                    unsafe { asm!("inc {}", inout(reg) hits, options(nomem, nostack)) };
                }
                // The assembler keeps the compiler from removing the loop.
                // SAFETY: an increment of a register.
                unsafe { asm!("inc {}", inout(reg) $at, options(nomem, nostack)) };
            }
            hits
        }
    };
}

one_place!(constant, at, false);
one_place!(naked, at, NAKED.get());
one_place!(site, at, static_branch_unlikely!(KEY));
one_place!(plain_load, at, plain(flag(at)));
one_place!(relaxed, at, flag(at).load(Ordering::Relaxed));
one_place!(acquire, at, flag(at).load(Ordering::Acquire));
one_place!(seq_cst, at, flag(at).load(Ordering::SeqCst));
one_place!(written, at, WRITTEN.flag.load(Ordering::Relaxed));

cell!(constant_cell, N, false);
cell!(site_cell, N, static_branch_unlikely!(KEYS[N]));
cell!(plain_cell, N, plain(&FLAGS[N].0));
cell!(relaxed_cell, N, FLAGS[N].0.load(Ordering::Relaxed));
cell!(acquire_cell, N, FLAGS[N].0.load(Ordering::Acquire));
cell!(seq_cst_cell, N, FLAGS[N].0.load(Ordering::SeqCst));

/// A cell that checks a naked key of its own.
#[cfg(not(debug_assertions))]
macro_rules! naked_cell {
    ($at:expr) => {{
        naked_key! { static KEY: false; }
        cell!(naked_cell, N, KEY.get());
        naked_cell::<{ $at }> as Cell
    }};
}

/// Without optimisation nothing is measured. So all cells share one naked key: a thousand declarations would double the time to compile.
#[cfg(debug_assertions)]
macro_rules! naked_cell {
    ($at:expr) => {
        shared_cell::<{ $at }> as Cell
    };
}
#[cfg(debug_assertions)]
cell!(shared_cell, N, NAKED.get());

macro_rules! numbered {
    ($name:ident $at:expr) => {
        $name::<{ $at }> as Cell
    };
}

/// Makes a list of ten results of `$then!`, one for each of ten numbers. The lists of a hundred and of a thousand results are made of such lists.
macro_rules! tens {
    ($then:ident ($($first:tt)*) $at:expr) => {
        [
            $then!($($first)* 10 * $at), $then!($($first)* 10 * $at + 1), $then!($($first)* 10 * $at + 2),
            $then!($($first)* 10 * $at + 3), $then!($($first)* 10 * $at + 4), $then!($($first)* 10 * $at + 5),
            $then!($($first)* 10 * $at + 6), $then!($($first)* 10 * $at + 7), $then!($($first)* 10 * $at + 8),
            $then!($($first)* 10 * $at + 9),
        ]
    };
}

macro_rules! places {
    ($($name:ident $cells:ident $one:ident ($($word:ident)?);)*) => { $(
        static $cells: [[[Cell; 10]; 10]; 10] = tens!(tens (tens ($one ($($word)?))) 0);

        fn $name(from: usize, to: usize) -> u64 {
            $cells.as_flattened().as_flattened()[from..to].iter().fold(1, |x, cell| cell(x))
        }
    )* };
}

places! {
    constants CONSTANTS numbered (constant_cell);
    naked_keys NAKED_KEYS naked_cell ();
    sites SITES numbered (site_cell);
    plain_loads PLAIN_LOADS numbered (plain_cell);
    relaxed_loads RELAXED_LOADS numbered (relaxed_cell);
    acquire_loads ACQUIRE_LOADS numbered (acquire_cell);
    seq_cst_loads SEQ_CST_LOADS numbered (seq_cst_cell);
}

impl Program {
    /// The function that makes the checks. `None` if the program has no such way.
    pub fn run(self, way: Way) -> Option<Run> {
        Some(match (self, way) {
            (Program::OnePlace, Way::Constant) => constant,
            (Program::OnePlace, Way::Naked) => naked,
            (Program::OnePlace, Way::Site) => site,
            (Program::OnePlace, Way::Plain) => plain_load,
            (Program::OnePlace, Way::Relaxed) => relaxed,
            (Program::OnePlace, Way::Acquire) => acquire,
            (Program::OnePlace, Way::SeqCst) => seq_cst,
            (Program::OnePlace, Way::Written) => written,
            (Program::Places, Way::Constant) => constants,
            (Program::Places, Way::Naked) => naked_keys,
            (Program::Places, Way::Site) => sites,
            (Program::Places, Way::Plain) => plain_loads,
            (Program::Places, Way::Relaxed) => relaxed_loads,
            (Program::Places, Way::Acquire) => acquire_loads,
            (Program::Places, Way::SeqCst) => seq_cst_loads,
            (Program::Places, Way::Written) => return None,
        })
    }

    /// The number of instructions, and the number of loads among them, in one turn of the loop or in one of the N functions. The code around the
    /// check is included.
    fn path(self, way: Way) -> Result<[usize; 2]> {
        let path = match self {
            Program::OnePlace => Path::of_loop(self.run(way).map_or(0, |run| run as usize))?,
            Program::Places => Path::of_call(places(way)[CHECKS / 2] as usize),
        };
        Ok([path.len(), path.loads()])
    }
}

fn places(way: Way) -> &'static [Cell] {
    let cells = match way {
        Way::Constant | Way::Written => &CONSTANTS,
        Way::Naked => &NAKED_KEYS,
        Way::Site => &SITES,
        Way::Plain => &PLAIN_LOADS,
        Way::Relaxed => &RELAXED_LOADS,
        Way::Acquire => &ACQUIRE_LOADS,
        Way::SeqCst => &SEQ_CST_LOADS,
    };
    cells.as_flattened().as_flattened()
}

/// The instructions and loads of each way, minus those of a constant. Returns an error if the compiler made code that does not fit the way's name.
pub fn code() -> Result<Vec<(Program, Way, [usize; 2])>> {
    let mut code = Vec::new();
    for program in PROGRAMS {
        let [base, _] = program.path(Way::Constant)?;
        for way in WAYS.into_iter().chain([Way::Written]).filter(|&way| program.run(way).is_some()) {
            let [instructions, loads] = program.path(way)?;
            let more = instructions.wrapping_sub(base);
            let right = match way {
                Way::Constant => more == 0 && loads == 0,
                Way::Site => more == 1 && loads == 0,
                // A naked key is a call, the two instructions of the called function, a test and a branch. A caller that calls nothing else also
                // needs instructions that keep `x` during the call.
                Way::Naked => (5..12).contains(&more) && loads == 0,
                _ => (2..6).contains(&more) && loads == 1,
            };
            if !right {
                let (way, program) = (way.name(), program.name());
                return Err(format!("{way} in {program} is {more} instructions and {loads} loads: not measured").into());
            }
            code.push((program, way, [more, loads]));
        }
    }
    Ok(code)
}
