//! Tests callsites of a library that the program loads while it runs: test-crates/loads.

use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use jumplabel_testing::cargo::{Build, run};

use crate::live::Follower;
use crate::project::running::Running;
use crate::project::{copy, succeeds};

/// The program, which says something each time that it is told to.
struct Loads(Running);

impl Loads {
    fn start(filter: &str) -> Loads {
        static DIRECTORY: OnceLock<String> = OnceLock::new();
        let directory = DIRECTORY.get_or_init(|| {
            let folder = copy("loads", "loads");
            succeeds(&folder, &["tracing"]);
            let mut command = Build::of("loads").args(&["--release", "--workspace"]).command("build");
            command.current_dir(&folder).env("CARGO_TARGET_DIR", folder.join("target"));
            run(command.env("RUSTFLAGS", "--cfg jumplabel_dylib -Cprefer-dynamic"));
            succeeds(&folder, &["tracing", "--check"]);
            folder.join("target/release").to_str().unwrap().to_owned()
        });
        let libraries = run(Command::new("rustc").args(["--print", "target-libdir"]));
        let mut program = Command::new(Path::new(directory).join("loads"));
        program.arg(filter).env("LD_LIBRARY_PATH", format!("{directory}:{}", libraries.trim()));
        Loads(Running::start(&mut program, "ready"))
    }

    /// Makes the program do what a word says. Returns the events that its subscriber gets meanwhile.
    fn does(&mut self, word: &str) -> Vec<String> {
        writeln!(self.0.stdin, "{word}").unwrap();
        self.0.says_until(|line| line == "done").iter().map(|line| line.trim().to_owned()).collect()
    }

    fn set(&self, value: &str) {
        self.0.prints(&["set", &format!("trace:plugin={value}")]);
    }

    /// Says of each callsite of the library whether its key is on.
    fn keys(&self) -> Vec<(String, bool)> {
        let rows = self.0.prints(&["list", "trace:*"]);
        let of_library = rows.lines().filter(|row| row.contains("@late/src/lib.rs:"));
        of_library
            .map(|row| {
                let text = row.split('"').nth(1).unwrap();
                (text.to_owned(), row.contains(" event, on"))
            })
            .collect()
    }

    fn on(&self) -> Vec<String> {
        assert_eq!(self.keys().len(), 3);
        self.keys().into_iter().filter(|(_, is_on)| *is_on).map(|(text, _)| text).collect()
    }
}

const HOST: &str = "TRACE plugin: host";
const LATE: [&str; 2] = ["INFO plugin::late: late info", "TRACE plugin::late: late trace"];

/// A setting shows callsites of libraries that are loaded before it. A library can go while its keys are on, and come again.
#[test]
fn set_before_and_after() {
    let mut loads = Loads::start("off");
    assert_eq!(loads.does("say"), [""; 0]);
    loads.set("on");
    assert_eq!((loads.does("say"), loads.keys()), (vec![HOST.to_owned()], vec![]));
    // Loaded after the setting, twice: the first time, the library goes while its keys are on.
    for is_first in [true, false] {
        let mut before = Follower::of(&loads.0, "trace:plugin");
        loads.does("load");
        assert_eq!((loads.on(), loads.does("say")), (vec![], vec![HOST.to_owned()]));
        loads.set("on");
        assert_eq!(loads.on(), ["late info", "late trace"]);
        if is_first {
            loads.does("unload");
            assert_eq!((loads.does("say"), loads.keys()), (vec![HOST.to_owned()], vec![]));
            loads.set("remove");
            assert_eq!(loads.does("say"), [""; 0]);
            loads.set("on");
            continue;
        }
        // Whoever has followed since before is told nothing of the library. Whoever follows from now on is.
        assert_eq!(loads.does("say"), [HOST, LATE[0], LATE[1]]);
        assert_eq!(before.told(2).0, ["plugin: host", "plugin: host"]);
        let mut after = Follower::of(&loads.0, "trace:plugin");
        assert_eq!(loads.does("say"), [HOST, LATE[0], LATE[1]]);
        let all = ["plugin: host", "plugin::late: late info", "plugin::late: late trace"];
        assert_eq!(
            (after.told(3).0, before.told(3).0),
            (all.map(str::to_owned).to_vec(), all.map(str::to_owned).to_vec())
        );
    }
    loads.set("remove");
    assert_eq!(loads.does("say"), [""; 0]);
    loads.does("rebuild");
    assert_eq!((loads.on(), loads.does("say")), (vec![], vec![]));
}

/// Keys of a loaded library follow the levels of filters at once, and what filters say of modules after a rebuild. Events do so at once.
#[test]
fn filters() {
    let all = ["late elsewhere", "late info", "late trace"];
    for (filter, at_once, later, shown) in [
        ("off", &[][..], &[][..], &[][..]),
        ("info", &all[1..2], &all[1..2], &LATE[..1]),
        ("off,plugin::late=trace", &all[..], &all[1..], &LATE[..]),
        ("off,plugin::other=trace", &all[..], &[][..], &[][..]),
    ] {
        let mut loads = Loads::start(filter);
        loads.does("load");
        assert_eq!(loads.on(), at_once, "{filter}");
        assert_eq!(loads.does("say"), shown, "{filter}");
        loads.does("rebuild");
        assert_eq!(
            (loads.on(), loads.does("say")),
            (later.iter().map(|&text| text.to_owned()).collect(), shown.iter().map(|&line| line.to_owned()).collect()),
            "{filter}"
        );
    }
}

/// Callsites that a thread has reached, and callsites that were loaded during a rebuild, are forgotten when their library is unloaded.
#[test]
fn unloaded_after_use() {
    let mut loads = Loads::start("trace");
    let all = loads.does("load").len() + loads.does("say").len();
    assert_eq!(all, 4);
    for words in [&["unload"][..], &["load", "unload"], &["load", "rebuild", "unload"], &["load", "say", "unload"]] {
        words.iter().for_each(|word| drop(loads.does(word)));
        loads.does("rebuild");
        assert_eq!((loads.does("say"), loads.keys()), (vec![HOST.to_owned()], vec![]), "{words:?}");
    }
    loads.does("load");
    loads.does("rebuild");
    assert_eq!((loads.does("say").len(), loads.on().len()), (4, 3));
}
