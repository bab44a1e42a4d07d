//! Tests an operator's work on the program: the session of docs/operating.md, line by line. Results must stay right, whatever the operator sets.

#![cfg(all(target_os = "linux", target_arch = "x86_64", not(jumplabel_fallback)))]

use std::io::{Read, Write};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};

const PROGRAM: &str = env!("CARGO_BIN_EXE_jumplabel-demo");

/// The program with an agent, in a directory of its own.
struct Demo {
    child: Child,
    runtime: PathBuf,
}

impl Demo {
    fn start(name: &str, seconds: &str, environment: &[(&str, &str)]) -> Demo {
        let runtime = std::env::temp_dir().join(format!("jumplabel-operator-{}-{name}", std::process::id()));
        std::fs::create_dir(&runtime).unwrap();
        std::fs::write(runtime.join("text"), "One two, two\nthree ONE\n\nfour_4 two\n".repeat(100)).unwrap();
        let mut command = Command::new(PROGRAM);
        command.args(["--seconds", seconds]).arg(runtime.join("text"));
        command.env("JUMPLABEL_AGENT", format!("dir={}", runtime.join("agents").display()));
        command.envs(environment.iter().copied()).stdin(Stdio::null()).stdout(Stdio::piped());
        // A file, not a pipe, because nobody would read a pipe while the program runs.
        command.stderr(std::fs::File::create(runtime.join("stderr")).unwrap());
        Demo { child: command.spawn().unwrap(), runtime }
    }

    /// The path of the program's agent's socket.
    fn socket(&self) -> String {
        let file = format!("agents/jumplabel-demo.{}.sock", self.child.id());
        self.runtime.join(file).to_str().unwrap().to_owned()
    }

    /// Waits until the agent answers.
    fn ready(self) -> Demo {
        while jumplabel(&["list", &self.socket()]).0 == 3 {
            std::thread::yield_now();
        }
        self
    }

    /// Waits for the program's end. Returns its output.
    fn output(mut self) -> Output {
        let mut stdout = Vec::new();
        self.child.stdout.take().unwrap().read_to_end(&mut stdout).unwrap();
        let status = self.child.wait().unwrap();
        Output { status, stdout, stderr: std::fs::read(self.runtime.join("stderr")).unwrap() }
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.runtime);
    }
}

/// Runs the tool. Returns its exit code and its output, without colours.
fn jumplabel(words: &[&str]) -> (u8, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let all = ["jumplabel"].iter().chain(words).map(|&word| word.into());
    let code = jumplabel_cli::run(all, &mut out, &mut err);
    out.append(&mut err);
    (code, plain(&out))
}

fn plain(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut pieces = text.split('\u{1b}');
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |all, piece| all + piece.split_once('m').map_or("", |(_, rest)| rest))
}

/// The words of a line. Words that depend on the compiler, the processor or the process are replaced.
fn words(line: &str) -> Vec<String> {
    let is_hex = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let mut words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    for at in 0..words.len() {
        let before = at.checked_sub(1).map_or("", |before| &words[before]).to_owned();
        let word = &words[at];
        let is_address = word.ends_with(':') && is_hex(&word[..word.len() - 1]) || word.starts_with("0x");
        let is_number = matches!(&*before, "uid" | "(pid" | "since") || word.ends_with('Z') && word.contains(':');
        let is_byte = word.len() == 2 && is_hex(word);
        if is_address || is_number || is_byte || word.contains("+0x") || word.contains("src/") {
            words[at] = "ANY".to_owned();
        } else if matches!(&**word, "us" | "us," | "page," | "pages,") {
            words[at] = word.replace("pages", "page");
            words[at - 1] = "ANY".to_owned();
        }
    }
    words
}

/// Changes a site, as a tool of others might: writes the bytes that the site has after a flip of its key.
fn spoil(demo: &Demo, key: &str) {
    let pid = demo.child.id().to_string();
    // SAFETY: `kill` stops our child, so that no thread runs half an instruction.
    assert_eq!(unsafe { libc::kill(demo.child.id().cast_signed(), libc::SIGSTOP) }, 0);
    while !std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap().contains(") T ") {
        std::thread::yield_now();
    }
    let (_, shown) = jumplabel(&["disasm", &pid, key, "--site", "0"]);
    let flip = shown.lines().find(|line| line.trim_start().starts_with("flip")).unwrap();
    let hex = |word: &str| u64::from_str_radix(word.trim_end_matches(':'), 16).unwrap();
    let row: Vec<u64> = flip.split_whitespace().skip(1).take(6).map(hex).collect();
    let bytes: Vec<u8> = row[1..].iter().map(|&byte| byte as u8).collect();
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    let base = hex(maps.split('-').next().unwrap());
    let memory = std::fs::OpenOptions::new().write(true).open(format!("/proc/{pid}/mem")).unwrap();
    memory.write_all_at(&bytes, base + row[0]).unwrap();
    // SAFETY: `kill` lets our child go on: its instruction is whole again.
    unsafe { libc::kill(demo.child.id().cast_signed(), libc::SIGCONT) };
}

/// The output of `watch`, which is read while it runs.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Lines {
    fn first(&self, count: usize) -> Vec<String> {
        loop {
            let text = plain(&self.0.lock().unwrap());
            if text.lines().count() >= count {
                return text.lines().map(str::to_owned).collect();
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }
}

/// The session: commands, and their expected outputs.
fn session() -> Vec<(&'static str, Vec<&'static str>)> {
    let document = include_str!("../../../docs/operating.md");
    let has_demo = |block: &&str| block.starts_with("```text\n$ jumplabel list ./jumplabel-demo");
    let start = document.match_indices("```text\n").map(|(at, _)| &document[at..]).find(has_demo).unwrap();
    let mut commands: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in start.lines().skip(1).take_while(|line| *line != "```") {
        match line.strip_prefix("$ ") {
            Some(command) => commands.push((command.split("  #").next().unwrap().trim(), Vec::new())),
            None => commands.last_mut().unwrap().1.push(line),
        }
    }
    commands
}

#[test]
fn the_session() {
    let demo = Demo::start("session", "86400", &[]).ready();
    let (pid, socket, watched) = (demo.child.id().to_string(), demo.socket(), Lines::default());
    // Another operator has set a key before.
    assert_eq!(jumplabel(&["set", &socket, "cache.verify=on"]).0, 0);
    spoil(&demo, "cache.keep");
    let mut out = watched.clone();
    let words_of_watch = ["jumplabel", "watch", &socket].map(|word| word.to_owned().into());
    std::thread::spawn(move || jumplabel_cli::run(words_of_watch, &mut out, &mut Vec::new()));
    // `watch` may not be connected yet. It shows only changes that are made after it has connected.
    while watched.0.lock().unwrap().is_empty() {
        jumplabel(&["set", &socket, "cache.verify=off"]);
        jumplabel(&["set", &socket, "cache.verify=on"]);
    }
    let mut shown = 0;
    let mut commands = 0;
    for (command, expected) in session() {
        let expected: Vec<_> = expected.iter().map(|line| line.replace("30 s", "1 s").replace("4711", "PID")).collect();
        let is_memory = command.contains("disasm");
        let target = if is_memory { &pid } else { &socket };
        let is_code = command.ends_with("; echo $?");
        let command = command.trim_end_matches("; echo $?").replace("30s", "1s");
        let parts: Vec<String> = command
            .split_whitespace()
            .map(|word| match word.trim_matches('\'') {
                "4711" => target.clone(),
                "./jumplabel-demo" => PROGRAM.to_owned(),
                word => word.to_owned(),
            })
            .collect();
        let ["jumplabel", rest @ ..] = &*parts.iter().map(String::as_str).collect::<Vec<_>>() else {
            assert!(command.ends_with('&') && command.contains("JUMPLABEL_AGENT=1"), "{command}");
            continue;
        };
        let printed = if rest[0] == "watch" {
            let lines = watched.first(shown + expected.len());
            lines[shown..shown + expected.len()].join("\n")
        } else {
            // The lines that `watch` prints from now on are about this command.
            shown = if rest[0] == "set" { settled(&watched) } else { shown };
            let (code, mut printed) = jumplabel(rest);
            if is_code {
                printed += &format!("{code}\n");
            } else {
                assert_eq!(code, 0, "$ {command}\n{printed}");
            }
            printed.replace(&socket, "PID").replace(PROGRAM, "./jumplabel-demo")
        };
        let of = |lines: &mut dyn Iterator<Item = &str>| lines.map(words).collect::<Vec<_>>();
        let expected = of(&mut expected.iter().map(String::as_str));
        assert_eq!(of(&mut printed.lines()), expected, "$ {command}\n{printed}");
        commands += 1;
    }
    assert!(commands >= 7, "{commands}");
}

/// The number of lines that `watch` has printed, once no more come: they are those of all changes so far.
fn settled(watched: &Lines) -> usize {
    let count = || plain(&watched.0.lock().unwrap()).lines().count();
    let mut before = count();
    loop {
        std::thread::sleep(std::time::Duration::from_millis(50));
        match count() {
            now if now == before => return now,
            now => before = now,
        }
    }
}

/// Results stay right, whatever an operator sets while the program runs. The program prints what it did for the operator.
#[test]
fn results_stay_right() {
    let demo = Demo::start("flips", "1", &[]).ready();
    let (socket, mut flips, mut refused) = (demo.socket(), 0, 0);
    let all = |value: &str| ["pass.trace", "cache.verify", "cache.keep"].map(|key| format!("{key}={value}"));
    for value in ["on", "off"].iter().cycle() {
        let items = all(value);
        let words: Vec<&str> = ["set", &socket].into_iter().chain(items.iter().map(String::as_str)).collect();
        match jumplabel(&words).0 {
            0 => flips += 1,
            _ => break, // The program has ended.
        }
        for items in [&["*KEYS*=on"][..], &["*::LOOKUP=2", "cache.keep=off"]] {
            let (code, why) = jumplabel(&[&["set", &socket], items].concat());
            // With another code than 4, the program has ended.
            assert!(code != 0 && (code != 4 || why.contains("lets nobody change it from outside")), "{code} {why}");
            refused += u32::from(code == 4);
        }
    }
    right(&demo.output(), true);
    assert!(flips > 0 && refused > 0);
}

/// The start-up variable may name all keys. Results stay right.
#[test]
fn variable() {
    let all = "pass.trace=on,cache.verify=on,cache.keep=off,*KEYS*=on,*::LOOKUP=2,*::TALLY=1";
    let demo = Demo::start("variable", "0.2", &[("JUMPLABEL", all)]);
    let output = demo.output();
    right(&output, true);
    assert!(String::from_utf8_lossy(&output.stderr).contains("jumplabel-demo: a thread begins a pass, "), "{output:?}");
}

/// Without requests by an operator, the program prints nothing about them.
#[test]
fn nobody_asks() {
    let output = Demo::start("nobody", "0.2", &[("JUMPLABEL_AGENT", "0")]).output();
    right(&output, false);
    assert!(output.stderr.is_empty(), "{output:?}");
}

#[track_caller]
fn right(output: &Output, is_asked: bool) {
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("\nwrong results: 0\n"), "{output:?}");
    assert_eq!(text.contains("by an operator: "), is_asked, "{text}");
}
