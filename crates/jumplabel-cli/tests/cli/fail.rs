//! Fail points of a running program, listed and configured by the tool: test-crates/failing.

use std::io::{BufRead, BufReader, Lines, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::sync::OnceLock;

use jumplabel_testing::cargo::Build;

use crate::programs::scratch;
use crate::server::Server;

/// The program, which does what it is told.
struct Failing {
    server: Server,
    stdin: ChildStdin,
    said: Lines<BufReader<ChildStdout>>,
    log: Lines<BufReader<std::process::ChildStderr>>,
}

impl Failing {
    fn start(name: &str, arguments: &[&str]) -> Failing {
        static BUILT: OnceLock<PathBuf> = OnceLock::new();
        let program = BUILT.get_or_init(|| Build::of("failing").results_in("failing", &["failing"]).remove(0));
        let runtime = scratch(&format!("fail-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&runtime).unwrap();
        let mut command = Command::new(program);
        command.args(arguments).env("XDG_RUNTIME_DIR", &runtime).env("JUMPLABEL_AGENT", "name=f");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let log = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut failing =
            Failing { server: Server { runtime, child }, stdin, said: BufReader::new(stdout).lines(), log };
        assert_eq!(failing.line(), "ready");
        failing
    }

    fn line(&mut self) -> String {
        self.said.next().unwrap().unwrap()
    }

    /// What it answers.
    fn does(&mut self, line: &str) -> String {
        writeln!(self.stdin, "{line}").unwrap();
        self.line()
    }

    /// The next line of its log.
    fn logged(&mut self) -> String {
        self.log.next().unwrap().unwrap()
    }

    fn set(&self, items: &[&str]) -> String {
        self.server.prints(&[&["set", "@f"], items].concat())
    }

    fn list(&self, selector: &str) -> Vec<String> {
        self.server.prints(&["list", "@f", selector]).lines().skip(1).map(str::to_owned).collect()
    }
}

/// Waits until it is so, however long that takes.
fn until(mut is_so: impl FnMut() -> bool) {
    while !is_so() {
        std::thread::yield_now();
    }
}

#[test]
fn listed_and_configured() {
    let mut failing = Failing::start("configured", &[]);
    let printed = failing.set(&["fail:before_save=2*return(a=b, disk full)->off"]);
    let mut lines = printed.lines();
    let mut row = || lines.next().unwrap().split_whitespace().collect::<Vec<_>>();
    assert_eq!(row(), ["KEY", "FROM", "TO", "SITES"]);
    assert_eq!(row(), ["fail:before_save", "off", "2*return(a=b,\\u{20}disk\\u{20}full)->off", "1"]);
    assert!(lines.next().unwrap().starts_with("1 site in "), "{printed}");
    assert_eq!(lines.next(), Some("undo: jumplabel set @f fail:before_save=remove"));
    assert!(failing.logged().contains("fail:before_save off -> 2*return(a=b, disk full)->off by uid "));
    let reach = |failing: &mut Failing| failing.does("reach before_save");
    let returns = "returns Some(\"a=b, disk full\")";
    assert_eq!([reach(&mut failing), reach(&mut failing), reach(&mut failing)], [returns, returns, "goes on"]);
    let rows = failing.list("fail:*");
    let row = |name: &str| rows.iter().find(|row| row.starts_with(name)).unwrap_or_else(|| panic!("{rows:?}"));
    assert!(row("fail:before_save ").contains("  reached 3 times, since "), "{rows:?}");
    assert!(row("fail:net.read ").split_whitespace().eq(["fail:net.read", "off", "0", "1", "-"]), "{rows:?}");
    // As programs read it.
    let json = failing.server.prints(&["list", "@f", "fail:before_save", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["keys"][0]["state"], "2*return(a=b, disk full)->off");
    assert_eq!((&json["keys"][0]["note"], &json["keys"][0]["count"]), (&"reached 3 times".into(), &1.into()));
    // The same again: the counts begin anew. And the undo of that.
    let undo = failing.set(&["fail:before_save=return(b)"]);
    assert!(undo.ends_with("undo: jumplabel set @f 'fail:before_save=2*return(a=b, disk full)->off'\n"), "{undo}");
    assert_eq!(reach(&mut failing), "returns Some(\"b\")");
    failing.set(&["fail:before_save=2*return(a=b, disk full)->off"]);
    assert_eq!([reach(&mut failing), reach(&mut failing), reach(&mut failing)], [returns, returns, "goes on"]);
    assert_eq!(failing.server.prints(&["check", "@f", "fail:before_save=2*return(a=b, disk full)->off"]), "");
    assert_eq!(failing.server.tool(&["check", "@f", "fail:before_save=panic"]).0, 1);
    // Off is an action that does nothing; and then nothing is configured.
    failing.set(&["fail:before_save=off"]);
    assert_eq!((reach(&mut failing), failing.does("list")), ("goes on".into(), "[(\"before_save\", \"off\")]".into()));
    failing.set(&["fail:before_save=remove"]);
    assert_eq!((reach(&mut failing), failing.does("list")), ("goes on".into(), "[]".into()));
    assert_eq!(failing.set(&["fail:before_save=remove"]), "nothing to change\n");
}

/// All that match are configured in one batch; if one is not from outside, none is.
#[test]
fn patterns() {
    let mut failing = Failing::start("patterns", &[]);
    let tried = failing.set(&["fail:net.*=return(x)", "--dry-run"]);
    let undo = "undo would be: jumplabel set @f fail:net.read=remove fail:net.write=remove\n";
    assert!(tried.ends_with(undo), "{tried}");
    assert_eq!(failing.does("list"), "[]");
    let printed = failing.set(&["fail:net.*=return(x)"]);
    // Two points have one name. One flip, one line of the log.
    assert!(printed.contains("\nfail:net.write  off   return(x)      2\n3 sites in "), "{printed}");
    let logged = failing.logged();
    assert!(logged.contains("fail:net.read off -> return(x), fail:net.write off -> return(x) by "), "{logged}");
    assert_eq!(failing.does("reach net.read"), "returns Some(\"x\")");
    assert_eq!(failing.does("reach net.write"), "returns Some(\"x\")");
    failing.server.refuses(
        &["set", "@f", "fail:*=return(y)"],
        4,
        "fail:kept.secret: the program lets nobody change it from outside (`fail:kept.*`): nothing is set",
    );
    assert_eq!(failing.does("reach net.read"), "returns Some(\"x\")");
    // Two items are one batch, and the last one for a name counts.
    failing.set(&["fail:net.*=remove", "fail:net.read=return(z)"]);
    assert_eq!(failing.does("list"), "[(\"net.read\", \"return(z)\")]");
}

/// What is wrong is said in the words of the crate `fail`, and nothing changes.
#[test]
fn refused() {
    let mut failing = Failing::start("refused", &[]);
    let refuses = |failing: &Failing, item: &str, code: i32, why: &str| {
        failing.server.refuses(&["set", "@f", "fail:net.read=return(x)", item], code, why);
    };
    for (item, why) in [
        (
            "fail:before_save=on",
            "fail:before_save cannot be `on`: unrecognized command \"on\"; write its actions, such as",
        ),
        ("fail:before_save=Return", "unrecognized command \"Return\""),
        ("fail:before_save=return(x", "parentheses do not match"),
        ("fail:before_save=sleep", "sleep require timeout"),
        ("fail:before_save=ab%return", "failed to parse frequency: invalid float literal"),
        ("fail:before_save=ab*return", "failed to parse count: invalid digit found in string"),
        ("fail:before_save=", "a value is missing"),
        ("fail:before_save+1", "write its actions, such as"),
        ("fail:before_save", "say what it is to be"),
        // Keys are another batch.
        ("before_save=on", "one flip is of keys, or of names of one layer (fail:*)"),
    ] {
        refuses(&failing, item, 2, why);
    }
    // A pattern of keys leaves points alone, and says so if it chooses nothing else.
    failing.server.refuses(
        &["set", "@f", "*before_save=on"],
        2,
        "fail:before_save is a fail point, which does nothing until it is configured: choose it by names that begin with fail:, and write",
    );
    failing.server.refuses(&["set", "@f", "*net.read*=remove", "--dry-run"], 2, "is a fail point");
    refuses(&failing, "fail:no.such.*=return", 1, "nothing matches `fail:no.such.*=return`");
    refuses(&failing, "fail:kept.secret=return", 4, "lets nobody change it from outside");
    assert_eq!(failing.does("callback called"), "done");
    refuses(&failing, "fail:called=return", 4, "fail:called has a callback of the program's");
    assert_eq!(
        (failing.does("reach called"), failing.does("list")),
        ("1".into(), "[(\"called\", \"callback\")]".into())
    );
    assert!(failing.list("fail:called")[0].contains("callback"));
}

/// An agent that was not given the layer refuses what would do nothing. So does the tool without an agent.
#[test]
fn unserved() {
    let mut failing = Failing::start("unserved", &["unserved"]);
    let why =
        "fail:before_save is a fail point, which does nothing until it is configured: have the program serve its layer";
    failing.server.refuses(&["set", "@f", "fail:before_save=on"], 2, why);
    failing.server.refuses(&["set", "@f", "fail:before_save=return(x)"], 2, why);
    assert!(failing.list("fail:before_save")[0].contains("off"));
    assert_eq!(failing.does("reach before_save"), "goes on");
    let json = failing.server.prints(&["list", "@f", "fail:before_save", "--json"]);
    assert!(json.contains("\"count\":0"), "{json}");
}

/// A point whose name is computed has no key: it can be configured because the program has such points.
#[test]
fn computed() {
    let mut failing = Failing::start("computed", &[]);
    let printed = failing.set(&["fail:of.user.7=return(x)"]);
    let note = "note: fail:of.user.7 is no name in the program's text: it counts where the program computes this name";
    assert!(printed.lines().any(|line| line == note), "{printed}");
    assert_eq!(failing.does("reach of.user.7"), "returns Some(\"x\")");
    let rows = failing.list("fail:of.*");
    assert!(rows.len() == 1 && rows[0].contains("return(x)") && rows[0].contains("reached once"), "{rows:?}");
    failing.set(&["fail:of.*=remove"]);
    assert_eq!(failing.does("list"), "[]");
    failing.server.refuses(&["set", "@f", "fail:of.user.8=remove"], 1, "nothing matches");
}

/// A thread that pauses goes on when the tool removes the point, or configures something else.
#[test]
fn pauses() {
    let mut failing = Failing::start("pauses", &[]);
    for value in ["remove", "off", "pause"] {
        failing.set(&["fail:wait.here=pause"]);
        assert_eq!(failing.does("pause"), "done");
        until(|| failing.list("fail:wait.here")[0].contains("reached once"));
        failing.set(&[&format!("fail:wait.here={value}")]);
        assert_eq!(failing.does("go"), "done", "{value}");
    }
}

/// What was configured before comes back, or nothing, though whoever asked is gone.
#[test]
fn for_a_while() {
    let mut failing = Failing::start("while", &[]);
    failing.set(&["fail:net.read=return(old)"]);
    assert!(failing.logged().contains("return(old)"));
    // No time can be over yet.
    let printed = failing.set(&["fail:net.*=return(new)", "--for", "1000s"]);
    let undo = "undo: jumplabel set @f 'fail:net.read=return(old)' fail:net.write=remove   (by itself in 1000 s)\n";
    assert!(printed.ends_with(undo), "{printed}");
    assert!(failing.logged().ends_with(" for 1000 s"));
    assert_eq!(failing.does("list"), "[(\"net.read\", \"return(new)\"), (\"net.write\", \"return(new)\")]");
    assert!(failing.list("fail:net.read")[0].contains(", back in "));
    // Another time, by a client that is gone before it has its answer: back to what there was at first.
    let socket = failing.server.runtime.join(format!("jumplabel/f.{}.sock", failing.server.pid()));
    let mut client = UnixStream::connect(socket).unwrap();
    client.write_all(b"set fail:net.*=return(newer) for 1\n").unwrap();
    drop(client);
    assert!(failing.logged().contains("fail:net.read return(new) -> return(newer), fail:net.write "));
    let over = "fail:net.read return(newer) -> return(old), fail:net.write return(newer) -> off: the time is over";
    assert_eq!(failing.logged(), format!("jumplabel: {over}"));
    assert_eq!(failing.does("list"), "[(\"net.read\", \"return(old)\")]");
    assert_eq!([failing.does("reach net.read"), failing.does("reach net.write")], ["returns Some(\"old\")", "goes on"]);
    assert!(failing.list("fail:net.read")[0].contains("by itself"));
    // What was taken away for a while comes back; a computed name, too.
    failing.set(&["fail:computed=return(c)"]);
    failing.set(&["fail:net.read=remove", "fail:computed=remove", "--for", "1"]);
    until(|| failing.does("list") == "[(\"computed\", \"return(c)\"), (\"net.read\", \"return(old)\")]");
}

/// Whatever the program itself configures meanwhile stays, and the log says so.
#[test]
fn for_a_while_and_the_program_too() {
    let mut failing = Failing::start("program", &[]);
    failing.set(&["fail:net.*=return(x)", "fail:before_save=return(x)", "--for", "1000"]);
    assert!(failing.logged().ends_with(" for 1000 s"));
    // The same text: it is the program's by now.
    assert_eq!(failing.does("cfg net.read return(x)"), "done");
    assert_eq!(failing.does("remove net.write"), "done");
    // The twin of this is a layer that looks at texts alone: crates/jumplabel-agent/tests/agent/layers.rs.
    failing.set(&["fail:before_save=return(y)", "--for", "1"]);
    assert!(failing.logged().ends_with(" for 1 s"));
    assert!(failing.logged().ends_with("fail:before_save return(y) -> off: the time is over"));
    assert!(!failing.list("fail:net.read")[0].contains("back in"));
    assert_eq!(failing.does("list"), "[(\"net.read\", \"return(x)\")]");
}

/// A process that is killed takes its configuration along, and the next one of the name begins with none.
#[test]
fn killed() {
    let mut failing = Failing::start("killed", &[]);
    failing.set(&["fail:wait.here=pause", "--for", "1000"]);
    assert_eq!(failing.does("pause"), "done");
    until(|| failing.list("fail:wait.here")[0].contains("reached once"));
    let pid = failing.server.pid();
    failing.server.child.kill().unwrap();
    failing.server.child.wait().unwrap();
    failing.server.refuses(&["set", &pid, "fail:wait.here=remove"], 3, "nobody listens any more");
    drop(failing);
    let mut next = Failing::start("killed", &[]);
    assert_eq!(next.does("list"), "[]");
    assert!(next.list("fail:wait.here")[0].split_whitespace().eq(["fail:wait.here", "off", "0", "1", "-"]));
}
