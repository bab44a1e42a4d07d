//! The description of a static call for introspection.

use core::fmt;

use super::RawCall;
use crate::format::Declaration;
use crate::key_record::Record;
use crate::key_record::name::{Number, Tail};

/// The description of a static call, as [`for_each_call`](crate::for_each_call) gives it. The texts and the call live as long as the object that
/// declares the call stays loaded.
#[derive(Clone, Copy)]
pub struct CallInfo {
    /// The path of the static, `crate::module::NAME`.
    pub path: &'static str,
    /// The path of the module that contains the declaration. [`path`](Self::path) begins with this module path.
    pub module: &'static str,
    /// The source file of the declaration.
    pub file: &'static str,
    /// The line of the `static_call!` that declares the call. If a macro of yours contains the `static_call!`, this is the line that invokes your
    /// macro.
    pub line: u32,
    /// The column in [`line`](Self::line) where the macro begins.
    pub column: u32,
    /// The address of the function that the call leads to. `None` if the call leads to its default.
    pub target: Option<usize>,
    /// The number of sites of the call: trampolines, and calls that tables list. 0 if no code calls it, and in a build without trampolines.
    pub sites: usize,
    /// The call.
    pub call: &'static RawCall,
}

impl CallInfo {
    /// # Safety
    /// `record` is the record of a static call.
    pub(crate) unsafe fn of(record: &Record, sites: usize) -> CallInfo {
        // SAFETY: the caller passes the record of a static call.
        let call: &'static RawCall = unsafe { record.patchable(0) };
        let &Declaration { line, column, .. } = record.declaration();
        let target = Some(call.function(call.target())).filter(|&target| target != 0);
        CallInfo {
            path: record.path(),
            module: record.module(),
            file: record.file(),
            line,
            column,
            target,
            sites,
            call,
        }
    }

    /// Returns the name of the function that the call leads to, as the dynamic loader knows it. The loader knows only exported functions. Returns
    /// `None` for other functions, which a debugger or `addr2line` can name, and if the call leads to its default.
    ///
    /// Calls the dynamic loader, so do not use it under the [`Lock`](crate::Lock) or in signal handlers.
    #[must_use]
    pub fn symbol(&self) -> Option<&'static core::ffi::CStr> {
        crate::platform::platform().symbol(self.target?)
    }
}

/// Shows the path, and the function that the call leads to: `crate::HOOK -> 0x55d1c3a0 (strlen)`, or `crate::HOOK -> default`. The alternate form
/// (`{:#}`) has the place of the declaration after the path: `crate::HOOK@src/main.rs:7:5`.
impl fmt::Display for CallInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.path)?;
        Tail { element: None, place: f.alternate().then_some((self.file, self.line, self.column)) }.fmt(f)?;
        let Some(target) = self.target else { return f.write_str(" -> default") };
        write!(f, " -> {target:#x}")?;
        self.symbol().and_then(|name| name.to_str().ok()).map_or(Ok(()), |name| write!(f, " ({name})"))
    }
}

impl fmt::Debug for CallInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:#}, {}", Number(self.sites, "site"))
    }
}
