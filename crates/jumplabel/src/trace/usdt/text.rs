//! USDT notes whose names are computed when the program is compiled. They are for callsites that have a target and a line, but no name that an
//! assembler could take.
//!
//! ```text
//!   h2::proto::streams, line 97     usdt:PROGRAM:h2:proto_streams_97
//!   h2, line 5                      usdt:PROGRAM:h2:line_5
//! ```
//!
//! Tools accept only letters, digits and `_` in these names, so each other byte becomes `_`, and `::` becomes one `_`. The provider (`h2`) is cut off
//! at its end if it is too long; the name (`proto_streams`) is cut off at its beginning.

/// The number of words in a [`Text`].
const WORDS: usize = 12;
/// The largest length of a provider in bytes.
const PROVIDER: usize = 32;
/// The largest length of a name in bytes, without the line number.
const NAME: usize = 50;
const _: () = assert!(PROVIDER + 1 + NAME + "_4294967295".len() + 1 < WORDS * 8);

/// A provider and a name as a note contains them, each followed by a zero byte.
#[derive(Clone, Copy, Debug)]
pub struct Text {
    /// The length of the text in bytes.
    pub size: u32,
    /// The bytes of the text, then zeros.
    pub words: [u64; WORDS],
}

impl Text {
    /// The text for a target and a line.
    #[must_use]
    pub const fn of(target: &str, line: u32) -> Text {
        let (target, mut text) = (target.as_bytes(), Text { size: 0, words: [0; WORDS] });
        let end = first_part(target);
        text.put_name(target, 0, if end < PROVIDER { end } else { PROVIDER });
        text.put(0);
        let start = if end + 2 < target.len() { end + 2 } else { target.len() };
        if start == target.len() {
            text.put_all(b"line");
        } else {
            text.put_name(target, if target.len() - start > NAME { target.len() - NAME } else { start }, target.len());
        }
        text.put(b'_');
        text.put_number(line);
        text.put(0);
        text
    }

    /// The word that begins after the last whole word of text: it holds the remaining bytes of the text.
    #[must_use]
    pub const fn rest(&self) -> u64 {
        self.words[self.size as usize / 8]
    }

    const fn put(&mut self, byte: u8) {
        // The first byte goes into the lowest bits, because notes exist only on little-endian machines.
        self.words[self.size as usize / 8] |= (byte as u64) << (self.size % 8 * 8);
        self.size += 1;
    }

    const fn put_all(&mut self, bytes: &[u8]) {
        let mut at = 0;
        while at < bytes.len() {
            self.put(bytes[at]);
            at += 1;
        }
    }

    /// Appends a part of a target. `::` becomes one `_`.
    const fn put_name(&mut self, target: &[u8], mut at: usize, end: usize) {
        while at < end {
            let is_name = target[at].is_ascii_alphanumeric();
            self.put(if is_name { target[at] } else { b'_' });
            at += if target[at] == b':' && at + 1 < end && target[at + 1] == b':' { 2 } else { 1 };
        }
    }

    const fn put_number(&mut self, number: u32) {
        if number >= 10 {
            self.put_number(number / 10);
        }
        self.put(b'0' + (number % 10) as u8);
    }
}

/// The position of the first `::` in a target; the target's length if there is none.
const fn first_part(target: &[u8]) -> usize {
    let mut at = 0;
    while at < target.len() {
        if target[at] == b':' && at + 1 < target.len() && target[at + 1] == b':' {
            return at;
        }
        at += 1;
    }
    at
}

/// The inline assembly of a note for the function `$function`, which does nothing else. `$text` is a constant of the type [`Text`]. `$words` is the
/// address of four words of 8 bytes, to which the note leads. The semaphore is `$offset` bytes after the symbol `$semaphore`.
#[cfg(jumplabel_usdt)]
#[doc(hidden)]
#[macro_export]
macro_rules! __usdt_note_of_text {
    ($text:path, $words:expr, $semaphore:path, $offset:expr, $function:path) => {
        $crate::__usdt_note!(of_text $text, $words, $semaphore, $offset, $function,
            (w0 0) (w1 1) (w2 2) (w3 3) (w4 4) (w5 5) (w6 6) (w7 7) (w8 8) (w9 9) (w10 10) (w11 11)
        )
    };
}

#[test]
fn names() {
    use alloc::borrow::ToOwned;
    use alloc::format;
    use alloc::vec::Vec;

    let of = |target: &str, line| {
        let text = Text::of(target, line);
        let bytes: Vec<u8> = text.words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let (texts, rest) = bytes.split_at(text.size as usize);
        assert!(rest.iter().all(|&byte| byte == 0));
        let texts: Vec<_> = texts.split(|&byte| byte == 0).map(|text| core::str::from_utf8(text).unwrap()).collect();
        assert_eq!((texts[2], texts.len()), ("", 3));
        (texts[0].to_owned(), texts[1].to_owned())
    };
    for (target, line, provider, name) in [
        ("h2::proto::streams", 97, "h2", "proto_streams_97"),
        ("h2", 5, "h2", "line_5"),
        ("h2::", 0, "h2", "line_0"),
        ("", 4_294_967_295, "", "line_4294967295"),
        ("my target: é", 10, "my_target____", "line_10"),
        ("a::b:c", 1, "a", "b_c_1"),
        ("::b", 1, "", "b_1"),
    ] {
        assert_eq!(of(target, line), (provider.to_owned(), name.to_owned()), "{target}");
    }
    let (provider, name) = of(&format!("{}::{}z", "x".repeat(100), "y".repeat(100)), u32::MAX);
    assert_eq!((provider.len(), name.len()), (PROVIDER, NAME + 11));
    assert!(name.ends_with("yyz_4294967295"));
}
