//! Finds out whether the code of an object is guarded, which means mapped with `PROT_BTI`. That depends on the object's property note, and on the
//! loader that loads the object (`write/bti.rs` explains the rules).

#[cfg(any(target_arch = "aarch64", test))]
use super::segments::Segments;

/// Whether the code of the object with these segments is guarded. Called when the object is registered.
#[cfg(all(target_arch = "aarch64", jumplabel_sites))]
pub(super) fn is_guarded(segments: Segments<'_>) -> bool {
    use crate::platform::linux::libc::getauxval;
    const AT_HWCAP2: core::ffi::c_ulong = 26;
    const HWCAP2_BTI: core::ffi::c_ulong = 1 << 17;

    // SAFETY: the call only reads the auxiliary vector.
    let has_bti = || unsafe { getauxval(AT_HWCAP2) } & HWCAP2_BTI != 0;
    has_bti() && property(segments) && (cfg!(target_feature = "crt-static") || loader_guards())
}

/// Whether the C library's loader maps code with `PROT_BTI` if the object's property note asks for that. (glibc does since 2.32; musl does not.)
#[cfg(all(target_arch = "aarch64", jumplabel_sites))]
fn loader_guards() -> bool {
    #[cfg(target_env = "gnu")]
    {
        unsafe extern "C" {
            safe fn gnu_get_libc_version() -> *const core::ffi::c_char;
        }
        // SAFETY: the function returns a string that is never freed.
        let version = unsafe { core::ffi::CStr::from_ptr(gnu_get_libc_version()) }.to_bytes();
        let minor =
            version.strip_prefix(b"2.").map_or(&[][..], |rest| rest.split(|&byte| byte == b'.').next().unwrap_or(rest));
        core::str::from_utf8(minor).is_ok_and(|minor| minor.parse::<u32>().is_ok_and(|minor| minor >= 32))
    }
    #[cfg(not(target_env = "gnu"))]
    false
}

/// Whether the object's property note has the flag `GNU_PROPERTY_AARCH64_FEATURE_1_BTI`. Like the kernel, reads only the first note of the segment
/// PT_GNU_PROPERTY (fs/binfmt_elf.c, `parse_elf_properties`).
#[cfg(any(target_arch = "aarch64", test))]
fn property(segments: Segments<'_>) -> bool {
    const PT_GNU_PROPERTY: u32 = 0x6474_e553;
    const NT_GNU_PROPERTY_TYPE_0: u32 = 5;
    const FEATURE_1_AND: u32 = 0xc000_0000;
    const BTI: u32 = 1;
    const HEAD: usize = 16;
    const GNU: u32 = u32::from_ne_bytes(*b"GNU\0");

    let of_segment = |start: usize, bytes: usize| {
        let word = |at: usize| segments.words(start.checked_add(at)?).map(|[word]| word);
        if word(0)? != 4 || word(8)? != NT_GNU_PROPERTY_TYPE_0 || word(12)? != GNU {
            return None;
        }
        let end = HEAD.checked_add(word(4)? as usize).filter(|&end| end <= bytes)?;
        let mut at = HEAD;
        while at + 8 <= end {
            let (kind, size) = (word(at)?, word(at + 4)? as usize);
            let next = (at + 8).checked_add(size)?.checked_next_multiple_of(size_of::<usize>())?;
            if kind == FEATURE_1_AND {
                return (size == 4 && at + 12 <= end).then_some(word(at + 8)? & BTI != 0);
            }
            at = next;
        }
        None
    };
    segments
        .of_type(PT_GNU_PROPERTY)
        .any(|(header, start, end)| of_segment(start, header.p_filesz.min(end - start)).unwrap_or(false))
}

#[cfg(test)]
mod tests {
    use super::{Segments, property};
    use crate::platform::linux::libc::Phdr;
    use proptest::prelude::{any, proptest};
    use std::vec::Vec;

    const WORD: u32 = size_of::<usize>() as u32;

    fn header(p_type: u32, start: usize, bytes: usize) -> Phdr {
        let (p_filesz, p_memsz) = (bytes, bytes);
        Phdr { p_type, p_flags: 4, p_vaddr: start, p_filesz, p_memsz, p_align: 8, p_offset: start, p_paddr: 0 }
    }

    /// The result of [`property`] for an object that consists of `words`, and whose program headers say that its first `bytes` bytes are the property
    /// note.
    fn says(words: &[u32], bytes: usize) -> bool {
        // The first header is for a loadable segment, which is exactly `words`. The second is for the property note.
        let headers = [header(1, 0, size_of_val(words)), header(0x6474_e553, 0, bytes)];
        // SAFETY: the loadable segment has exactly the bytes of `words`, which live until the end of this function.
        property(unsafe { Segments::new(words.as_ptr() as usize, &headers) })
    }

    /// A note that has one property, of the type `kind`.
    fn note(kind: u32, value: u32) -> Vec<u32> {
        let mut words = std::vec![4, 8 + WORD, 5, u32::from_ne_bytes(*b"GNU\0"), kind, 4, value];
        words.resize(4 + 2 + WORD as usize / 4, 0);
        words
    }

    #[test]
    fn reads_the_property() {
        for (kind, value, expected) in [
            (0xc000_0000, 1, true),
            (0xc000_0000, 3, true),
            (0xc000_0000, 2, false), // PAC only
            (0xc000_0000, 0, false),
            (0xc000_0001, 1, false),
            (0xb000_0000, 1, false),
        ] {
            let words = note(kind, value);
            assert_eq!(says(&words, size_of_val(&*words)), expected, "{kind:#x} {value}");
            // The same property after another one, in one note.
            let mut both = note(1, 0x1000);
            both[1] *= 2;
            both.extend_from_slice(&words[4..]);
            assert_eq!(says(&both, size_of_val(&*both)), expected, "{kind:#x} {value}");
        }
        let words = note(0xc000_0000, 1);
        // Notes that are cut off say nothing, and neither do notes with a wrong type, name or size.
        for bytes in 0..size_of_val(&*words) {
            assert!(!says(&words, bytes), "{bytes} bytes");
        }
        for (place, value) in [(0, 5), (0, u32::MAX), (1, 4), (1, u32::MAX), (2, 1), (3, 0), (5, 8), (5, u32::MAX)] {
            let mut words = words.clone();
            words[place] = value;
            assert!(!says(&words, size_of_val(&*words)), "word {place} is {value:#x}");
        }
    }

    proptest! {
        /// Checks for arbitrary words that the function returns, that no sum overflows, and that the answer is yes only if the words contain the
        /// number of the property.
        #[test]
        fn any_words(mut words in proptest::collection::vec(any::<u32>(), 0..40), small: bool, bytes in 0..200_usize) {
            if small {
                words.iter_mut().for_each(|word| *word %= 64);
            }
            for (word, good) in words.iter_mut().zip(note(0, 0)).take(if small { 4 } else { 0 }) {
                *word = good;
            }
            let said = says(&words, bytes);
            assert!(!said || words.contains(&0xc000_0000));
        }
    }
}
