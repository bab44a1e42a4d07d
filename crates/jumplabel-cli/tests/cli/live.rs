//! Commands on a process.

use std::io::{BufRead, BufReader};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use jumplabel_agent::directory::sockets;

use crate::programs::{program, scratch};
use crate::server::Server;

fn rows(printed: &str) -> Vec<Vec<&str>> {
    printed.lines().map(|line| line.split_whitespace().collect()).collect()
}

#[test]
fn list_set_check() {
    let server = Server::start("set", "name=web");
    for target in [&*server.pid(), "@web"] {
        let printed = server.prints(&["list", target, "net.*", "operated::MODE"]);
        let expected = [
            ["KEY", "STATE", "COUNT", "SITES", "NOTE"],
            ["net.trace", "off", "0", "2", "-"],
            ["net.unused", "off", "0", "0", "-"],
            ["operated::MODE", "1/3", "-", "1", "-"],
        ];
        assert_eq!(rows(&printed), expected);
    }
    let tried = server.prints(&["set", "@web", "net.*=on", "--dry-run"]);
    assert!(tried.contains("nothing was changed; the undo would be: jumplabel set @web net.trace=off net.unused=off"));
    let printed = server.prints(&["set", "@web", "net.trace=on", "operated::MODE=2", "--for", "1000s"]);
    let cost = printed.lines().nth(3).unwrap();
    assert!(cost.starts_with("3 sites in ") && cost.contains(" page") && cost.ends_with(" us"), "{cost}");
    let expected = [
        vec!["KEY", "FROM", "TO", "SITES"],
        vec!["net.trace", "off", "on", "2"],
        vec!["operated::MODE", "1/3", "2/3", "1"],
        cost.split(' ').collect(),
        "undo: jumplabel set @web net.trace=off operated::MODE=1 (by itself in 1000 s)".split(' ').collect(),
    ];
    assert_eq!(rows(&printed), expected);
    assert_eq!(server.prints(&["check", "@web", "net.trace=on", "operated::MODE=2"]), "");
    let (code, out, _) = server.tool(&["check", &server.pid(), "net.*=on"]);
    assert_eq!((code, &*out), (1, "net.unused is off, not on\n"));
    let note = server.prints(&["list", "@web", "net.trace"]);
    assert!(note.contains("since ") && note.contains("s by uid ") && note.contains("back in "), "{note}");
    // The undo, as it was printed.
    let undo = printed.lines().last().unwrap().strip_prefix("undo: jumplabel ").unwrap();
    let words: Vec<_> = undo.split("   ").next().unwrap().split(' ').collect();
    server.prints(&words);
    assert_eq!(server.prints(&["check", "@web", "net.trace=off", "operated::MODE=1"]), "");
    assert_eq!(server.prints(&["set", "@web", "net.trace=off"]), "nothing to change\n");
    let json = server.prints(&["list", "@web", "net.trace", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&json["version"], &json["keys"][0]["state"]), (&1.into(), &"off".into()));
    let json: serde_json::Value =
        serde_json::from_str(&server.prints(&["set", "@web", "net.trace+1", "--json"])).unwrap();
    assert_eq!(json["set"]["undo"], "net.trace-1");
}

#[test]
fn watch() {
    let server = Server::start("watch", "name=web");
    let mut watching: Vec<_> = [&["watch", "@web"][..], &["watch", "@web", "--json"]]
        .map(|words| server.command(words).stdout(Stdio::piped()).spawn().unwrap())
        .into();
    let mut lines: Vec<_> =
        watching.iter_mut().map(|child| BufReader::new(child.stdout.take().unwrap()).lines()).collect();
    // Nobody sees that they have begun but by a change: one is made until both have shown it.
    let seen = AtomicBool::new(false);
    let first = std::thread::scope(|scope| {
        scope.spawn(|| {
            for value in ["on", "off"].iter().cycle() {
                if seen.load(Relaxed) {
                    break;
                }
                server.tool(&["set", "@web", &format!("net.trace={value}")]);
            }
        });
        let first = [0, 1].map(|at: usize| lines[at].next());
        seen.store(true, Relaxed);
        first
    });
    let [text, json] = first.map(|line| line.unwrap().unwrap());
    assert!(text.contains("Z  net.trace  o") && text.contains(" -> o") && text.contains("  by uid "), "{text}");
    assert!(text.contains(", 2 sites in ") && text.contains(" us"), "{text}");
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["event"]["changes"][0]["key"], "net.trace");
    // They end with the process.
    drop(server);
    drop(lines);
    assert!(watching.iter_mut().all(|child| child.wait().unwrap().success()));
}

#[test]
fn refused() {
    let server = Server::start("refused", "read-only,name=web");
    server.refuses(&["set", "@web", "net.trace=on"], 4, "@web: the agent is read-only");
    server.refuses(&["set", "@web", "net.trace", "--dry-run"], 2, "say what it is to be");
    server.refuses(&["set", "@web", "operated::HASH=receive", "--dry-run"], 2, "is a static call");
    server.refuses(&["set", "@web", "a b=on"], 2, "write ? for each blank");
    server.refuses(&["set", "@web", "a,b=on"], 2, "write ? for each blank");
    server.refuses(&["set", "@web", &format!("{}=on", "x".repeat(4096))], 2, "takes 4096 bytes in all");
    server.refuses(&["set", "@web", "net.trace=on", "--for", "0"], 2, "for takes seconds");
    server.refuses(&["set", "./server", "net.trace=on"], 2, "`./server`: give a process");
    server.refuses(&["list", "@web", "fn:receive"], 2, "does not know functions");
    server.refuses(&["check", program().to_str().unwrap(), "--repair"], 2, "--repair is for sites of a process");
    server.refuses(&["list", "@web", "nobody.*"], 1, "nothing matches `nobody.*`");
    server.refuses(&["list", "@other"], 3, "@other: no agent in ");
    server.refuses(&["watch", "1"], 3, "1: no agent in ");
    // A second one of the name; one that has ended counts no more.
    let second = |words: &str| {
        let mut command = Command::new(program());
        command.arg("serve").env("XDG_RUNTIME_DIR", &server.runtime).env("JUMPLABEL_AGENT", words);
        Server { runtime: server.runtime.clone(), child: command.stderr(Stdio::null()).spawn().unwrap() }
    };
    let other = second("name=web");
    other.ready();
    server.refuses(&["list", "@web"], 2, "@web: there are several; give a number: ");
    let found = sockets(&server.runtime.join("jumplabel")).unwrap();
    let mut child = std::mem::ManuallyDrop::new(other);
    child.child.kill().unwrap();
    child.child.wait().unwrap();
    server.prints(&["list", "@web"]);
    let left = found.iter().find(|socket| socket.pid == child.child.id()).unwrap();
    server.refuses(&["list", left.path.to_str().unwrap()], 3, "nobody listens any more");
    server.refuses(&["list", &child.child.id().to_string()], 3, "nobody listens any more");
}

/// Something else that listens there.
#[test]
fn no_agent() {
    let server = Server::start("none", "1");
    let path = server.runtime.join("socket");
    for (says, why) in [
        ("hello\n", "no agent: expected"),
        ("{\"version\":2}\n", "speaks version 2"),
        ("", "the agent closed the connection before it answered: it serves so many clients at a time"),
    ] {
        let listener = UnixListener::bind(&path).unwrap();
        let other = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = BufReader::new(stream.try_clone().unwrap()).read_line(&mut String::new());
            std::io::Write::write_all(&mut stream, says.as_bytes()).unwrap();
        });
        server.refuses(&["list", path.to_str().unwrap()], 3, why);
        other.join().unwrap();
        std::fs::remove_file(&path).unwrap();
    }
}

/// Lines of JSON: each is answered, and what makes no sense is found before anything is set.
#[test]
fn apply() {
    let server = Server::start("apply", "name=web");
    let applied = |lines: &str| {
        let file = server.runtime.join("lines");
        std::fs::write(&file, lines).unwrap();
        let by_name = server.tool(&["apply", file.to_str().unwrap()]);
        let answers: Vec<serde_json::Value> =
            by_name.1.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        (by_name.0, answers, by_name.2)
    };
    let pid = server.pid();
    let (code, answers, said) = applied(&format!(
        "{{\"process\":\"@web\",\"set\":[\"net.trace=on\"],\"for\":1000}}\n\n\
         {{\"process\":\"@nobody\",\"set\":[\"net.trace=on\"]}}\n\
         {{\"process\":\"{pid}\",\"set\":[\"nothing.*=on\"]}}\n\
         {{\"process\":\"{pid}\",\"set\":[\"operated::MODE=2\",\"net.trace+1\"],\"dry_run\":true}}\n\
         {{\"process\":\"{pid}\",\"set\":[\"operated::MODE=2\"]}}\n"
    ));
    assert_eq!((code, &*said), (3, ""));
    let brief = |answer: &serde_json::Value| {
        (answer["process"].to_string(), answer["status"].as_u64(), answer["set"]["undo"].to_string())
    };
    let pid = format!("\"{pid}\"");
    let expected = [
        ("\"@web\"", 0, "\"net.trace=off\""),
        ("\"@nobody\"", 3, "null"),
        (&pid, 1, "null"),
        (&pid, 0, "\"net.trace-1,operated::MODE=1\""),
        (&pid, 0, "\"operated::MODE=1\""),
    ];
    let expected = expected.map(|(process, status, undo)| (process.to_owned(), Some(status), undo.to_owned()));
    assert_eq!(answers.iter().map(brief).collect::<Vec<_>>(), expected);
    assert!(answers[1]["error"].as_str().unwrap().contains("@nobody: no agent"));
    assert_eq!(server.prints(&["check", "@web", "net.trace=on", "operated::MODE=2"]), "");

    let good = "{\"process\":\"@web\",\"set\":[\"net.trace=off\"]}\n";
    for (bad, why) in [
        ("[]", "line 2: invalid length"),
        ("{\"process\":\"@web\",\"set\":[\"net.trace=off\"],\"force\":true}", "line 2: unknown field `force`"),
        ("{\"process\":\"@web\",\"set\":[\"net.trace\"]}", "line 2: `net.trace`: say what it is to be"),
        ("{\"process\":\"@web\",\"set\":[]}", "line 2: say what is to change"),
        ("{\"process\":\"@web\",\"set\":[\"net.trace=on\"],\"for\":0}", "line 2: say what is to change"),
        ("{\"process\":\"@web\",\"set\":[\"a:b=\"]}", "line 2: "),
    ] {
        let (code, answers, said) = applied(&format!("{good}{bad}\n{good}"));
        assert!(code == 2 && answers.is_empty() && said.contains(why), "{bad}: {code} {said}");
        assert!(said.contains("nothing is set"), "{said}");
    }
    assert_eq!(server.prints(&["check", "@web", "net.trace=on"]), "");
    let (code, answers, said) = applied("\n\n");
    assert!(code == 1 && answers.is_empty() && said.contains("no lines: nothing is set"), "{code} {said}");
    // From standard input.
    let mut child = server.command(&["apply", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), good.as_bytes()).unwrap();
    assert!(child.wait_with_output().unwrap().status.success());
    assert_eq!(server.prints(&["check", "@web", "net.trace=off"]), "");
}

/// As systemd does for `MemoryDenyWriteExecute`: Linux 6.3 and later refuse to make a page writable and executable then.
#[test]
fn memory_deny_write_execute() {
    const PR_SET_MDWE: libc::c_int = 65;
    let runtime = scratch(&format!("live-{}-mdwe", std::process::id()));
    std::fs::create_dir_all(&runtime).unwrap();
    let mut command = Command::new(program());
    command.arg("serve").env("XDG_RUNTIME_DIR", &runtime).env("JUMPLABEL_AGENT", "1");
    // SAFETY: one system call between fork and exec.
    unsafe {
        command.pre_exec(|| match libc::prctl(PR_SET_MDWE, 1_u64, 0_u64, 0_u64, 0_u64) {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        });
    }
    let child = match command.stdin(Stdio::null()).stderr(Stdio::null()).spawn() {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
            return eprintln!("skipped: this kernel is older than 6.3");
        }
        child => child.unwrap(),
    };
    let server = Server { runtime, child };
    server.ready();
    server.prints(&["set", &server.pid(), "net.trace=on", "wal.fsync=off"]);
    server.prints(&["check", &server.pid(), "net.trace=on", "wal.fsync=off"]);
}

/// A process whose runtime directory is a mount of its own, and which has another number inside: its socket is found by its root directory.
#[test]
fn in_a_container() {
    let runtime = scratch(&format!("live-{}-container", std::process::id()));
    std::fs::create_dir_all(&runtime).unwrap();
    let inside =
        format!("mount -t tmpfs -o mode=0700 none {0} && exec {1} serve", runtime.display(), program().display());
    let mut command = Command::new("unshare");
    command.args(["--mount", "--pid", "--fork", "--kill-child", "sh", "-c", &inside]);
    command.env("XDG_RUNTIME_DIR", &runtime).env("JUMPLABEL_AGENT", "name=inside");
    let mut child = command.stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let children = format!("/proc/{0}/task/{0}/children", child.id());
    let socket = loop {
        let pid = std::fs::read_to_string(&children).unwrap_or_default();
        let directory = PathBuf::from(format!("/proc/{}/root{}/jumplabel", pid.trim(), runtime.display()));
        let found = sockets(&directory).unwrap_or_default();
        if let [socket] = &found[..] {
            break socket.path.to_str().unwrap().to_owned();
        }
        if child.try_wait().unwrap().is_some() {
            return eprintln!("skipped: only root may make namespaces");
        }
        std::thread::yield_now();
    };
    assert!(socket.ends_with("inside.1.sock"), "{socket}");
    let server = Server { runtime, child };
    while server.tool(&["list", &socket]).0 == 3 {
        std::thread::yield_now();
    }
    // By its name alone, it is not here.
    server.refuses(&["list", "@inside"], 3, "no agent in");
    let printed = server.prints(&["set", &socket, "net.trace=on", "wal.fsync=off"]);
    assert!(printed.contains("net.trace") && printed.contains(&format!("undo: jumplabel set {socket}")), "{printed}");
    server.prints(&["check", &socket, "net.trace=on", "wal.fsync=off"]);
}
