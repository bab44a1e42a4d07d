//! Tests the program's output and its exit code, with good input, with bad input, and with a wrong result.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const PROGRAM: &str = env!("CARGO_BIN_EXE_jumplabel-demo");
/// A short run: it goes through each phase at least once.
const SHORT: [&str; 2] = ["--seconds", "0.2"];

/// A directory that is removed at the end of the test. It is in the system's temporary directory, which any user can reach.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("jumplabel-demo-{}-{name}", std::process::id()));
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        Scratch(path)
    }

    fn file(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn run(arguments: &[&str], paths: &[&Path]) -> Output {
    Command::new(PROGRAM).args(arguments).args(paths).output().unwrap()
}

fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).unwrap()
}

fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).unwrap()
}

/// The number after `label` in the output.
fn number(output: &Output, label: &str) -> u64 {
    let text = stdout(output);
    let behind = text.split(label).nth(1).unwrap_or_else(|| panic!("no {label:?} in:\n{text}"));
    let digits: String = behind.chars().filter(|&char| char != ',').take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}

fn assert_bad_input(output: &Output, message: &str) {
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(stderr(output).contains(message), "no {message:?} in:\n{}", stderr(output));
    assert_eq!(stdout(output), "");
}

#[test]
fn good_input() {
    let scratch = Scratch::new("good");
    let prose = scratch.file("prose.txt", "The key is off, the the site falls through.\nThe KEY is on.\n".repeat(50));
    scratch.file("tree/source.rs", "fn main() {\n    println!(\"na\u{ef}ve\");\n}");
    scratch.file("tree/binary", b"\x7fELF\0\0\0");
    scratch.file("tree/empty", "");
    scratch.file("tree/.git/skipped", "nothing of this is in the index");
    scratch.file("tree/target/skipped", "nor of this");
    let output = run(&SHORT, &[&prose, &scratch.0.join("tree")]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = stdout(&output);
    assert!(text.starts_with("a word and line index of 2 files"), "{text}");
    // The words are: the key is off site falls through on | fn main println naive
    assert!(text.contains("\n12 different words; "), "{text}");
    assert!(text.contains("\nwrong results: 0\n"), "{text}");
    // All keys were flipped at least once, one by one and in batches.
    assert!(number(&output, "flips: ") >= 16 + 16, "{text}");
    // Passes: two of phase 1, one of phase 2 and one in each mode, seven of phase 3.
    assert!(number(&output, "passes checked: ") >= 13, "{text}");
    assert!(number(&output, "; hooks ran ") > 0, "{text}");
    for row in ["hooks compiled out", "behind keys, off", "behind relaxed atomics, off", "behind keys, on"] {
        assert!(text.contains(row), "no {row:?} in:\n{text}");
    }
    if text.contains("no site to show") {
        return; // This build has the fallback.
    }
    for instruction in ["0f 1f 44 00 00   nop ", " jmp 0x", " test eax, 0x"] {
        assert!(text.contains(instruction), "no {instruction:?} in:\n{text}");
    }
    assert!(text.contains(" keys, ") && !text.contains(" 0 sites rewritten"), "{text}");
    assert!(number(&output, "the hash function (") >= 3, "{text}");
    // The jumps: as compiled, to two other functions, and to the first one again.
    let (_, rest) = text.split_once("the trampoline of").unwrap();
    let (trampoline, switch) =
        rest.split_once("a switch by the mode of").unwrap_or_else(|| panic!("no switch in:\n{text}"));
    let jumps: Vec<&str> = trampoline.lines().filter_map(|line| line.split(" jmp ").nth(1)).collect();
    assert!(jumps.len() == 4 && jumps[0] == jumps[3] && jumps[0] != jumps[1] && jumps[1] != jumps[2], "{text}");
    // At least one pass in each mode has counted or checked lookups. The switch's jumps: as compiled, two others, and the first one again.
    for label in ["lookups counted: ", "lookups checked: "] {
        assert!(number(&output, label) > 0, "{text}");
    }
    assert!(number(&output, "the mode of lookups (") >= 3, "{text}");
    let jumps: Vec<&str> = switch.lines().filter_map(|line| line.split(" jmp ").nth(1)).collect();
    assert!(jumps.len() == 4 && jumps[0] == jumps[3], "{text}");
    assert!(jumps[0] != jumps[1] && jumps[1] != jumps[2] && jumps[2] != jumps[0], "{text}");
    // The operation: the instruction, a nop, and the instruction again.
    let (_, operation) =
        text.split_once("the operation that counts lines").unwrap_or_else(|| panic!("none in:\n{text}"));
    let rows: Vec<&str> =
        operation.lines().skip(1).take(3).map(|row| row.trim_start_matches(char::is_alphabetic)).collect();
    assert!(rows[0].contains("lock add") && rows[1].contains("nop") && rows[2].contains("lock add"), "{text}");
}

#[test]
fn default_input() {
    let output = run(&["--seconds", "0"], &[]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(number(&output, "wrong results: "), 0);
}

/// A wrong result must be reported: otherwise "wrong results: 0" would mean nothing.
#[test]
fn wrong_result() {
    let scratch = Scratch::new("wrong");
    let file = scratch.file("words", "one two three\n");
    let output = run(&[&SHORT[..], &["--inject-wrong-result"]].concat(), &[&file]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let text = stdout(&output);
    assert!(text.contains("\nwrong results: 1\n  pass "), "{text}");
    assert!(text.contains(": word \"") && text.contains(" times on ") && text.contains(" instead of "), "{text}");
    assert_eq!(stderr(&output), "jumplabel-demo: 1 result is wrong\n");
}

#[test]
fn piped_output_is_plain_text() {
    let scratch = Scratch::new("plain");
    let file = scratch.file("words", "one two three\n");
    let odd = scratch.0.join("\x1b[31mred\r");
    let runs = [run(&SHORT, &[&file]), run(&[], &[&odd]), run(&["--no-such-option"], &[]), run(&["--help"], &[])];
    for output in runs {
        for byte in output.stdout.iter().chain(&output.stderr) {
            assert!(*byte == b'\n' || !byte.is_ascii_control(), "{output:?}");
        }
    }
}

#[test]
fn missing_file() {
    let scratch = Scratch::new("missing");
    let file = scratch.file("there", "words\n");
    let missing = scratch.0.join("not-there");
    assert_bad_input(&run(&SHORT, &[&file, &missing]), &format!("cannot read {missing:?}: No such file"));
}

#[test]
fn empty_input() {
    let scratch = Scratch::new("empty");
    let (empty, blank) = (scratch.file("empty", ""), scratch.file("blank", " \n\t--\n"));
    fs::create_dir(scratch.0.join("directory")).unwrap();
    for path in [&empty, &blank, &scratch.0.join("directory")] {
        assert_bad_input(&run(&SHORT, &[path]), "the input is empty: it contains no word");
    }
}

#[test]
fn not_text() {
    let scratch = Scratch::new("binary");
    let binary = scratch.file("binary", b"words\0words");
    assert_bad_input(&run(&SHORT, &[&binary]), "is not text");
    assert_bad_input(&run(&SHORT, &[Path::new("/dev/zero")]), "is neither a file nor a directory");
}

#[test]
fn bad_options() {
    assert_bad_input(&run(&["--no-such-option"], &[]), "--no-such-option");
    for bad in ["ten", "-1", "nan", "1e9"] {
        assert_bad_input(&run(&[&format!("--seconds={bad}")], &[]), "not a number of seconds");
    }
}

/// Permissions do not stop root. If root runs this test, the program runs as another user, from a copy that every user can reach.
#[test]
fn directory_without_permission() {
    let scratch = Scratch::new("permission");
    let program = scratch.0.join("program");
    jumplabel_testing::programs::copy(Path::new(PROGRAM), &program).unwrap();
    fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    scratch.file("outer/readable", "words\n");
    scratch.file("outer/inner/file", "words\n");
    let [outer, inner] = ["outer", "outer/inner"].map(|name| scratch.0.join(name));
    fs::set_permissions(&inner, Permissions::from_mode(0o000)).unwrap();
    let run = |path: &Path| {
        let mut command = Command::new(&program);
        command.args(SHORT).arg(path).current_dir("/");
        if fs::metadata("/proc/self").unwrap().uid() == 0 {
            command.uid(65534).gid(65534);
        }
        command.output().unwrap()
    };
    let message = format!("cannot read {inner:?}: Permission denied");
    for path in [&outer, &inner] {
        assert_bad_input(&run(path), &message);
    }
    fs::set_permissions(&inner, Permissions::from_mode(0o755)).unwrap();
    assert_eq!(run(&outer).status.code(), Some(0)); // It was the permission, nothing else.
}

#[test]
fn refused_flip() {
    let scratch = Scratch::new("refused");
    let file = scratch.file("words", "one two three\n");
    let output = Command::new(PROGRAM).args(SHORT).arg(&file).env("JUMPLABEL_WRITER", "no-such").output().unwrap();
    if stdout(&output).contains("no site to show") {
        return; // The fallback needs no writer.
    }
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(stdout(&output).contains("\nended early: a flip was refused\n"), "{output:?}");
    assert!(
        stderr(&output).starts_with("jumplabel-demo: cannot flip: there is no writer of this name: JUMPLABEL_WRITER"),
        "{output:?}"
    );
}
