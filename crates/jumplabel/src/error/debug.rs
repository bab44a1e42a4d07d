//! `Debug` of an error.

use core::fmt;

use super::Error;

/// Prints the same text as a derived `Debug`, which would take twice as much code, because it has separate code for each name. The size matters
/// because every program that calls `unwrap` contains this code.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct(self.name());
        let (name, number): (_, &dyn fmt::Debug) = match self {
            Error::Denied { refused } => ("refused", refused),
            Error::ForeignBytes { address, expected, found } => {
                text.field("address", address).field("expected", expected);
                ("found", found)
            }
            Error::Circular { address }
            | Error::NotCode { address }
            | Error::UnfitAlternative { address }
            | Error::Unreadable { address }
            | Error::OutOfRange { address }
            | Error::CopiedCode { address }
            | Error::RollbackFailed { address } => ("address", address),
            Error::Counted { count } => ("count", count),
            Error::SeveralKeys { count } => ("count", count),
            Error::NoSuchMode { count } => ("count", count),
            Error::UnfitOp { op } => ("op", op),
            Error::MultiThreaded { core_sync, remap } => {
                text.field("core_sync", core_sync);
                ("remap", remap)
            }
            Error::DamagedTable { entry } => ("entry", entry),
            Error::UnknownKind { entry, kind } => {
                text.field("entry", entry);
                ("kind", kind)
            }
            Error::NoBounds { object } => ("object", object),
            Error::NoSuchCpu { cpu } => ("cpu", cpu),
            Error::BatchFull { capacity } => ("capacity", capacity),
            Error::TooEarly
            | Error::NoPlatform
            | Error::NoWriter
            | Error::UnknownWriter
            | Error::Reentrant
            | Error::Overflow
            | Error::Underflow
            | Error::Sealed
            | Error::IsTable
            | Error::NoSuchKey
            | Error::NoRecords
            | Error::OutOfMemory => return text.finish(),
        };
        text.field(name, number).finish()
    }
}

impl Error {
    /// The name of the variant.
    #[inline(never)] // If this were inlined, `fmt` would contain a copy of the code after the call for each name.
    const fn name(&self) -> &'static str {
        match self {
            Error::Denied { .. } => "Denied",
            Error::ForeignBytes { .. } => "ForeignBytes",
            Error::Circular { .. } => "Circular",
            Error::TooEarly => "TooEarly",
            Error::NoPlatform => "NoPlatform",
            Error::NoWriter => "NoWriter",
            Error::UnknownWriter => "UnknownWriter",
            Error::Reentrant => "Reentrant",
            Error::Overflow => "Overflow",
            Error::Underflow => "Underflow",
            Error::Counted { .. } => "Counted",
            Error::Sealed => "Sealed",
            Error::NotCode { .. } => "NotCode",
            Error::NoSuchMode { .. } => "NoSuchMode",
            Error::IsTable => "IsTable",
            Error::UnfitOp { .. } => "UnfitOp",
            Error::UnfitAlternative { .. } => "UnfitAlternative",
            Error::Unreadable { .. } => "Unreadable",
            Error::OutOfRange { .. } => "OutOfRange",
            Error::MultiThreaded { .. } => "MultiThreaded",
            Error::DamagedTable { .. } => "DamagedTable",
            Error::CopiedCode { .. } => "CopiedCode",
            Error::NoBounds { .. } => "NoBounds",
            Error::NoSuchCpu { .. } => "NoSuchCpu",
            Error::UnknownKind { .. } => "UnknownKind",
            Error::NoSuchKey => "NoSuchKey",
            Error::SeveralKeys { .. } => "SeveralKeys",
            Error::NoRecords => "NoRecords",
            Error::OutOfMemory => "OutOfMemory",
            Error::BatchFull { .. } => "BatchFull",
            Error::RollbackFailed { .. } => "RollbackFailed",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::format;

    use crate::arch::Code;
    use crate::error::{Error, Refusal, Refusals, WriterKind};

    #[test]
    fn looks_as_derived() {
        let mut refused = Refusals::default();
        refused.note(WriterKind::Remap, Refusal::errno(13));
        let (expected, found) = (Code::new(0, &[0x0f, 0x1f]), Code::new(0, &[0xcc]));
        for (error, text) in [
            (Error::NoPlatform, "NoPlatform"),
            (Error::Counted { count: -2 }, "Counted { count: -2 }"),
            (Error::UnfitOp { op: "a" }, "UnfitOp { op: \"a\" }"),
            (Error::UnknownKind { entry: 5, kind: 9 }, "UnknownKind { entry: 5, kind: 9 }"),
            (
                Error::Denied { refused },
                "Denied { refused: Refusals([Refusal(0), Refusal(0), Refusal(13), Refusal(0)]) }",
            ),
            (
                Error::ForeignBytes { address: 7, expected, found },
                "ForeignBytes { address: 7, expected: [0f, 1f], found: [cc] }",
            ),
            (
                Error::MultiThreaded { core_sync: Refusal::errno(1), remap: Refusal::NOT_TRIED },
                "MultiThreaded { core_sync: Refusal(1), remap: Refusal(0) }",
            ),
        ] {
            assert_eq!(format!("{error:?}"), text);
        }
    }
}
