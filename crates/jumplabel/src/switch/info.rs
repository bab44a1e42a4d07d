//! The description of a static mode, or of a table of operations, for introspection.

use core::fmt;

use super::RawMode;
use crate::format::Declaration;
use crate::key_record::Record;
use crate::key_record::name::{Number, Tail};

/// The description of a static mode, as [`for_each_mode`](crate::for_each_mode) gives it. A table of operations is a mode, too: its backends are the
/// modes. The texts and the mode live as long as the object that declares the mode stays loaded.
#[derive(Clone, Copy)]
pub struct ModeInfo {
    /// The path of the static, `crate::module::NAME`.
    pub path: &'static str,
    /// The path of the module that contains the declaration. [`path`](Self::path) begins with this module path.
    pub module: &'static str,
    /// The source file of the declaration.
    pub file: &'static str,
    /// The line of the `static_mode!` or `ops!` that declares the mode. If a macro of yours contains this macro, the line that invokes your macro.
    pub line: u32,
    /// The column in [`line`](Self::line) where the macro begins.
    pub column: u32,
    /// The number of the current mode.
    pub number: u8,
    /// The number of modes. Each switch of the mode has the same number of arms.
    pub arms: u8,
    /// The number of sites of the mode: of its switches, or of the table's operations in place. Always 0 in a build without sites.
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

/// Shows the path, the number of the current mode, counted from 0, and the number of modes: `crate::MODE = 1 of 3`. The alternate form (`{:#}`) has
/// the place of the declaration after the path: `crate::MODE@src/main.rs:7:5`.
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
