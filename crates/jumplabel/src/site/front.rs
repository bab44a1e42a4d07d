//! Reads and checks the byte in front of a site, which belongs to the site's instruction. Only x86 has such a byte. [`jumplabel_format::front`] says
//! which bytes can be there.

use crate::error::Error;
use crate::format::Entry;

impl Entry {
    /// The address where the site's instruction begins: the byte in front of the site or, without such a byte, the site. When the library reads a
    /// site, it reads from this address on.
    #[inline(never)]
    pub(crate) fn start(&self) -> usize {
        self.code().wrapping_sub(self.bytes_in_front())
    }
}

#[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
mod x86 {
    use super::{Entry, Error};
    use crate::arch::Code;
    use jumplabel_format::front::{built_in_front, is_in_front};

    /// The byte in front of the site of `entry`. `None` if no byte in front belongs to the site's instruction. Most sites with the same
    /// [`traits`](Entry::traits) have the same byte.
    ///
    /// # Safety
    /// The byte in front of the site can be read, if the entry says that it belongs to the site's instruction.
    #[inline]
    pub(crate) unsafe fn byte(entry: &Entry) -> Option<u8> {
        // SAFETY: the caller says that the byte can be read.
        (entry.bytes_in_front() != 0).then(|| unsafe { byte_in_front(entry.code()) })
    }

    /// Whether the site of `entry` has no foreign byte in front of it. In a loop over many sites, this is faster than [`foreign_byte`]. `same` is the
    /// result of [`byte`] for another site, which has the same traits and no foreign byte. `address` is the address of the site of `entry`.
    ///
    /// # Safety
    /// The contract of [`byte`].
    #[inline]
    pub(crate) unsafe fn is_same(same: Option<u8>, entry: &Entry, address: usize) -> bool {
        // SAFETY: the caller says that the byte can be read.
        same.is_none_or(|same| unsafe { byte_in_front(address) == same || foreign_byte(entry).is_none() })
    }

    /// The byte in front of the site at `address`.
    ///
    /// # Safety
    /// The byte in front of the site can be read.
    unsafe fn byte_in_front(address: usize) -> u8 {
        // SAFETY: the caller says that the byte can be read.
        unsafe { (address as *const u8).wrapping_sub(1).read() }
    }

    /// The byte in front of the site if it is foreign: no build puts it there, and it is no breakpoint. Otherwise `None`.
    ///
    /// # Safety
    /// The contract of [`byte`].
    #[inline(never)]
    pub(crate) unsafe fn foreign_byte(entry: &Entry) -> Option<u8> {
        // SAFETY: the caller says that the byte can be read.
        unsafe { byte(entry) }.filter(|&byte| !is_in_front(entry.kind(), byte))
    }

    /// The error for a site that has a foreign byte in front of it. `None` if the byte is not foreign.
    ///
    /// # Safety
    /// The contract of [`byte`].
    #[cold]
    pub(crate) unsafe fn complaint(entry: &Entry) -> Option<Error> {
        let kind = entry.kind();
        let [expected, found] =
            // SAFETY: the caller says that the byte can be read.
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

    pub(crate) unsafe fn byte(_: &Entry) -> Option<u8> {
        None
    }

    pub(crate) unsafe fn is_same(_: Option<u8>, _: &Entry, _: usize) -> bool {
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
pub(crate) use elsewhere::{byte, complaint, foreign_byte, is_same};
#[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
pub(crate) use x86::{byte, complaint, foreign_byte, is_same};
