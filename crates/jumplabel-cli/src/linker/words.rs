//! The words of a compiler's command line. A long command line may be in a file, which the word `@file` names. gcc and clang read such a file in the
//! same way: blanks separate words, quotation marks of both kinds enclose them, and a backslash may stand in front of any byte.

use std::ffi::{OsStr, OsString};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::input;

/// The words of a command line, with the words of each `@file` in its place.
pub struct Words {
    pub all: Vec<OsString>,
    /// Whether some words were in a file.
    pub are_in_file: bool,
}

/// How deeply files may name further files.
const DEEP: usize = 8;
/// The most bytes of a command line or a source.
pub const LONGEST: u64 = 256 << 20;

impl Words {
    /// Reads words, and replaces each `@file` by the words in the file. An error if a file cannot be read.
    pub fn read(words: &[OsString]) -> io::Result<Words> {
        let mut read = Words { all: Vec::new(), are_in_file: false };
        read.add(words, 0)?;
        read.join();
        Ok(read)
    }

    /// Turns `-Xlinker WORD` into `-Wl,WORD`, unless WORD has a comma.
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
                    // `input::open` refuses a pipe, and reads nothing from it, so that the compiler can read it.
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

/// Splits the text of a file into words.
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

/// A file that is removed when this is dropped.
pub struct Temporary(pub PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// The words for a command line: these words themselves, or, with `in_file`, one word that names a new file with them.
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
