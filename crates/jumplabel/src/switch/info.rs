//! The description of a static mode for introspection.

use core::fmt;

use super::RawMode;
use crate::format::Declaration;
use crate::key_record::Record;
use crate::key_record::name::{Number, Tail};

/// A static mode, as introspection shows it. The texts and the mode live as long as the object that declares it stays loaded.
#[derive(Clone, Copy)]
pub struct ModeInfo {
    /// Path of the static, `crate::module::NAME`.
    pub path: &'static str,
    /// The module of the declaration. The path begins with it.
    pub module: &'static str,
    /// Source file of the declaration.
    pub file: &'static str,
    /// The line of the `static_mode!` that declares the mode. If a macro of yours contains the `static_mode!`, this is the line that invokes your
    /// macro.
    pub line: u32,
    /// The column in [`line`](Self::line) where the macro begins.
    pub column: u32,
    /// The number of the current mode.
    pub number: u8,
    /// The number of modes. Each switch has this number of arms.
    pub arms: u8,
    /// The number of switches of the mode. Always 0 in a build without sites.
    pub sites: usize,
    /// The mode.
    pub mode: &'static RawMode,
}

impl ModeInfo {
    /// # Safety
    /// `record` is the record of a mode.
    pub(crate) unsafe fn of(record: &Record, sites: usize) -> ModeInfo {
        // SAFETY: the caller passes the record of a mode.
        let mode: &'static RawMode = unsafe { record.patchable(0) };
        let &Declaration { line, column, .. } = record.declaration();
        ModeInfo {
            path: record.path(),
            module: record.module(),
            file: record.file(),
            line,
            column,
            number: mode.get(),
            arms: mode.count(),
            sites,
            mode,
        }
    }
}

/// The path, and the number of the mode, counted from 0: `crate::MODE = 1 of 3`. The alternate form (`{:#}`) has the place of the
/// declaration after the path: `crate::MODE@src/main.rs:7:5`.
impl fmt::Display for ModeInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.path)?;
        Tail { element: None, place: f.alternate().then_some((self.file, self.line, self.column)) }.fmt(f)?;
        write!(f, " = {} of {}", self.number, self.arms)
    }
}

impl fmt::Debug for ModeInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:#}, {}", Number(self.sites, "site"))
    }
}
