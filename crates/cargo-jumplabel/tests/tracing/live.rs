//! Tests the tool on a running program, test-crates/traced with the patched tracing: it lists callsites, shows them and follows them.

use std::io::{BufRead, BufReader, Lines, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::programs;
use crate::project::running::Running;

/// The program. It does its work once for each line of input.
pub struct Traced(pub Running);

impl Traced {
    pub fn start(program: &Path, filter: &str) -> Traced {
        Traced(Running::start(Command::new(program).args(["serve", filter]), "ready"))
    }

    /// The program as a process of a fleet, with a name and a directory for sockets.
    pub fn start_in(program: &Path, runtime: &Path, name: &str) -> Traced {
        let mut command = Command::new(program);
        command.args(["serve", "off"]).env("XDG_RUNTIME_DIR", runtime).env("JUMPLABEL_AGENT", format!("name={name}"));
        Traced(Running::start_in(&mut command, "ready", &runtime.join("jumplabel")))
    }

    /// Makes the program work once. Returns the lines that it prints.
    pub fn works(&mut self) -> Vec<String> {
        self.works_after("")
    }

    /// Makes the program do what a word says, then work once.
    fn works_after(&mut self, word: &str) -> Vec<String> {
        writeln!(self.0.stdin, "{word}").unwrap();
        self.0.says_until(|line| line == "worked")
    }
}

/// A client that follows callsites by the agent's protocol.
pub struct Follower {
    lines: Lines<BufReader<UnixStream>>,
}

/// The records that a follower got, as messages, and the number of records that were lost.
pub type Told = (Vec<String>, u64);

impl Follower {
    #[track_caller]
    pub fn of(running: &Running, asks: &str) -> Follower {
        let mut stream = UnixStream::connect(&running.socket).unwrap();
        writeln!(stream, "trace {asks}").unwrap();
        let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
        let answer: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        assert!(answer["status"] == 0 && answer["follows"].as_u64().unwrap() > 0, "{answer}");
        Follower { lines }
    }

    /// The messages that the follower gets up to this one.
    fn told_until(&mut self, message: &str) -> Vec<String> {
        let mut all = Vec::new();
        while all.last().is_none_or(|last| last != message) {
            let (messages, lost) = self.told(1);
            assert_eq!(lost, 0);
            all.extend(messages);
        }
        all
    }

    /// Reads until this number of records has arrived or was lost.
    pub fn told(&mut self, number: usize) -> Told {
        let (mut messages, mut lost) = (Vec::new(), 0);
        while messages.len() + (lost as usize) < number {
            let line = self.lines.next().unwrap().unwrap();
            let answer: Value = serde_json::from_str(&line).unwrap();
            let traced = &answer["traced"];
            let text = |record: &Value| {
                let target = record["target"].as_str().unwrap();
                let lost = record["lost"].as_u64().map_or(String::new(), |lost| format!(", {lost} lost before"));
                match record["message"].as_str() {
                    Some(message) => format!("{target}: {message}{lost}"),
                    None => {
                        format!("{target}: {} {}", record["kind"].as_str().unwrap(), record["name"].as_str().unwrap())
                    }
                }
            };
            messages.extend(traced["records"].as_array().unwrap().iter().map(text));
            lost += traced["lost"].as_u64().unwrap_or(0);
        }
        (messages, lost)
    }
}

#[test]
fn listed_shown_and_taken_back() {
    let mut traced = Traced::start(&programs().patched, "off");
    let quiet = traced.works();
    assert!(!quiet.iter().any(|line| line.contains("DEBUG")), "{quiet:?}");
    let rows = traced.0.prints(&["list", "trace:noisy*"]);
    let row = |name: &str| rows.lines().find(|row| row.starts_with(name)).unwrap_or_else(|| panic!("{name}: {rows}"));
    assert!(row("trace:noisy@noisy/src/lib.rs:9 ").contains("TRACE event \"one\""), "{rows}");
    // The module is there if the target does not name it.
    let other = traced.0.prints(&["list", "trace:elsewhere@*"]);
    assert!(other.contains("DEBUG event in module noisy \"in {x}\"") && !rows.contains("module"), "{other} {rows}");
    // Callsites of one target are shown by a pattern, in one batch; then all of another target.
    let set = traced.0.prints(&["set", "trace:elsewhere@*=on"]);
    assert!(set.contains("trace:elsewhere@noisy/src/lib.rs:") && set.contains("undo: jumplabel set"), "{set}");
    let shown = |lines: &[String], what: &str| lines.iter().filter(|line| line.contains(what)).count();
    let lines = traced.works();
    assert_eq!((shown(&lines, "DEBUG elsewhere: in 2"), shown(&lines, "TRACE noisy: one")), (1, 0), "{lines:?}");
    assert!(traced.0.prints(&["list", "trace:elsewhere@*"]).contains(" on "));
    traced.0.prints(&["set", "trace:noisy=on"]);
    let lines = traced.works();
    assert_eq!((shown(&lines, ": elsewhere: in 2"), shown(&lines, "TRACE noisy: one")), (1, 1), "{lines:?}");
    // One of the two settings is removed, then the other. The callsites of the removed one are no longer shown.
    traced.0.prints(&["set", "trace:elsewhere@*=remove"]);
    let lines = traced.works();
    assert_eq!((shown(&lines, "DEBUG elsewhere"), shown(&lines, "TRACE noisy: one")), (0, 1), "{lines:?}");
    traced.0.prints(&["set", "trace:noisy=remove"]);
    assert_eq!(traced.works(), quiet);
    // If the program itself ends what is shown, the same setting shows it again.
    traced.0.prints(&["set", "trace:noisy=on"]);
    assert_eq!((shown(&traced.works(), "TRACE noisy: one"), traced.works_after("hide")), (1, quiet.clone()));
    let set = traced.0.prints(&["set", "trace:noisy=on"]);
    assert_eq!(shown(&traced.works(), "TRACE noisy: one"), 1, "{set}");
    traced.0.prints(&["set", "trace:noisy=remove"]);
    assert_eq!(traced.works(), quiet);
    // A setting for a while ends without a further command.
    traced.0.prints(&["set", "trace:noisy=on", "--for", "1s"]);
    while shown(&traced.works(), "TRACE noisy: one") > 0 {
        std::thread::yield_now();
    }
    for (item, why) in [
        ("trace:noisy=off", "a callsite is shown, or not; write =on, =100/s"),
        ("trace:nowhere=on", "trace:nowhere"),
        ("trace:nowhere::*=on", "trace:nowhere"),
    ] {
        let (code, says) = traced.0.tool(&["set", item]);
        assert!(code != 0 && says.contains(why), "{item}: {code} {says}");
    }
    assert_eq!(traced.works(), quiet);
}

/// The name of one callsite.
pub const ONE: &str = "trace:noisy@noisy/src/lib.rs:9";

/// An event goes to the clients that follow its callsite. It goes to a subscriber only if the subscriber's filter says so.
#[test]
fn followed() {
    for filter in ["none", "off", "info,noisy=trace"] {
        let mut traced = Traced::start(&programs().patched, filter);
        // Leaves out the line of a function whose event has a field that returns by `?`: the field is evaluated only if the event is on.
        let says = |traced: &mut Traced| {
            traced.works().into_iter().filter(|line| !line.starts_with("Ok(3) ")).collect::<Vec<_>>()
        };
        let (before, is_wanted) = (says(&mut traced), filter.contains("noisy=trace"));
        let is_on = |traced: &Traced| traced.0.prints(&["list", ONE]).contains("TRACE event, on");
        let all_on = |traced: &Traced| traced.0.prints(&["list", "trace:noisy@*"]).matches(", on").count();
        let wanted = all_on(&traced);
        assert!(is_on(&traced) == is_wanted && (wanted > 0) == is_wanted);
        let mut one = Follower::of(&traced.0, "trace:noisy");
        assert!(is_on(&traced));
        // The subscriber sees the same events as before.
        assert_eq!(says(&mut traced), before, "{filter}");
        let messages = one.told_until("noisy: after");
        assert!(messages.iter().all(|message| message.starts_with("noisy")), "{filter}: {messages:?}");
        for what in ["noisy: one", "noisy: span spanned", "noisy: generic"] {
            assert!(messages.iter().any(|message| message == what), "{filter}: {what} of {messages:?}");
        }
        // If two clients follow at a time, each gets the events of its own callsites.
        let mut other = Follower::of(&traced.0, &format!("trace:elsewhere@*,{ONE}"));
        assert_eq!(says(&mut traced), before, "{filter}");
        assert_eq!(other.told_until("elsewhere: costlier"), ["noisy: one", "elsewhere: in 2", "elsewhere: costlier"]);
        assert_eq!(one.told_until("noisy: after"), messages);
        // When both have gone, all keys are as before.
        drop(one);
        while all_on(&traced) != wanted.max(1) {
            std::thread::yield_now();
        }
        drop(other);
        while is_on(&traced) != is_wanted {
            std::thread::yield_now();
        }
        assert_eq!(says(&mut traced), before, "{filter}");
    }
}

/// With a limit, or if a follower does not read, each event is either delivered or counted as lost, and the program does not wait.
#[test]
fn told_or_lost() {
    let mut traced = Traced::start(&programs().patched, "off");
    let mut limited = Follower::of(&traced.0, &format!("{ONE} at 1"));
    (0..100).for_each(|_| drop(traced.works()));
    let (messages, lost) = limited.told(100);
    assert!(messages.len() as u64 + lost == 100 && !messages.is_empty() && lost > 0, "{messages:?} {lost}");
    // A follower does not get events that an earlier one has left unread, nor that one's count of lost events.
    drop(limited);
    while traced.0.prints(&["list", ONE]).contains(", on") {
        std::thread::yield_now();
    }
    let mut unread = Follower::of(&traced.0, ONE);
    traced.works();
    assert_eq!(unread.told(1), (vec!["noisy: one".to_owned()], 0));
    traced.works();
    drop(unread);
    while traced.0.prints(&["list", ONE]).contains(", on") {
        std::thread::yield_now();
    }
    let mut next = Follower::of(&traced.0, ONE);
    traced.works();
    traced.works();
    assert_eq!(next.told(2), (vec!["noisy: one".to_owned(); 2], 0));
    drop(next);
    let mut all = Follower::of(&traced.0, "trace:noisy at 1000000");
    traced.works();
    let each = all.told_until("noisy: after").len();
    (0..400).for_each(|_| drop(traced.works()));
    let (messages, lost) = all.told(400 * each);
    assert!(messages.len() + lost as usize == 400 * each && !messages.is_empty() && lost > 0, "{lost}");
}

/// A callsite shows at most this number of events in a second. Others are counted as lost, in the list and by an event, unless the filter wants them.
#[test]
fn shown_or_lost() {
    let mut traced = Traced::start(&programs().patched, "off,noisy::quiet=trace");
    let quiet = traced.works();
    let set = traced.0.prints(&["set", &format!("{ONE}=1/s")]);
    assert!(set.contains(" 1/s") && set.contains(&format!("{ONE}=remove")), "{set}");
    let (mut shown, mut works, mut lost) = (0, 0, 0);
    let told = |line: &str| {
        line.strip_prefix(" WARN jumplabel: events were lost: more than 1 in a second lost=").map(str::to_owned)
    };
    // The loop ends after a second with lost events: the first event of the next second reports their number.
    while lost == 0 {
        works += 1;
        for line in traced.works() {
            shown += u64::from(line.contains("TRACE noisy: one"));
            if let Some(rest) = told(&line) {
                let (number, rest) = rest.split_once(' ').unwrap();
                lost += number.parse::<u64>().unwrap();
                assert_eq!(rest, "of=\"noisy\" line=9");
            }
        }
    }
    let row = traced.0.prints(&["list", ONE]);
    let counted: u64 = row.split("TRACE event, on, ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    assert!(row.contains(" 1/s ") && counted >= lost && shown + counted == works, "{row} {shown} {lost} {works}");
    assert_eq!(traced.0.tool(&["check", &format!("{ONE}=1/s")]).0, 0);
    // The most specific name counts: this callsite keeps its limit, and all others have none.
    traced.0.prints(&["set", "trace:noisy=on"]);
    assert!(traced.0.prints(&["list", ONE]).contains(" 1/s "));
    traced.0.prints(&["set", &format!("{ONE}=remove")]);
    let lines = traced.works();
    assert!(lines.iter().any(|line| line.contains("TRACE noisy: one")), "{lines:?}");
    traced.0.prints(&["set", "trace:noisy=remove"]);
    assert_eq!(traced.works(), quiet);
    for value in ["0/s", "1/m", "x/s"] {
        let (code, says) = traced.0.tool(&["set", &format!("{ONE}={value}")]);
        assert!(code != 0 && says.contains("write =on, =100/s for at most"), "{value}: {code} {says}");
    }
}
