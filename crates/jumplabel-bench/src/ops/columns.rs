//! The columns that are compared. A column is a way to do the operations, with the backend of the tables.

use jumplabel::up;
use jumplabel_paravirt::irq::{IRQ, Interrupts};
use jumplabel_paravirt::lock::{LOCK, Locking};
use jumplabel_paravirt::pte::{DISTANCE, PTE, Paging};

use super::load::{DENSE, LAYOUTS, SPARSE, reset, turns, word};
use super::sites;
use super::ways::{Direct, InPlace, Indirect, Mixed, Plain, Static, Up};
use crate::Result;
use crate::placed::Loop;

/// The backend of the tables, in UP mode or not.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Backend {
    Native,
    Closed,
    Open,
    /// The native backend, with the lock prefixes put in.
    Locked,
}

pub const BACKENDS: [Backend; 4] = [Backend::Native, Backend::Closed, Backend::Open, Backend::Locked];

impl Backend {
    pub fn set(self) -> Result<()> {
        let at = self as usize % 3;
        LOCK.set([Locking::Ticket, Locking::Byte, Locking::Called][at])?;
        IRQ.set([Interrupts::Native, Interrupts::Masked, Interrupts::Called][at])?;
        PTE.set([Paging::Native, Paging::Moved, Paging::Called][at])?;
        sites::point(self.is_native());
        if self == Backend::Locked {
            up::leave()?
        } else {
            // SAFETY: this process starts no threads.
            unsafe { up::enter() }?
        };
        if up::is_on() == (self == Backend::Locked) {
            return Err("the lock prefixes are not as they were set".into());
        }
        reset();
        Ok(())
    }

    fn is_native(self) -> bool {
        matches!(self, Backend::Native | Backend::Locked)
    }
}

/// The loads, with the shapes of their loops.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Load {
    /// The lock-dense load. The functions that lock and unlock are out of line.
    Dense,
    /// The lock-dense load. The functions that lock and unlock are inlined.
    Inlined,
    /// The sparse load, out of line.
    Sparse,
}

pub const LOADS: [Load; 3] = [Load::Dense, Load::Inlined, Load::Sparse];

impl Load {
    pub fn name(self) -> &'static str {
        ["lock-dense, out of line", "lock-dense, inlined", "sparse, out of line"][self as usize]
    }

    /// The number of turns in one sample, which takes about 20 us.
    pub fn turns(self) -> u64 {
        [400, 400, 8][self as usize]
    }
}

/// A way to do the operations, with its backend.
pub struct Column {
    pub name: &'static str,
    pub backend: Backend,
    of: fn(Load) -> Option<[Loop; LAYOUTS]>,
}

impl Column {
    /// Checks that turns do the work of the backend: compares the values that they read, and the final state of the lock.
    pub fn verify(&self, load: Load) -> Result<()> {
        let Some(loops) = self.loops(load) else { return Ok(()) };
        for run in loops {
            reset();
            let read = run(3);
            let expected =
                if self.backend.is_native() { (3, 0x0003_0003) } else { (3_u64.wrapping_sub(3 * DISTANCE), 0) };
            if (read, word()) != expected {
                return Err(format!("{}, {:?}: read {read:#x}, lock {:#x}", self.name, self.backend, word()).into());
            }
        }
        Ok(())
    }

    /// The loop in each layout. `None` if the column does not have this load.
    pub fn loops(&self, load: Load) -> Option<[Loop; LAYOUTS]> {
        (self.of)(load)
    }
}

macro_rules! layouts {
    ($way:ty, $inlined:literal, $words:ident, $copy:literal) => {
        [
            turns::<$way, $inlined, { $words }, $copy, 0>,
            turns::<$way, $inlined, { $words }, $copy, 1>,
            turns::<$way, $inlined, { $words }, $copy, 2>,
            turns::<$way, $inlined, { $words }, $copy, 3>,
            turns::<$way, $inlined, { $words }, $copy, 4>,
            turns::<$way, $inlined, { $words }, $copy, 5>,
            turns::<$way, $inlined, { $words }, $copy, 6>,
            turns::<$way, $inlined, { $words }, $copy, 7>,
            turns::<$way, $inlined, { $words }, $copy, 8>,
            turns::<$way, $inlined, { $words }, $copy, 9>,
            turns::<$way, $inlined, { $words }, $copy, 10>,
            turns::<$way, $inlined, { $words }, $copy, 11>,
            turns::<$way, $inlined, { $words }, $copy, 12>,
            turns::<$way, $inlined, { $words }, $copy, 13>,
            turns::<$way, $inlined, { $words }, $copy, 14>,
            turns::<$way, $inlined, { $words }, $copy, 15>,
        ]
    };
}

/// Makes a column. With `dense`, the column does not have the sparse load.
macro_rules! column {
    ($name:literal $backend:ident $way:ty, $copy:literal) => {
        Column {
            name: $name,
            backend: Backend::$backend,
            of: |load| {
                Some(match load {
                    Load::Dense => layouts!($way, false, DENSE, $copy),
                    Load::Inlined => layouts!($way, true, DENSE, $copy),
                    Load::Sparse => layouts!($way, false, SPARSE, $copy),
                })
            },
        }
    };
    ($name:literal $backend:ident dense $way:ty, $copy:literal) => {
        Column {
            name: $name,
            backend: Backend::$backend,
            of: |load| match load {
                Load::Dense => Some(layouts!($way, false, DENSE, $copy)),
                Load::Inlined => Some(layouts!($way, true, DENSE, $copy)),
                Load::Sparse => None,
            },
        }
    };
}

/// The number of columns in the table of ten rows. They are the first columns.
pub const MAIN: usize = 7;
/// The indices of single columns in [`COLUMNS`].
pub const IN_PLACE: usize = 5;
pub const UP: usize = 6;
pub const BY_TABLE: usize = 7;
pub const CLOSED: usize = 8;
pub const OPEN: usize = 9;
/// The index of the first column that uses a table only to lock, or only to unlock.
pub const PARTS: usize = 10;
pub const LOCKED: usize = 14;

pub static COLUMNS: [Column; 19] = [
    column! { "no table" Native Plain, 0 },
    column! { "all but lock ops" Native Mixed<Plain, Plain, Direct>, 1 },
    column! { "direct calls" Native Direct, 2 },
    column! { "table indirect" Native Indirect, 3 },
    column! { "static call" Native Static, 4 },
    column! { "native in place" Native InPlace, 5 },
    column! { "UP mode" Native Mixed<Up, Plain, Plain>, 14 },
    column! { "table indirect" Closed dense Indirect, 3 },
    column! { "closed arms" Closed dense InPlace, 5 },
    column! { "open arms" Open dense InPlace, 5 },
    column! { "lock: direct call" Native dense Mixed<Direct, Plain, Plain>, 6 },
    column! { "lock: table indirect" Native dense Mixed<Indirect, Plain, Plain>, 7 },
    column! { "lock: static call" Native dense Mixed<Static, Plain, Plain>, 8 },
    column! { "lock: native in place" Native dense Mixed<InPlace, Plain, Plain>, 9 },
    column! { "lock: UP mode left" Locked dense Mixed<Up, Plain, Plain>, 14 },
    column! { "unlock: direct call" Native dense Mixed<Plain, Direct, Plain>, 10 },
    column! { "unlock: table indirect" Native dense Mixed<Plain, Indirect, Plain>, 11 },
    column! { "unlock: static call" Native dense Mixed<Plain, Static, Plain>, 12 },
    column! { "unlock: native in place" Native dense Mixed<Plain, InPlace, Plain>, 13 },
];
