//! What is in front of a site: [`jumplabel_format::front`]. Only x86 has something there.

use crate::error::Error;
use crate::format::Entry;

impl Entry {
    /// The address of the first byte of the site's instruction that the library reads: the byte in front of the site, or the site.
    #[inline(never)]
    pub(crate) fn start(&self) -> usize {
        self.code().wrapping_sub(self.bytes_in_front())
    }
}

#[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
mod x86 {
    use super::{Entry, Error};
    use crate::arch::Code;
    use crate::format::BRANCH;
    use jumplabel_format::front::{built_in_front, is_in_front};

    /// Whether what is in front of the site of `entry` is as it was built: [`foreign_byte`] for loops over many sites.
    ///
    /// # Safety
    /// The byte in front of the site can be read, if the entry says that it belongs to the site's instruction.
    #[inline]
    pub(crate) unsafe fn is_as_built(entry: &Entry) -> bool {
        // Most sites are such checks. SAFETY: the caller says that the byte can be read.
        unsafe {
            (entry.is_prefixed_check() && byte_in_front(entry) == built_in_front(BRANCH))
                || foreign_byte(entry).is_none()
        }
    }

    /// # Safety
    /// The byte in front of the site can be read.
    unsafe fn byte_in_front(entry: &Entry) -> u8 {
        // SAFETY: the caller says that the byte can be read.
        unsafe { (entry.code() as *const u8).wrapping_sub(1).read() }
    }

    /// What somebody else has put in front of the site.
    ///
    /// # Safety
    /// As for [`is_as_built`].
    #[inline(never)]
    pub(crate) unsafe fn foreign_byte(entry: &Entry) -> Option<u8> {
        if entry.bytes_in_front() == 0 {
            return None;
        }
        // SAFETY: the caller says that the byte can be read.
        Some(unsafe { byte_in_front(entry) }).filter(|&byte| !is_in_front(entry.kind(), byte))
    }

    /// The error for a site that has something else in front of it. `None` if all is as it was built.
    ///
    /// # Safety
    /// As for [`is_as_built`].
    #[cold]
    pub(crate) unsafe fn complaint(entry: &Entry) -> Option<Error> {
        let kind = entry.kind();
        let [expected, found] =
            // SAFETY: as for `is_as_built`.
            [built_in_front(kind), unsafe { foreign_byte(entry) }?].map(|byte| Code::new(kind, &[byte]));
        Some(Error::ForeignBytes { address: entry.start(), expected, found })
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

    pub(crate) unsafe fn foreign_byte(_: &Entry) -> Option<u8> {
        None
    }

    pub(crate) unsafe fn complaint(_: &Entry) -> Option<Error> {
        None
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "x86")))]
pub(crate) use elsewhere::{complaint, foreign_byte, is_as_built};
#[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
pub(crate) use x86::{complaint, foreign_byte, is_as_built};
