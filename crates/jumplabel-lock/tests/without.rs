//! Without the feature `blocking`, a program has the same bytes as with a lock whose source does not know the feature.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;
use std::process::Command;

/// The line before a line that only one of the two builds has.
const WITH: &str = "#[cfg(feature = \"blocking\")]";
const WITHOUT: &str = "#[cfg(not(feature = \"blocking\"))]";

const PROGRAM: &str = "
use std::sync::Arc;
fn main() {
    let lock = Arc::new(jumplabel_lock::Lock::new(0_u64));
    let count = |lock: Arc<jumplabel_lock::Lock<u64>>| (0..1000).for_each(|_| *lock.lock() += 1);
    let other = std::thread::spawn({ let lock = Arc::clone(&lock); move || count(lock) });
    count(Arc::clone(&lock));
    other.join().unwrap();
    println!(\"{}\", *lock.lock());
}
";

/// The source of the crate without the lines for the feature.
fn stripped() -> String {
    let source = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs")).unwrap();
    let mut lines = source.lines();
    let mut kept = String::new();
    while let Some(line) = lines.next() {
        match line {
            WITH => assert!(lines.next().unwrap().ends_with(';'), "an item of one line"),
            WITHOUT => {}
            _ => kept += &format!("{line}\n"),
        }
    }
    assert!(!kept.contains("cfg(") && kept.len() < source.len());
    kept
}

fn rustc(arguments: &[&str], directory: &Path) {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).args(arguments).current_dir(directory).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Builds the program with this source of the lock, and returns its bytes. All builds use the same paths.
fn program(directory: &Path, source: &str) -> Vec<u8> {
    let _ = fs::remove_dir_all(directory);
    fs::create_dir_all(directory).unwrap();
    fs::write(directory.join("lock.rs"), source).unwrap();
    fs::write(directory.join("main.rs"), PROGRAM).unwrap();
    let options = ["--edition=2024", "-Copt-level=3", "-Ccodegen-units=1"];
    rustc(&[&options[..], &["--crate-type=rlib", "--crate-name=jumplabel_lock", "lock.rs"]].concat(), directory);
    rustc(
        &[&options[..], &["--extern=jumplabel_lock=libjumplabel_lock.rlib", "main.rs", "-oprogram"]].concat(),
        directory,
    );
    let output = Command::new(directory.join("program")).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "2000\n");
    fs::read(directory.join("program")).unwrap()
}

#[test]
#[cfg_attr(miri, ignore = "builds programs")]
fn byte_for_byte() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("without");
    let source = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs")).unwrap();
    let without = stripped();
    let off = program(&directory, &source);
    assert!(off == program(&directory, &without), "the option leaves something behind when it is off");
    // A broken twin: the test must notice a difference of one instruction.
    let traced =
        without.replace("word.state.store(FREE, Ordering::Release);", "word.state.fetch_sub(HELD, Ordering::Release);");
    assert!(traced != without && off != program(&directory, &traced));
}

/// A program must ask for the feature. If it does not, it does not depend on jumplabel.
#[test]
#[cfg_attr(miri, ignore = "starts cargo")]
fn off_by_default() {
    let tree = |features: &[&str]| {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["tree", "--offline", "-p", "jumplabel-lock", "-e", "normal", "--prefix", "none"]).args(features);
        let output = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let has = |tree: &str| tree.lines().any(|line| line.starts_with("jumplabel v"));
    assert!(!has(&tree(&[])) && has(&tree(&["--features", "blocking"])), "{}", tree(&[]));
}
