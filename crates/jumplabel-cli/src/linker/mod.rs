//! `jumplabel-cc`: runs the C compiler for cargo and make, and then `link` on the file that the compiler has linked.
//!
//! ```text
//!   compiles, preprocesses, -r   the compiler, as it was called
//!   links                        the compiler with -Wl,--emit-relocs and without options that strip
//!                                link, which takes the relocations away again
//!                                strip, if it was to be stripped
//! ```
//!
//! GNU ld, gold and lld refuse to strip and to leave relocations in one run, and mold crashes. gold also crashes if it leaves relocations and drops
//! sections. If the linker fails, the compiler runs again with its original words, so that its messages have nothing to do with this tool. A file
//! without keys comes out as it would without this tool.

mod source;
mod words;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use crate::failure::Failure;
use crate::link::{Keep, save};
use source::Source;
use words::Words;

/// The environment variable with the compiler's name, and perhaps words that come before all others.
const COMPILER: &str = "JUMPLABEL_CC";
/// Options with which the compiler does not link a program or a library.
const NOT_LINKED: [&str; 17] = [
    "-c",
    "--compile",
    "-S",
    "--assemble",
    "-E",
    "--preprocess",
    "-r",
    "-M",
    "-MM",
    "-fsyntax-only",
    "-###",
    "-dumpversion",
    "-dumpmachine",
    "-dumpspecs",
    "--version",
    "--help",
    "-V",
];

/// Runs the compiler with these words, and the further steps if the compiler links. Returns the exit code of the compiler, or of a step that failed.
pub fn run(words: impl IntoIterator<Item = OsString>) -> u8 {
    let words: Vec<OsString> = words.into_iter().collect();
    match Words::read(&words) {
        Ok(all) if all.link() => linked(&words, &all),
        Ok(_) => code(compiler(&words).status()),
        Err(error) => {
            let code = code(compiler(&words).status());
            if code == 0 {
                say(&format_args!("a file of its words: {error}: the compiler ran without `jumplabel link`"));
            }
            code
        }
    }
}

fn compiler(words: &[OsString]) -> Command {
    let named = std::env::var(COMPILER).unwrap_or_default();
    let mut named = named.split_whitespace();
    let mut command = Command::new(named.next().unwrap_or("cc"));
    command.args(named).args(words);
    command
}

fn linked(words: &[OsString], all: &Words) -> u8 {
    let (plain, strip) = all.without_strip();
    let source = match Source::of(all) {
        Ok(source) => source,
        Err(error) => {
            say(&format_args!("standard input, which the compiler may have to read twice: {error}"));
            return 1;
        }
    };
    let again = || code(source.give(compiler(words)).and_then(|mut compiler| compiler.status()));
    let arguments = if plain == all.all && !all.are_in_file {
        Ok((words.to_vec(), None))
    } else {
        words::arguments(&plain, all.are_in_file)
    };
    let (mut arguments, file) = match arguments {
        Ok(arguments) => arguments,
        Err(error) => {
            say(&format_args!("no file for its words: {error}: linked without `jumplabel link`"));
            return again();
        }
    };
    arguments.push("-Wl,--emit-relocs".into());
    let output = source.give(compiler(&arguments)).and_then(|mut compiler| compiler.output());
    drop(file);
    let said = match &output {
        Ok(output) if output.status.success() => output,
        _ => {
            let code = again();
            if code == 0 {
                say(&"linked without relocations, which the linker refuses, and so without `jumplabel link`");
            }
            return code;
        }
    };
    use std::io::Write;
    let _ = std::io::stdout().write_all(&said.stdout);
    let _ = std::io::stderr().write_all(&said.stderr);
    let path = all.output();
    let keep = if all.keep_relocations() { Keep::All } else { Keep::NoRelocations };
    match save::link(&path, keep) {
        Err(Failure::OutOfReach(_)) if !path.exists() => {
            say(&format_args!("no {}: what came of it has its relocations, and was not linked", path.display()));
        }
        // There is nothing to do: no keys, another machine, or no file (/dev/null).
        Ok(_) | Err(Failure::Nothing(_) | Failure::OutOfReach(_)) => {}
        Err(failure) => say(&format_args!("{failure}: left as the linker made it")),
    }
    strip.filter(|_| path.is_file()).map_or(0, |option| stripped(&path, option))
}

/// Strips a file as the linker would have done. Returns the exit code of `strip`.
fn stripped(path: &Path, option: &str) -> u8 {
    let status = Command::new("strip").arg(option).arg(path).status();
    if status.as_ref().is_ok_and(|status| !status.success()) {
        say(&format_args!("{}: strip {option} failed", path.display()));
    }
    code_of("strip", status)
}

fn say(what: &dyn std::fmt::Display) {
    eprintln!("jumplabel-cc: {what}");
}

/// The exit code of the compiler.
fn code(status: std::io::Result<ExitStatus>) -> u8 {
    code_of(&std::env::var(COMPILER).unwrap_or_else(|_| "cc".into()), status)
}

/// The exit code of `program`. If it could not start, says so.
fn code_of(program: &str, status: std::io::Result<ExitStatus>) -> u8 {
    match status {
        Ok(status) => status.code().and_then(|code| code.try_into().ok()).unwrap_or(1),
        Err(error) => {
            say(&format_args!("{program}: {error}"));
            127
        }
    }
}

impl Words {
    /// Whether the compiler, called with these words, links a program or a shared library.
    fn link(&self) -> bool {
        let asks = |word: &OsString| {
            word.to_str().is_some_and(|word| NOT_LINKED.contains(&word) || word.starts_with("-print-"))
        };
        let is_partial = |word: &OsString| {
            parts(word).iter().any(|part| matches!(*part, "-r" | "-i" | "-Ur" | "--relocatable" | "-relocatable"))
        };
        let is_input = |word: &OsString| word.to_str().is_none_or(|word| !word.starts_with('-') || word == "-");
        self.all.iter().any(is_input) && !self.all.iter().any(|word| asks(word) || is_partial(word))
    }

    /// The path of the output. If an option for the linker names the output (`-Wl,-o,NAME`), that name counts, and not the compiler's.
    fn output(&self) -> PathBuf {
        let mut words = self.all.iter();
        let mut output = PathBuf::from("a.out");
        while let Some(word) = words.next() {
            match word.to_str().and_then(named) {
                Some("") => output = words.next().map(PathBuf::from).unwrap_or(output),
                Some(name) => output = name.into(),
                None => {}
            }
        }
        let mut parts = self.all.iter().flat_map(parts);
        while let Some(part) = parts.next() {
            match named(part) {
                Some("") => output = parts.next().map(PathBuf::from).unwrap_or(output),
                Some(name) => output = name.into(),
                None => {}
            }
        }
        output
    }

    /// Whether the words ask the linker to leave relocations.
    fn keep_relocations(&self) -> bool {
        self.all.iter().flat_map(parts).any(|part| matches!(part, "--emit-relocs" | "-q"))
    }

    /// The words without those that strip, and the option of `strip` that does the same.
    fn without_strip(&self) -> (Vec<OsString>, Option<&'static str>) {
        let mut strip = None;
        let mut strips = |part: &str| {
            let option = match part {
                "-s" | "--strip-all" | "-strip-all" => "--strip-all",
                "-S" | "--strip-debug" | "-strip-debug" => "--strip-debug",
                _ => return false,
            };
            if strip != Some("--strip-all") {
                strip = Some(option);
            }
            true
        };
        let mut kept = Vec::new();
        for word in &self.all {
            let parts = parts(word);
            if parts.is_empty() {
                if word != OsStr::new("-s") || !strips("-s") {
                    kept.push(word.clone());
                }
                continue;
            }
            let left: Vec<&str> = parts.iter().copied().filter(|part| !strips(part)).collect();
            if left.len() == parts.len() {
                kept.push(word.clone());
            } else if !left.is_empty() {
                kept.push(format!("-Wl,{}", left.join(",")).into());
            }
        }
        (kept, strip)
    }
}

/// The name of the output in an option such as `-oNAME`. Empty if the next word is the name. `None` if the word is no such option.
fn named(word: &str) -> Option<&str> {
    match word {
        "--output" => Some(""),
        _ => word.strip_prefix("--output=").or_else(|| word.strip_prefix("-o")),
    }
}

/// The options that a word passes on to the linker.
fn parts(word: &OsString) -> Vec<&str> {
    let parts = word.to_str().and_then(|word| word.strip_prefix("-Wl,"));
    parts.map(|parts| parts.split(',').collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Words {
        Words { all: text.split(' ').map(OsString::from).collect(), are_in_file: false }
    }

    #[test]
    fn what_links() {
        for links in ["main.o -o main", "-shared x.o -ox.so", "main.c", "-Wl,--gc-sections a.o", "-xc -"] {
            assert!(words(links).link(), "{links}");
        }
        for not in [
            "-c main.c -o main.o",
            "-r a.o b.o -o c.o",
            "-nostdlib -Wl,-r a.o",
            "-nostdlib -Wl,-i a.o",
            "--compile a.c",
            "--version",
            "-print-file-name=x a",
            "-E a.c",
            "-v",
            "-fsyntax-only -xc -",
        ] {
            assert!(!words(not).link(), "{not}");
        }
    }

    #[test]
    fn where_to() {
        for (text, path) in [
            ("a.o", "a.out"),
            ("a.o -o b", "b"),
            ("-ob a.o", "b"),
            ("a.o -o", "a.out"),
            ("a.o --output b", "b"),
            ("--output=b a.o", "b"),
            ("-o a a.o -Wl,-O1,-o,b", "b"),
            ("-Wl,--output=b a.o", "b"),
        ] {
            assert_eq!(words(text).output(), PathBuf::from(path), "{text}");
        }
    }

    #[test]
    fn strip_is_taken_out() {
        let all = words("-s a.o -Wl,-O1,--strip-debug -Wl,--strip-all -Wl,-z,now");
        let (kept, strip) = all.without_strip();
        assert_eq!((kept, strip), (words("a.o -Wl,-O1 -Wl,-z,now").all, Some("--strip-all")));
        assert_eq!(words("a.o -Wl,-S").without_strip(), (words("a.o").all, Some("--strip-debug")));
        assert_eq!(words("a.o -Wl,-strip-all").without_strip(), (words("a.o").all, Some("--strip-all")));
        assert_eq!(words("a.o").without_strip(), (words("a.o").all, None));
    }
}
