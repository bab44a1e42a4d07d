//! Kinds of errors: a kind says what the caller can do about an error.

use super::Error;

/// The kind of an error: what a caller can do about it. [`Error::kind`] returns the kind.
///
/// An [`Error`] has the details, and its message says what to do. A program that only decides how to continue can match on the kind: later versions
/// will add errors, but hardly any kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The system refuses: continue in the old state, or try again when the system allows more. [`Error::Denied`], [`Error::MultiThreaded`],
    /// [`Error::OutOfMemory`], [`Error::RollbackFailed`].
    System,
    /// Something else is at the code, such as a debugger or a probe: remove it, and try again. [`Error::ForeignBytes`],
    /// [`Error::Unreadable`], [`Error::CopiedCode`].
    Foreign,
    /// The object was built, linked or rewritten in a way that cannot work: build it anew. [`Error::DamagedTable`],
    /// [`Error::UnknownKind`], [`Error::NoBounds`], [`Error::NoRecords`], [`Error::OutOfRange`], [`Error::UnfitOp`],
    /// [`Error::UnfitAlternative`].
    Object,
    /// The function was called too early, or while this thread is in the middle of another flip: try again later. [`Error::TooEarly`],
    /// [`Error::NoPlatform`], [`Error::Reentrant`].
    Moment,
    /// The count of a key, or the seal of a key, call or mode, forbids the change: the users of the key, call or mode disagree about its state.
    /// [`Error::Overflow`], [`Error::Underflow`], [`Error::Counted`], [`Error::Sealed`].
    Count,
    /// The arguments ask for something that does not exist: the program is wrong. [`Error::Circular`], [`Error::NotCode`],
    /// [`Error::NoSuchMode`], [`Error::NoSuchCpu`], [`Error::IsTable`], [`Error::NoWriter`], [`Error::UnknownWriter`], [`Error::NoSuchKey`],
    /// [`Error::SeveralKeys`], [`Error::BatchFull`].
    Argument,
}

impl Error {
    /// The kind of this error.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        match self {
            Error::Denied { .. } | Error::MultiThreaded { .. } | Error::OutOfMemory | Error::RollbackFailed { .. } => {
                ErrorKind::System
            }
            Error::ForeignBytes { .. } | Error::Unreadable { .. } | Error::CopiedCode { .. } => ErrorKind::Foreign,
            Error::DamagedTable { .. }
            | Error::UnknownKind { .. }
            | Error::NoBounds { .. }
            | Error::NoRecords
            | Error::OutOfRange { .. }
            | Error::UnfitOp { .. }
            | Error::UnfitAlternative { .. } => ErrorKind::Object,
            Error::TooEarly | Error::NoPlatform | Error::Reentrant => ErrorKind::Moment,
            Error::Overflow | Error::Underflow | Error::Counted { .. } | Error::Sealed => ErrorKind::Count,
            Error::Circular { .. }
            | Error::NotCode { .. }
            | Error::NoSuchMode { .. }
            | Error::NoSuchCpu { .. }
            | Error::IsTable
            | Error::NoWriter
            | Error::UnknownWriter
            | Error::NoSuchKey
            | Error::SeveralKeys { .. }
            | Error::BatchFull { .. } => ErrorKind::Argument,
        }
    }
}

#[cfg(test)]
mod tests {

    use std::vec::Vec;

    /// The doc of each kind names exactly the errors of that kind.
    #[test]
    fn documented() {
        let source = include_str!("kind.rs");
        let (documents, code) = source.split_once("impl Error {").unwrap();
        let code = code.split("#[cfg(test)]").next().unwrap();
        for kind in ["System", "Foreign", "Object", "Moment", "Count", "Argument"] {
            let errors = |text: &str, before: &str| -> std::collections::BTreeSet<std::string::String> {
                let names = text.split(before).skip(1);
                names.map(|rest| rest.chars().take_while(char::is_ascii_alphanumeric).collect()).collect()
            };
            let before = documents.split(&std::format!("    {kind},\n")).next().unwrap();
            let is_document = |line: &&str| line.starts_with("    ///");
            let document: Vec<_> = before.lines().rev().take_while(is_document).collect();
            let arm = code.split(&std::format!("ErrorKind::{kind}")).next().unwrap();
            let arm = arm.rsplit("ErrorKind").next().unwrap();
            let found = errors(arm, "Error::");
            assert!(found.len() > 2, "{kind}: {found:?}");
            assert_eq!(errors(&document.join(" "), "[`Error::"), found, "{kind}");
        }
    }
}
