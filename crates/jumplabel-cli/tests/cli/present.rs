//! Processes, of which `sites`, `disasm` and `check --force` decode each kind of site, as they do for a file.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::OnceLock;

use jumplabel_testing::programs::wait_until_begun;

use crate::link_c::link;
use crate::programs::{Printed, compiled, copy, jumplabel, prints, text};
use crate::server::Server;

/// tests/c/present.c.
struct Present {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Present {
    fn start(program: &Path) -> Present {
        let mut child = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        wait_until_begun(child.id());
        let lines = BufReader::new(child.stdout.take().unwrap());
        let mut present = Present { child, lines };
        present.ready();
        present
    }

    fn ready(&mut self) {
        let mut line = String::new();
        assert!(self.lines.read_line(&mut line).unwrap() > 0 && line.ends_with("ready\n"), "{line}");
    }

    /// All changes at once.
    fn change(&mut self) {
        self.child.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
        self.ready();
    }

    fn tool(&self, command: &[&str], words: &[&str]) -> Printed {
        jumplabel(&[command, &[&self.child.id().to_string()], words].concat())
    }

    #[track_caller]
    fn prints(&self, command: &[&str], words: &[&str]) -> String {
        let printed = self.tool(command, words);
        assert_eq!((printed.code, &*printed.err), (0, ""), "{command:?} {words:?}: {}", printed.out);
        printed.out
    }

    fn sites(&self) -> Vec<[String; 3]> {
        rows(&self.prints(&["sites"], &[]))
    }
}

impl Drop for Present {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// How far from the addresses of its file a process lies.
fn bias(pid: &str) -> u64 {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    u64::from_str_radix(maps.split('-').next().unwrap(), 16).unwrap()
}

/// Bytes as `sites` prints them.
fn numbers(hex: &str) -> Vec<u8> {
    (0..hex.len() / 2).map(|at| u8::from_str_radix(&hex[2 * at..][..2], 16).unwrap()).collect()
}

/// Key, state and bytes of each site, but for those of the alternatives, which have no name.
fn rows(sites: &str) -> Vec<[String; 3]> {
    let row = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        [words[3], words[2], words[1]].map(str::to_owned)
    };
    let mut rows: Vec<_> = sites.lines().skip(1).map(row).collect();
    rows.sort();
    rows
}

fn names(rows: &[[String; 3]]) -> Vec<[&str; 2]> {
    rows.iter().map(|[key, state, _]| [&**key, &**state]).collect()
}

fn program() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let options = "-O2 -g -fPIE -pie -fcf-protection=none -Wl,--emit-relocs";
        compiled("tests/c/present.c", "present", "gcc", options)
    })
}

/// The same with calls that the table lists.
fn linked() -> &'static Path {
    static LINKED: OnceLock<PathBuf> = OnceLock::new();
    LINKED.get_or_init(|| {
        let file = copy(program(), "present-linked", &[]);
        link(&file, &[]);
        file
    })
}

const THERE: [&str; 4] = ["trace=on", "policy=3", "hash=other", "events=1"];
const BACK: [&str; 5] = ["trace=off", "policy=1", "hash=plain", "events=0", "say=silent"];

/// As in the file, then changed, then back: the sites of each kind, and what they lead to.
#[test]
fn each_kind() {
    let before = [
        ["__jumplabel_alternatives", "in-place"],
        ["events", "in-place"],
        ["hash", "direct"],
        ["policy", "arm"],
        ["say", "direct"],
        ["trace", "nop"],
    ];
    let of_file = rows(&prints("sites", program(), &[]));
    assert_eq!(names(&of_file), before);
    let mut process = Present::start(program());
    assert_eq!(process.sites(), of_file);
    assert_eq!(process.prints(&["check", "--force"], &BACK), "");
    assert_eq!(process.prints(&["disasm"], &["policy"]), prints("disasm", program(), &["policy"]));
    assert_eq!(process.prints(&["disasm"], &["events"]), prints("disasm", program(), &["events"]));

    process.change();
    let changed = process.sites();
    let states = [
        ["__jumplabel_alternatives", "in-place"],
        ["events", "by-stub"],
        ["hash", "direct"],
        ["policy", "arm"],
        ["say", "indirect"],
        ["trace", "jump"],
    ];
    assert_eq!(names(&changed), states);
    let is_other = |row: usize| changed[row][2] != of_file[row][2];
    assert!((0..6).all(|row| is_other(row) || row == 0 && !jumplabel::alternatives::has("cmpxchg16b")), "{changed:?}");
    assert_eq!(process.prints(&["check", "--force"], &THERE), "");
    assert_eq!(process.prints(&["check", "--force"], &[]), "");
    // The twin: what it is no more.
    let printed = process.tool(&["check", "--force"], &BACK);
    let expected = "trace is on, not off\npolicy is 3/4, not 1\nhash is other, not plain\nevents is 1/3, not 0\n";
    assert!(printed.code == 1 && printed.out.starts_with(expected), "{printed:?}");
    let now = |key: &str| {
        let printed = process.prints(&["disasm"], &[key]);
        printed.lines().find(|line| line.starts_with(" now")).unwrap().to_owned()
    };
    for (key, instruction, means) in [
        ("policy", "jmp", "; 3/4"),
        ("hash", "jmp", "; other"),
        ("events", "jmp", "; 1/3"),
        ("trace", "jmp", "; on"),
        // A function of another object, out of reach of a jump.
        ("say", "test", "puts"),
    ] {
        let line = now(key);
        assert!(line.contains(instruction) && line.contains(means), "{key}: {line}");
    }
    let flips = process.prints(&["disasm"], &["policy"]);
    assert!([0, 1, 2].iter().all(|mode| flips.contains(&format!("; {mode}/4"))), "{flips}");
    process.change();
    let back = process.sites();
    let is_back = |row: usize| back[row] == of_file[row];
    assert!((1..5).all(is_back), "{back:?}");
    assert_eq!(process.prints(&["check", "--force"], &BACK), "");
}

/// Calls that `jumplabel link` lists.
#[test]
fn linked_calls() {
    let is_call = |row: &&[String; 3]| row[1] == "calls";
    let of_file = rows(&prints("sites", linked(), &["hash", "say"]));
    assert!(of_file.iter().any(|row| is_call(&row)), "{of_file:?}");
    let mut process = Present::start(linked());
    let sites = |process: &Present| rows(&process.prints(&["sites"], &["hash", "say"]));
    assert_eq!(sites(&process), of_file);
    process.change();
    assert_eq!(process.prints(&["check", "--force"], &THERE), "");
    let calls = process.prints(&["disasm"], &["hash"]);
    assert!(calls.lines().filter(|line| line.starts_with(" now")).all(|line| line.ends_with("; other")), "{calls}");
    process.change();
    assert_eq!(sites(&process), of_file);
    assert_eq!(process.prints(&["check", "--force"], &BACK), "");
}

/// The bytes of the file come back, of one key after the other, as they do when a page of the text is read again: `check` names each.
#[test]
fn strayed() {
    let mut process = Present::start(program());
    let bias = bias(&process.child.id().to_string());
    let memory = format!("/proc/{}/mem", process.child.id());
    let memory = std::fs::OpenOptions::new().read(true).write(true).open(memory).unwrap();
    let listed = prints("sites", program(), &[]);
    process.change();
    for line in listed.lines().skip(1) {
        let [address, bytes, _, key, ..] = line.split_whitespace().collect::<Vec<_>>()[..] else { panic!("{line}") };
        let address = bias + u64::from_str_radix(&address[2..], 16).unwrap();
        let bytes = numbers(bytes);
        let mut ours = bytes.clone();
        memory.read_exact_at(&mut ours, address).unwrap();
        if ours == bytes {
            assert!(!jumplabel::alternatives::has("cmpxchg16b"), "{line}");
            continue;
        }
        for (written, why) in [(bytes, ", and the "), (vec![0xcc; ours.len()], "holds foreign bytes [cc, cc")] {
            // It waits for a line, and is in no site.
            memory.write_all_at(&written, address).unwrap();
            let printed = process.tool(&["check", "--force"], &[]);
            let expected = format!("{key}: the site at {address:#x} ");
            assert!(
                printed.code == 4 && printed.out.starts_with(&expected) && printed.out.contains(why),
                "{printed:?}"
            );
            assert_eq!(printed.out.lines().count(), 1, "{}", printed.out);
            for command in [&["sites"][..], &["disasm"]] {
                let printed = process.tool(command, &[key]);
                assert!(printed.code == 4 && printed.err.contains("1 of 1 site differs from the table"), "{printed:?}");
            }
        }
        memory.write_all_at(&ours, address).unwrap();
        assert_eq!(process.prints(&["check", "--force"], &[]), "");
    }
}

/// An agent looks at sites of keys alone; the tool, at all of the same process.
#[test]
fn beside_an_agent() {
    let server = Server::start("present", "name=web");
    server.prints(&["set", "@web", "operated::MODE=2"]);
    assert_eq!(
        server.prints(&["check", "--force", &server.pid(), "operated::MODE=2", "operated::HASH=operated::plain"]),
        ""
    );
    let of_file = prints("sites", crate::programs::program(), &["operated::MODE"]);
    let [address, bytes, ..] = of_file.lines().nth(1).unwrap().split_whitespace().collect::<Vec<_>>()[..] else {
        panic!("{of_file}")
    };
    let (bias, memory) = (bias(&server.pid()), format!("/proc/{}/mem", server.pid()));
    let memory = std::fs::OpenOptions::new().write(true).open(memory).unwrap();
    let address = bias + u64::from_str_radix(&address[2..], 16).unwrap();
    memory.write_all_at(&numbers(bytes), address).unwrap();
    assert_eq!(server.prints(&["check", "@web"]), "");
    let (code, out, _) = server.tool(&["check", "--force", &server.pid()]);
    let expected = format!("operated::MODE: the site at {address:#x} is `arm` of 1, and the mode is 2/3\n");
    assert_eq!((code, out), (4, expected));
    assert_eq!(server.prints(&["check", "@web", "--repair"]), "1 site repaired\n");
    assert_eq!(server.prints(&["check", "--force", &server.pid()]), "");
}

/// Stripped, only the names are missing.
#[test]
fn stripped() {
    let mut process = Present::start(&copy(program(), "present-stripped", &["strip"]));
    process.change();
    let states: Vec<_> = process.sites().into_iter().map(|[_, state, _]| state).collect();
    let count = |word: &str| states.iter().filter(|state| *state == word).count();
    assert_eq!(["jump", "arm", "direct", "indirect", "by-stub", "in-place"].map(count), [1; 6], "{states:?}");
    assert_eq!(process.prints(&["check", "--force"], &[]), "");
}

/// By the object that it is in.
#[test]
fn objects() {
    let process = Present::start(program());
    let path = text(program()).to_owned();
    let of_program = format!("obj:{path}");
    let [all, of_program] = [&[][..], &[&*of_program]].map(|words| process.prints(&["sites"], words));
    assert_eq!(all, of_program);
    assert_eq!(process.tool(&["sites"], &["obj:libnobody.so"]).code, 1);
}
