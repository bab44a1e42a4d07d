//! Tests callsites of a fleet: processes of test-crates/traced, and an etcd on this machine.

use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use jumplabel_testing::until::until;

use crate::live::{ONE, Traced};
use crate::programs;

/// Runs the tool with these words. Returns its exit code and both of its outputs.
fn tool(words: &[&str]) -> (u8, String, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let code = jumplabel_cli::run(
        std::iter::once("jumplabel").chain(words.iter().copied()).map(Into::into),
        &mut out,
        &mut err,
    );
    (code, String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
}

/// An etcd of one member, and a follower of this host.
struct Fleet {
    url: String,
    /// The folder of etcd, and of the agents' sockets.
    folder: PathBuf,
    children: Vec<Child>,
}

impl Fleet {
    fn start() -> Fleet {
        let folder = std::env::temp_dir().join(format!("jumplabel-traced-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        let listeners = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let [url, peer] = listeners.map(|one| format!("http://{}", one.local_addr().unwrap()));
        let mut fleet = Fleet { url, folder, children: Vec::new() };
        let mut etcd = Command::new("etcd");
        etcd.arg("--data-dir").arg(fleet.folder.join("etcd")).args(["--name", "one", "--initial-cluster"]);
        etcd.arg(format!("one={peer}")).args([
            "--listen-client-urls",
            &fleet.url,
            "--advertise-client-urls",
            &fleet.url,
        ]);
        etcd.args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer]);
        fleet.spawn(&mut etcd);
        until("etcd answers", || fleet.list().0 == 0);
        // The follower is a process of its own, because a variable says where it finds the sockets: see `follower`.
        let mut follower = Command::new(std::env::current_exe().unwrap());
        follower.args(["--exact", "fleet::follower", "--ignored", "--nocapture"]).env("XDG_RUNTIME_DIR", &fleet.folder);
        fleet.spawn(follower.env("JUMPLABEL_TEST_FOLLOWS", &fleet.url));
        fleet
    }

    fn spawn(&mut self, command: &mut Command) {
        let command = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.children.push(
            command
                .spawn()
                .unwrap_or_else(|error| panic!("{command:?}: {error}; cargo xtask setup --all installs etcd")),
        );
    }

    fn process(&self, name: &str) -> Traced {
        Traced::start_in(&programs().patched, &self.folder, name)
    }

    fn fleet(&self, verb: &str, words: &[&str]) -> (u8, String, String) {
        tool(&[&["fleet", verb, "--etcd", &self.url], words].concat())
    }

    fn set(&self, item: &str) -> (u8, String, String) {
        self.fleet("set", &["--processes", "web*", item, "--wait", "170"])
    }

    fn list(&self) -> (u8, String, String) {
        self.fleet("list", &[])
    }

    /// The wishes, as selector, value and processes; then the states of keys, each with the number of processes that have it.
    fn rows(&self) -> Vec<Vec<String>> {
        let words = |line: &str| line.split_whitespace().take(3).map(str::to_owned).collect();
        self.list().1.lines().filter(|line| line.starts_with("trace:")).map(words).collect()
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = (child.kill(), child.wait());
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Follows until it is killed. A test starts this in a process of its own.
#[test]
#[ignore = "a part of another test"]
fn follower() {
    if let Ok(url) = std::env::var("JUMPLABEL_TEST_FOLLOWS") {
        let words = ["jumplabel", "follow", "--etcd", &url, "--host", "this"].map(Into::into);
        let code = jumplabel_cli::run(words, &mut std::io::stdout(), &mut std::io::stderr());
        panic!("the follower has ended: {code}");
    }
}

/// Whether the program's subscriber gets the event `one`.
fn shows(traced: &mut Traced) -> bool {
    traced.works().iter().any(|line| line.contains("TRACE noisy: one"))
}

/// A wish shows callsites of all processes that it names, of one that comes later, too. Withdrawn, it ends that.
#[test]
#[ignore = "a fleet gives its processes seconds to answer, and builds run beside this: make upstream"]
fn wished() {
    let fleet = Fleet::start();
    let (mut web, mut other) = ([(); 2].map(|()| fleet.process("web")), fleet.process("db"));
    until("the host has reported", || fleet.list().1.contains("1 hosts with 3 processes"));
    let quiet = web[0].works();
    let mut all = |is_shown: bool| web.iter_mut().all(|one| shows(one) == is_shown);
    assert!(all(false));
    let (code, out, err) = fleet.set("trace:noisy=on");
    assert_eq!((code, &*err), (0, ""), "{out}");
    assert!(all(true) && !shows(&mut other));
    let wish = |value: &str, number: &str| -> Vec<Vec<String>> {
        [["trace:noisy", value, "web*"], ["trace:noisy", value, number]]
            .map(|row| row.map(str::to_owned).to_vec())
            .to_vec()
    };
    until("the report has both", || fleet.rows() == wish("on", "2"));
    let mut late = fleet.process("web");
    until("one that comes later follows", || shows(&mut late));

    // A value that no callsite can have is refused, and the wish stays.
    let (code, out, err) = fleet.set("trace:noisy=off");
    assert!(
        code == 4 && out.is_empty() && err.contains("nothing is wished: `trace:noisy=off`; refused by"),
        "{code} {err}"
    );
    for one in [&web[0], &web[1], &late] {
        let id = one.0.socket.file_stem().unwrap().to_str().unwrap();
        assert!(
            err.contains(&format!("{id} on this (")) && err.contains("a callsite is shown, or not; write =on"),
            "{id}: {err}"
        );
    }
    until("the report has three", || fleet.rows() == wish("on", "3"));

    // With a limit, by a pattern of callsites; for a while.
    let (code, out, err) = fleet.set("trace:noisy=1000/s");
    assert_eq!((code, &*err), (0, ""), "{out}");
    assert!(web[0].0.prints(&["list", "trace:noisy"]).contains(" 1000/s "));
    let (code, _, err) = fleet.set("trace:noisy=1000/m");
    assert!(code == 2 && err.contains("of a fleet, say on, off"), "{code} {err}");
    assert_eq!(fleet.fleet("unset", &["--processes", "web*", "trace:noisy"]).0, 0);
    until("all is as it was", || web.iter_mut().chain([&mut late]).all(|one| !shows(one)));
    assert_eq!(web[0].works(), quiet);
    let (code, _, err) = fleet.fleet("set", &["trace:noisy@*lib.rs:9=on", "--for", "600", "--wait", "170"]);
    assert_eq!((code, &*err), (0, ""));
    assert!(web.iter_mut().chain([&mut late, &mut other]).all(shows));
    assert!(web[0].0.prints(&["list", ONE]).contains(" on "));
}
