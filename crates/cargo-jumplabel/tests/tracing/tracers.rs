//! Tests tracers on a running program, test-crates/traced with the patched tracing. They attach to notes of callsites, and to the tracepoint that all
//! callsites share.
#![cfg(target_arch = "x86_64")]

use std::io::{BufRead, BufReader};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Stdio};

use jumplabel_testing::cargo::run;

use crate::live::Traced;
use crate::programs;

/// The callsite that these tests trace, and another one.
const ONE: &str = "trace:noisy@noisy/src/lib.rs:9";
const OTHER: &str = "trace:elsewhere@noisy/src/lib.rs:16";

/// The text that `readelf` prints about a note.
fn note(program: &Path, provider: &str, name: &str) -> String {
    let notes = run(Command::new("readelf").arg("-nW").arg(program));
    let is_it =
        |note: &&str| note.contains(&format!("Provider: {provider}\n")) && note.contains(&format!("Name: {name}\n"));
    notes.split("stapsdt ").find(is_it).unwrap_or_else(|| panic!("{notes}")).to_owned()
}

fn is_on(traced: &Traced, callsite: &str) -> bool {
    traced.0.prints(&["list", callsite]).contains("event, on")
}

/// Writes into a semaphore, as a tracer does that does not let the kernel count.
struct Semaphore {
    memory: std::fs::File,
    address: u64,
}

impl Semaphore {
    fn of(traced: &Traced, program: &Path, note: &str) -> Semaphore {
        let number = |text: &str| u64::from_str_radix(text.trim().trim_start_matches("0x"), 16).unwrap();
        let semaphore = number(note.split("Semaphore: ").nth(1).unwrap().lines().next().unwrap());
        let process = format!("/proc/{}", traced.0.child.id());
        let maps = std::fs::read_to_string(format!("{process}/maps")).unwrap();
        let first = maps.lines().find(|line| line.ends_with(program.to_str().unwrap())).unwrap();
        let memory = std::fs::OpenOptions::new().write(true).open(format!("{process}/mem")).unwrap();
        Semaphore { memory, address: semaphore + number(first.split('-').next().unwrap()) }
    }

    fn set(&self, to: u16) {
        self.memory.write_all_at(&to.to_le_bytes(), self.address).unwrap();
    }
}

/// While a tracer is attached to `tracing:reached`, each callsite's key is on. The subscriber sees no more than before.
#[test]
fn traced_by_others() {
    let program = &programs().patched;
    let mut traced = Traced::start(program, "off");
    let quiet = traced.works();
    assert!(!is_on(&traced, ONE));
    let note = note(program, "tracing", "reached");
    assert!(note.contains("Arguments: 8@0(%rax) 8@8(%rax) 8@16(%rax)"), "{note}");
    let semaphore = Semaphore::of(&traced, program, &note);
    semaphore.set(1);
    while !is_on(&traced, ONE) {
        std::thread::yield_now();
    }
    assert_eq!(traced.works(), quiet);
    // The agent says what keeps the key on.
    let row = traced.0.prints(&["list", "tracing:reached"]);
    assert!(row.contains(" on ") && row.contains("a tracer is attached"), "{row}");
    let differs = (1, "tracing:reached is on, not off (a tracer is attached)\n".to_owned());
    assert_eq!(traced.0.tool(&["check", "tracing:reached=off"]), differs);
    semaphore.set(0);
    while is_on(&traced, ONE) {
        std::thread::yield_now();
    }
    assert_eq!(traced.works(), quiet);
    assert!(!traced.0.prints(&["list", "tracing:reached"]).contains("tracer is"));
}

/// A tracer of one callsite turns on its key and no other, with a subscriber and without. The subscriber sees the same events as before.
#[test]
fn one_callsite_is_traced() {
    let program = &programs().patched;
    let note = note(program, "noisy", "line_9");
    assert!(note.contains("Arguments: 8@0(%rax) 8@8(%rax) 8@16(%rax) 8@24(%rax)"), "{note}");
    for (filter, wanted) in [("none", false), ("off", false), ("trace", true)] {
        let mut traced = Traced::start(program, filter);
        let before = traced.works();
        let semaphore = Semaphore::of(&traced, program, &note);
        let says = |traced: &Traced| traced.0.prints(&["list", ONE]).contains("TRACE event, on by a tracer");
        assert_eq!((is_on(&traced, ONE), says(&traced)), (wanted, false), "{filter}");
        semaphore.set(2);
        while !says(&traced) {
            std::thread::yield_now();
        }
        assert_eq!((is_on(&traced, OTHER), traced.works()), (wanted, before.clone()), "{filter}");
        semaphore.set(0);
        while says(&traced) {
            std::thread::yield_now();
        }
        assert_eq!((is_on(&traced, ONE), traced.works()), (wanted, before), "{filter}");
    }
}

/// bpftrace lists callsites by their names, attaches to one, which turns its key on, gets its text and its level, and detaches.
#[test]
fn bpftrace() {
    let shell = |command: &str| {
        let mount = "[ -e /sys/kernel/tracing/uprobe_events ] || mount -t tracefs t /sys/kernel/tracing 2>/dev/null;";
        let mut shell = Command::new("unshare");
        shell.args(["--mount", "timeout", "-k1", "100", "sh", "-c", &format!("{mount} {command}")]);
        shell
    };
    let works = shell("bpftrace -e 'BEGIN { exit(); }'").output();
    if !works.is_ok_and(|output| output.status.success()) {
        println!("skipped: needs bpftrace, root, and a kernel that lets it work");
        return;
    }
    let program = &programs().patched;
    let (path, mut traced) = (program.display(), Traced::start(program, "off"));
    let quiet = traced.works();
    let listed = run(&mut shell(&format!("bpftrace -l 'usdt:{path}:noisy:*'")));
    assert!(listed.lines().any(|line| line.ends_with(":noisy:line_9")), "{listed}");
    let shows = "{ printf(\"%d %s\\n\", arg2, str(arg0, arg1)); exit(); }";
    let process = traced.0.child.id();
    let mut child = shell(&format!("bpftrace -p {process} -e 'usdt:{path}:noisy:line_9 {shows}'"))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    while child.try_wait().unwrap().is_none() {
        assert_eq!(traced.works(), quiet);
    }
    let lines: Vec<_> = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap).collect();
    assert!(lines.iter().any(|line| line == "5 x=2 one" || line == "5 one x=2"), "{lines:?}");
    while is_on(&traced, ONE) {
        std::thread::yield_now();
    }
    assert_eq!(traced.works(), quiet);
}
