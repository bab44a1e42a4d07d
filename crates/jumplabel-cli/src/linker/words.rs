//! The words that a compiler was called with. If they are many, they are in a file, `@file`, which gcc and clang read alike: words between blanks,
//! quotation marks of both kinds, and a backslash in front of any byte.

use std::ffi::{OsStr, OsString};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::input;

/// All of them.
pub struct Words {
    pub all: Vec<OsString>,
    /// Whether some were in a file.
    pub are_in_file: bool,
}

/// Files name files so deep.
const DEEP: usize = 8;
/// No command line, and no source, is longer.
pub const LONGEST: u64 = 256 << 20;

impl Words {
    /// With those of files in the place of these; an error if one cannot be read.
    pub fn read(words: &[OsString]) -> io::Result<Words> {
        let mut read = Words { all: Vec::new(), are_in_file: false };
        read.add(words, 0)?;
        read.join();
        Ok(read)
    }

    /// `-Xlinker WORD` is `-Wl,WORD`, if that has no comma.
    fn join(&mut self) {
        let mut words = std::mem::take(&mut self.all).into_iter();
        while let Some(word) = words.next() {
            let next = if word == "-Xlinker" { words.next() } else { None };
            match next {
                Some(next) if !next.as_bytes().contains(&b',') => {
                    let mut joined = OsString::from("-Wl,");
                    joined.push(next);
                    self.all.push(joined);
                }
                next => self.all.extend([word].into_iter().chain(next)),
            }
        }
    }

    fn add(&mut self, words: &[OsString], deep: usize) -> io::Result<()> {
        for word in words {
            match word.as_bytes().strip_prefix(b"@") {
                Some(_) if deep == DEEP => return Err(io::ErrorKind::InvalidInput.into()),
                Some(name) => {
                    // Of a pipe nothing is read: the compiler reads it.
                    let (file, _) = input::open(Path::new(OsStr::from_bytes(name)))?;
                    let text = input::read(file, LONGEST)?;
                    self.are_in_file = true;
                    self.add(&split(&text), deep + 1)?;
                }
                None => self.all.push(word.clone()),
            }
        }
        Ok(())
    }
}

/// The words of a file.
fn split(text: &[u8]) -> Vec<OsString> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<Vec<u8>>, None);
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => word.get_or_insert_default().extend(bytes.next()),
            _ if quote == Some(byte) => quote = None,
            b'"' | b'\'' if quote.is_none() => {
                quote = Some(byte);
                word.get_or_insert_default();
            }
            _ if quote.is_none() && byte.is_ascii_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word);
    words.into_iter().map(OsString::from_vec).collect()
}

/// A file that goes with it.
pub struct Temporary(pub PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Words for a command line: themselves, or a new file of them.
pub fn arguments(words: &[OsString], in_file: bool) -> io::Result<(Vec<OsString>, Option<Temporary>)> {
    if !in_file {
        return Ok((words.to_vec(), None));
    }
    let mut text = Vec::new();
    for word in words {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || !byte.is_ascii() || b"-_./,=+:@%".contains(&byte);
        for &byte in word.as_bytes() {
            text.extend((!plain(byte)).then_some(b'\\'));
            text.push(byte);
        }
        text.extend(if word.is_empty() { &b"''\n"[..] } else { b"\n" });
    }
    let path = std::env::temp_dir().join(format!("jumplabel-cc-{}", std::process::id()));
    let mut file = OpenOptions::new().write(true).create_new(true).open(&path)?;
    let temporary = Temporary(path);
    file.write_all(&text)?;
    let mut argument = OsString::from("@");
    argument.push(&temporary.0);
    Ok((vec![argument], Some(temporary)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_the_linker() {
        let words = ["-Xlinker", "-s", "-o", "b", "-Xlinker", "-rpath=a,b", "-Xlinker"].map(OsString::from);
        let joined = ["-Wl,-s", "-o", "b", "-Xlinker", "-rpath=a,b", "-Xlinker"].map(OsString::from);
        assert_eq!(Words::read(&words).unwrap().all, joined);
    }

    #[test]
    fn files() {
        let words = ["plain", "with blank", "a\"b'c\\d", "", "ü", "line\nbreak", "-Wl,--x=y"].map(OsString::from);
        let (arguments, file) = arguments(&words, true).unwrap();
        let read = Words::read(&arguments).unwrap();
        assert_eq!((&*read.all, read.are_in_file), (&words[..], true));
        drop(file);
        assert!(Words::read(&arguments).is_err());
        assert_eq!(split(b"  a 'b c' \"d'e\" f\\ g\n"), ["a", "b c", "d'e", "f g"].map(OsString::from));
    }
}
