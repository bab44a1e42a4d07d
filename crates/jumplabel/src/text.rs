//! Texts with numbers in them, piece by piece. `core::fmt` could do the same, but with more code than a whole flip has. A program in C, or a
//! kernel, that has no other texts than this library's is smaller without it.
//!
//! ```text
//!   an error ──► its text: piece, number, piece ──► Pieces ──► a Formatter       Rust: Display
//!                                                      └─────► a Line            C, and what is said before an abort
//! ```

use core::ffi::CStr;
use core::fmt;

/// A function that takes the pieces of a text, one after the other.
pub type Pieces<'a> = &'a mut dyn FnMut(&str);

/// A number: `-12`.
#[cold]
#[inline(never)]
pub fn number(number: i64, pieces: Pieces<'_>) {
    if number < 0 {
        pieces("-");
    }
    digits(number.unsigned_abs(), 10, pieces);
}

/// An address: `0x7f00`.
#[cold]
pub fn address(address: usize, pieces: Pieces<'_>) {
    pieces("0x");
    digits(address as u64, 16, pieces);
}

/// The bytes of a site: `[0f, 1f]`.
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

/// A name from the system. `?` stands for bytes that are not UTF-8.
#[cold]
pub fn name(name: &CStr, pieces: Pieces<'_>) {
    for chunk in name.to_bytes().utf8_chunks() {
        pieces(chunk.valid());
        if !chunk.invalid().is_empty() {
            pieces("?");
        }
    }
}

#[inline(never)] // Inlined, a kernel would contain it a dozen times: 2.7 kB.
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
    // SAFETY: digits and small letters are ASCII.
    pieces(unsafe { core::str::from_utf8_unchecked(all) });
}

/// Passes the pieces from `tell` to a formatter.
pub(crate) fn format(f: &mut fmt::Formatter<'_>, tell: impl FnOnce(Pieces<'_>)) -> fmt::Result {
    let mut done = Ok(());
    tell(&mut |piece| {
        if done.is_ok() {
            done = f.write_str(piece);
        }
    });
    done
}

/// A line in a buffer of `ROOM` bytes. Nothing is allocated. Text that does not fit is cut off.
#[derive(Debug)]
pub struct Line<const ROOM: usize> {
    bytes: [u8; ROOM],
    length: usize,
}

impl<const ROOM: usize> Line<ROOM> {
    /// The line that consists of the pieces from `tell` and of `end`, for which there is always room.
    pub fn new(end: u8, tell: impl FnOnce(Pieces<'_>)) -> Line<ROOM> {
        let mut line = Line { bytes: [0; ROOM], length: 0 };
        tell(&mut |piece| line.push(piece));
        if let Some(place) = line.bytes.get_mut(line.length) {
            *place = end;
            line.length += 1;
        }
        line
    }

    fn push(&mut self, piece: &str) {
        for &byte in piece.as_bytes() {
            let Some([place, _, ..]) = self.bytes.get_mut(self.length..) else { return };
            *place = byte;
            self.length += 1;
        }
    }

    /// The line, with its end.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
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

    /// Each line has its end, the terminator byte, however much of the text is cut off.
    #[test]
    fn cut_off() {
        let line = |text: &str| {
            let line = Line::<4>::new(b'\n', |pieces| pieces(text));
            String::from_utf8(line.bytes().to_vec()).unwrap()
        };
        assert_eq!(["", "ab", "abc", "abcd", "abcdefg"].map(line), ["\n", "ab\n", "abc\n", "abc\n", "abc\n"]);
        assert_eq!(Line::<0>::new(0, |pieces| pieces("a")).bytes(), b"");
    }
}
