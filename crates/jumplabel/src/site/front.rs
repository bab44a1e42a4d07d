//! What is in front of a site: [`jumplabel_format::front`]. Only x86 has something there.

use crate::error::Error;
use crate::format::Entry;

impl Entry {
    /// The address of the first byte of the site's instruction that the library reads: the byte in front of the site, or the site.
    pub(crate) fn start(&self) -> usize {
        self.code().wrapping_sub(self.bytes_in_front())
    }
}

#[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
mod x86 {
    use super::{Entry, Error};
    use crate::arch::Code;
    use crate::format::CALL_SITE;
    use jumplabel_format::front::{built_in_front, is_in_front};

    impl Entry {
        /// How many bytes in front of the site belong to its instruction, as far as the library knows.
        #[inline]
        pub(crate) fn bytes_in_front(&self) -> usize {
            usize::from(self.is_prefixed() || self.kind() == CALL_SITE)
        }
    }

    /// Whether what is in front of the site of `entry` is as it was built.
    ///
    /// # Safety
    /// The byte in front of the site can be read, if the entry says that it belongs to the site's instruction.
    #[inline]
    pub(crate) unsafe fn is_as_built(entry: &Entry) -> bool {
        // SAFETY: the caller says that the byte can be read.
        entry.bytes_in_front() == 0 || is_in_front(entry.kind(), unsafe { (entry.start() as *const u8).read() })
    }

    /// The error for a site that has something else in front of it. `None` if all is as it was built.
    ///
    /// # Safety
    /// As for [`is_as_built`].
    pub(crate) unsafe fn complaint(entry: &Entry) -> Option<Error> {
        // SAFETY: the caller says that the byte can be read.
        if unsafe { is_as_built(entry) } {
            return None;
        }
        let (address, kind) = (entry.start(), entry.kind());
        // SAFETY: as above.
        let found = Code::new(kind, &[unsafe { (address as *const u8).read() }]);
        Some(Error::ForeignBytes { address, expected: Code::new(kind, &[built_in_front(kind)]), found })
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "x86")))]
mod elsewhere {
    use super::{Entry, Error};

    impl Entry {
        pub(crate) fn bytes_in_front(&self) -> usize {
            0
        }
    }

    pub(crate) unsafe fn is_as_built(_: &Entry) -> bool {
        true
    }

    pub(crate) unsafe fn complaint(_: &Entry) -> Option<Error> {
        None
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "x86")))]
pub(crate) use elsewhere::{complaint, is_as_built};
#[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
pub(crate) use x86::{complaint, is_as_built};
