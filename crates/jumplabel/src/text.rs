//! Makes texts with numbers in them, piece by piece. `core::fmt` could make these texts, too, but its code is larger than that of a whole flip. So a
//! program in C, or a kernel, that needs no other texts than this library's is smaller without `core::fmt`.
//!
//! ```text
//!   an error ──► its text: piece, number, piece ──► Pieces ──► a Formatter       for Display, in Rust
//!                                                      └─────► a line            for C, and for messages before an abort
//! ```

use core::ffi::CStr;
use core::fmt;

/// A function that is called with the pieces of a text, one after the other.
pub type Pieces<'a> = &'a mut dyn FnMut(&str);

/// Passes a number to `pieces`, in decimal: `-12`.
#[cold]
#[inline(never)]
pub fn number(number: i64, pieces: Pieces<'_>) {
    if number < 0 {
        pieces("-");
    }
    digits(number.unsigned_abs(), 10, pieces);
}

/// Passes an address to `pieces`: `0x7f00`.
#[cold]
pub fn address(address: usize, pieces: Pieces<'_>) {
    pieces("0x");
    digits(address as u64, 16, pieces);
}

/// Passes the bytes of a site to `pieces`: `[0f, 1f]`.
#[cold]
pub fn bytes(bytes: &[u8], pieces: Pieces<'_>) {
    let mut before = "[";
    for &byte in bytes {
        pieces(before);
        if byte < 16 {
            pieces("0");
        }
        digits(byte.into(), 16, pieces);
        before = ", ";
    }
    pieces(if bytes.is_empty() { "[]" } else { "]" });
}

/// Passes a name from the system to `pieces`, with `?` in place of each sequence of bytes that is not UTF-8.
#[cold]
pub fn name(name: &CStr, pieces: Pieces<'_>) {
    for chunk in name.to_bytes().utf8_chunks() {
        pieces(chunk.valid());
        if !chunk.invalid().is_empty() {
            pieces("?");
        }
    }
}

#[inline(never)] // If this were inlined, a kernel would contain a dozen copies (2.7 kB).
fn digits(mut number: u64, base: u64, pieces: Pieces<'_>) {
    let mut text = [0; 20];
    let mut length = 0;
    for place in text.iter_mut().rev() {
        let digit = (number % base) as u8;
        *place = digit + if digit < 10 { b'0' } else { b'a' - 10 };
        length += 1;
        number /= base;
        if number == 0 {
            break;
        }
    }
    let all = text.get(text.len() - length..).unwrap_or_default();
    // SAFETY: `all` has only digits and small letters, which the loop above stored. These are ASCII.
    pieces(unsafe { core::str::from_utf8_unchecked(all) });
}

/// Passes the pieces that `tell` makes to a formatter.
pub(crate) fn format(f: &mut fmt::Formatter<'_>, tell: impl FnOnce(Pieces<'_>)) -> fmt::Result {
    let mut done = Ok(());
    tell(&mut |piece| {
        if done.is_ok() {
            done = f.write_str(piece);
        }
    });
    done
}

/// Fills `room` with the pieces that `tell` makes, followed by the byte `end`, and returns the filled part. Text that does not fit is cut off; `end`
/// always fits, unless `room` is empty.
#[cold]
#[inline(never)]
pub fn line<'room>(room: &'room mut [u8], end: u8, tell: &dyn Fn(Pieces<'_>)) -> &'room [u8] {
    let mut length = 0;
    tell(&mut |piece| {
        for &byte in piece.as_bytes() {
            let Some([place, _, ..]) = room.get_mut(length..) else { return };
            *place = byte;
            length += 1;
        }
    });
    if let Some(place) = room.get_mut(length) {
        *place = end;
        length += 1;
    }
    room.get(..length).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::format;
    use std::string::String;

    use super::*;

    fn told(tell: impl FnOnce(Pieces<'_>)) -> String {
        let mut text = String::new();
        tell(&mut |piece| text += piece);
        text
    }

    #[test]
    fn as_core_has_them() {
        for value in [0, 7, 10, -1, 1_234_567_890, i64::MAX, i64::MIN] {
            assert_eq!(told(|pieces| number(value, pieces)), format!("{value}"));
            assert_eq!(told(|pieces| address(value as usize, pieces)), format!("{:#x}", value as usize));
        }
        for some in [&[][..], &[0], &[0x0f, 0x1f, 0xff]] {
            assert_eq!(told(|pieces| bytes(some, pieces)), format!("{some:02x?}"));
        }
        assert_eq!(told(|pieces| name(c"a\xc3\xa4\xffb\xc3", pieces)), "aä?b?");
    }

    /// A line always ends with the byte `end`, however much of the text is cut off.
    #[test]
    fn cut_off() {
        let line = |text: &str| String::from_utf8(line(&mut [0; 4], b'\n', &|pieces| pieces(text)).to_vec()).unwrap();
        assert_eq!(["", "ab", "abc", "abcd", "abcdefg"].map(line), ["\n", "ab\n", "abc\n", "abc\n", "abc\n"]);
        assert_eq!(super::line(&mut [], 0, &|pieces| pieces("a")), b"");
    }
}
