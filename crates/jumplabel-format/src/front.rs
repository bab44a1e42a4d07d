//! The byte in front of a site on x86. It belongs to the site's instruction; the library reads it and never writes it.
//!
//! ```text
//!   40   0f 1f 44 00 00    a check, a switch        65   66 90              a check that can be short
//!   2e   f0 ff 87 ...      an operation             e8   rel32              a call that a table lists: its opcode
//!        ▲
//!        └ what the entry names
//! ```
//!
//! A tool that hooks a function writes a jump over the function's first instructions, and lets callers run a copy of these instructions. If
//! that jump ends with the byte in front of a site, the site's own bytes are unchanged, but no thread runs them any more. Only the byte in
//! front shows that.

use crate::layout::{CALL_SITE, KIND_MASK, KIND_SHIFT, OP, PREFIXED};

/// The byte that a breakpoint or a uprobe writes in front of a site, and later removes. Meanwhile the site works as before.
const INT3: u8 = 0xcc;

/// The number of bytes in front of a site that belong to its instruction: 1 or 0. `meta` is the meta word of the site's entry.
#[must_use]
pub const fn bytes_in_front(meta: u32) -> usize {
    (meta & PREFIXED != 0 || (meta >> KIND_SHIFT & KIND_MASK) as u8 == CALL_SITE) as usize
}

/// Whether `byte` can be in front of a site of `kind`: either the build put it there, or it is a breakpoint.
#[must_use]
pub const fn is_in_front(kind: u8, byte: u8) -> bool {
    byte == INT3
        || match kind {
            CALL_SITE => matches!(byte, 0xe8 | 0xe9 | 0x80..=0x8f),
            OP => byte == 0x2e,
            _ => byte == 0x40 || byte == 0x65,
        }
}

/// A byte that the build puts in front of a site of `kind`, for listings. (In objects with short checks, and in 32-bit mode, a check has
/// 65.)
#[must_use]
pub const fn built_in_front(kind: u8) -> u8 {
    match kind {
        CALL_SITE => 0xe8,
        OP => 0x2e,
        _ => 0x40,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::{BRANCH, LOADING, SHORT, SWITCH};

    #[test]
    fn what_is_built_is_accepted() {
        for kind in [BRANCH, SWITCH, SHORT, LOADING, OP, CALL_SITE] {
            assert!(is_in_front(kind, built_in_front(kind)) && is_in_front(kind, INT3));
            // A tool's jump over less than 16 MiB ends with one of these bytes.
            assert!(!is_in_front(kind, 0) && !is_in_front(kind, 0xff));
        }
    }
}
