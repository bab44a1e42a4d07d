//! What requests do.

use std::os::unix::fs::FileExt;

use jumplabel::{static_branch_likely, static_branch_unlikely, static_key};
use jumplabel_agent::protocol::{Changed, Peer};
use jumplabel_testing::scenario::passes;

use crate::client::Agent;
use crate::{LINE, PACKETS, TRACE, line, now};

fn changed(key: &str, from: &str, to: &str, sites: usize) -> Changed {
    Changed { key: key.to_owned(), from: from.to_owned(), to: to.to_owned(), sites }
}

#[test]
fn hello() {
    passes(|| {
        let agent = Agent::start(|options| options.name("a.server"));
        let hello = agent.client().done("hello").hello.unwrap();
        assert_eq!((&*hello.name, hello.pid, hello.read_only), ("a.server", std::process::id(), false));
        assert_eq!(hello.program.unwrap(), std::env::current_exe().unwrap().to_str().unwrap());
        assert!(agent.socket.ends_with(format!("a.server.{}.sock", std::process::id())));
    });
}

#[test]
fn list() {
    passes(|| {
        let agent = Agent::start(|options| options.no_remote("auth.*"));
        let mut client = agent.client();
        let mut keys = client.done("list").keys.unwrap();
        // Not of what the tests share, where it is linked, nor what other tests have of their own.
        let is_of_others =
            |key: &str| key.starts_with("jumplabel_testing::") || key.ends_with(":line") || key == "loads";
        keys.retain(|row| !is_of_others(&row.key));
        let names: Vec<_> = keys.iter().map(|row| (&*row.key, &*row.kind, &*row.state, row.count)).collect();
        assert_eq!(
            names,
            [
                ("agent::HASH", "call", "default", None),
                ("agent::MODE", "mode", "1/3", None),
                ("auth.strict", "key", "on", Some(1)),
                ("late", "key", "off", Some(0)),
                ("net.packets", "key", "off", Some(0)),
                ("net.trace", "key", "off", Some(0)),
            ]
        );
        assert_eq!(keys.iter().map(|row| row.no_remote).collect::<Vec<_>>(), [false, false, true, false, false, false]);
        assert_eq!((keys[4].declared.line, keys[4].declared.file.ends_with("agent.rs")), (LINE, true));
        assert_eq!(keys[5].sites, usize::from(cfg!(not(jumplabel_fallback))));
        let some = client.done(&format!("list net.*,file:agent.rs:{LINE}")).keys.unwrap();
        assert_eq!(
            some.iter().map(|row| &*row.key).collect::<Vec<_>>(),
            ["auth.strict", "late", "net.packets", "net.trace"]
        );
        let why = client.refused("list auth.stricct", 1);
        assert_eq!(why, "nothing matches `auth.stricct`; did you mean auth.strict? list shows what there is");
        assert!(client.refused("list nobody", 1).contains("nothing matches `nobody`"));
        assert!(client.refused("list fn:x", 2).contains("does not know functions"));
        assert!(client.refused("fetch", 2).contains("no such request"));
    });
}

/// One transaction, and its undo.
#[test]
fn set() {
    passes(|| {
        let agent = Agent::start(|options| options);
        let mut client = agent.client();
        let done = client.done("set net.*=on,*::MODE=2").set.unwrap();
        assert_eq!(now(), (true, true, true, 2));
        let sites = usize::from(cfg!(not(jumplabel_fallback)));
        let expected = [
            changed("agent::MODE", "1/3", "2/3", sites),
            changed("net.packets", "off", "on", sites),
            changed("net.trace", "off", "on", sites),
        ];
        assert_eq!(done.changes, expected);
        assert_eq!(done.undo, "agent::MODE=1,net.packets=off,net.trace=off");
        assert!(done.reverts_in.is_none() && !done.dry_run);
        let (uid, pid) = (rustix::process::geteuid().as_raw(), std::process::id());
        assert_eq!(
            agent.logged(),
            format!("agent::MODE 1/3 -> 2/3, net.packets off -> on, net.trace off -> on by uid {uid} (pid {pid})")
        );
        client.done(&format!("set {}", done.undo));
        assert_eq!(now(), (false, false, true, 1));
        agent.logged();
        // What is so already is left alone; of several items, the last counts.
        assert_eq!(client.done("set net.trace=on,net.*=off").set.unwrap().changes, []);
        assert!(agent.is_quiet());
    });
}

#[test]
fn users() {
    passes(|| {
        let agent = Agent::start(|options| options);
        let mut client = agent.client();
        let done = client.done("set net.*+1").set.unwrap();
        assert_eq!((PACKETS.count(), TRACE.count(), &*done.undo), (1, 1, "net.packets-1,net.trace-1"));
        assert_eq!((&*done.changes[0].from, &*done.changes[0].to), ("off/0", "on/1"));
        client.done("set net.trace+1");
        assert!(client.refused("set net.trace+1,net.*+1", 2).contains("chosen twice"));
        // One of both is held by two users: neither goes off.
        assert!(client.refused("set net.*=off", 4).contains("none of these 2 keys is set"));
        assert_eq!((PACKETS.count(), TRACE.count()), (1, 2));
        client.done("set net.trace-1");
        client.done(&format!("set {}", done.undo));
        assert_eq!((PACKETS.count(), TRACE.count()), (0, 0));
        assert!(client.refused("set net.trace-1", 4).contains("net.trace: the key is off"));
    });
}

#[test]
fn dry_run() {
    passes(|| {
        let agent = Agent::start(|options| options);
        let done = agent.client().done("set net.*=on for 30 dry-run").set.unwrap();
        assert_eq!((done.changes.len(), done.dry_run, &*done.undo), (2, true, "net.packets=off,net.trace=off"));
        assert!(done.reverts_in.is_none() && agent.is_quiet());
        assert_eq!(now(), (false, false, true, 1));
    });
}

#[test]
fn refused() {
    passes(|| {
        let agent = Agent::start(|options| options);
        let mut client = agent.client();
        for (request, status, why) in [
            ("set", 2, "say what is to change"),
            ("set net.trace", 2, "say what it is to be"),
            ("set net.trace=fast", 2, "is a key"),
            ("set agent::MODE=3", 2, "a number from =0 to =2"),
            ("set agent::HASH=plain", 2, "is a static call"),
            ("set net.trace=on,nobody=on", 1, "nothing matches `nobody=on`; list shows"),
            ("set net.packtes=on", 1, "nothing matches `net.packtes=on`; did you mean net.packets? list shows"),
            ("set net.trace=on for 0", 2, "for takes seconds"),
        ] {
            assert!(client.refused(request, status).contains(why), "{request}");
        }
        PACKETS.seal().unwrap();
        assert!(client.refused("set net.*=on", 4).contains("is sealed"));
        assert_eq!(now(), (false, false, true, 1));
        assert!(agent.logged().contains("refused to uid") && agent.is_quiet());
    });
}

/// A tracepoint that has a probe is not switched off in silence.
#[test]
fn tracepoint_with_a_probe() {
    passes(|| {
        let agent = Agent::start(|options| options);
        let mut client = agent.client();
        let probes = [(); 2].map(|()| line.add(|_| ()).unwrap());
        let again = "the program turns it on or off again when it adds or removes a probe";
        let done = client.done("set log:line=off").set.unwrap();
        assert_eq!(done.notes, [format!("log:line has 2 probes, which hear nothing now; {again}")]);
        let row = client.done("list log:line").keys.unwrap().remove(0);
        assert_eq!((&*row.state, row.probes), ("off", Some(2)));
        let why = client.refused("set log:line+1", 2);
        assert!(why.contains("log:line is a tracepoint") && why.contains("it can be =on or =off"), "{why}");
        // As the note says.
        let [first, second] = probes;
        drop(first);
        assert!(line.key().is_enabled());
        let done = client.done("set log:line=off dry-run").set.unwrap();
        assert_eq!(done.notes, [format!("log:line has a probe, which hears nothing now; {again}")]);
        drop(second);
        let done = client.done("set log:line=on,net.trace=on").set.unwrap();
        assert_eq!(done.notes, [format!("log:line has no probe, and so it calls nobody; {again}")]);
        assert!(client.done("set log:line=off").set.unwrap().notes.is_empty());
    });
}

#[test]
fn check() {
    passes(|| {
        let agent = Agent::start(|options| options);
        let mut client = agent.client();
        assert_eq!(client.done("check").differences.unwrap(), [""; 0]);
        client.done("check net.*=off,auth.strict=on,agent::MODE=1,agent::HASH=default");
        let answer = client.ask("check net.*=on,auth.strict=on");
        let expected = ["net.packets is off, not on", "net.trace is off, not on"];
        assert_eq!((answer.status, answer.differences.unwrap()), (1, expected.map(str::to_owned).to_vec()));
        assert!(client.refused("check net.trace+1", 2).contains("compares"));
        assert!(client.refused("check net.trace=2", 2).contains("a key, on or off"));
        assert!(client.refused("check nobody=on", 1).contains("nothing matches"));
    });
}

/// Sites that load their key are counted, and do what it says. Once they are patched, they do not.
#[test]
#[cfg(not(jumplabel_fallback))]
fn sites_that_load() {
    static_key! { #[key(name = "loads")] static LOADS: false, or_load; }
    let checks = || [static_branch_likely!(LOADS), static_branch_unlikely!(LOADS)];
    passes(|| {
        let mut client = Agent::start(|options| options).client();
        for (change, loading, on) in [("list", 2, false), ("set loads=on", 0, true), ("set loads=off", 0, false)] {
            client.done(change);
            let rows = client.done("list loads").keys.unwrap();
            assert_eq!((rows[0].sites, rows[0].differing, rows[0].loading, checks()), (2, 0, loading, [on; 2]));
        }
    });
}

/// Code that is not what the key says is found.
#[test]
#[cfg(not(jumplabel_fallback))]
fn check_finds_foreign_bytes() {
    passes(|| {
        let agent = Agent::start(|options| options);
        let mut address = 0;
        jumplabel::for_each_site(&TRACE, |site| address = site.address).unwrap();
        let memory = std::fs::OpenOptions::new().write(true).open("/proc/self/mem").unwrap();
        memory.write_all_at(&[0xcc], address as u64).unwrap();
        let answer = agent.client().ask("check net.packets");
        assert_eq!(answer.status, 0, "another key");
        let answer = agent.client().ask("check net.trace");
        assert!(answer.status == 4 && answer.differences.unwrap()[0].contains("foreign bytes"));
        let rows = agent.client().done("list net.*").keys.unwrap();
        assert_eq!(rows.iter().map(|row| (&*row.state, row.differing)).collect::<Vec<_>>(), [("off", 0), ("off", 1)]);
    });
}

/// Who made a key what it is, as long as it is that.
#[test]
fn since() {
    passes(|| {
        let agent = Agent::start(|options| options);
        let mut client = agent.client();
        let mut who = |key: &str| client.done(&format!("list {key}")).keys.unwrap()[0].since.map(|since| since.by);
        let me = Some(Peer { uid: rustix::process::geteuid().as_raw(), pid: std::process::id() });
        assert_eq!(who("net.trace"), None);
        agent.client().done("set net.trace=on,agent::MODE=2");
        assert_eq!((who("net.trace"), who("agent::MODE"), who("net.packets")), (Some(me), Some(me), None));
        // What is so already, and a dry run, change nothing.
        agent.client().done("set net.packets=off,net.packets=off");
        agent.client().done("set net.packets=on dry-run");
        assert_eq!(who("net.packets"), None);
        // The program itself.
        TRACE.disable().unwrap();
        assert_eq!((who("net.trace"), who("agent::MODE")), (None, Some(me)));
        agent.client().done("set net.packets+1");
        assert_eq!(who("net.packets"), Some(me));
        agent.client().done("set net.packets-1 for 1");
        while who("net.packets") != Some(None) {
            std::thread::yield_now();
        }
    });
}

/// Two watch; the one that goes does not keep the other from it.
#[test]
fn watch() {
    passes(|| {
        let agent = Agent::start(|options| options);
        let (mut one, mut other, mut client) = (agent.client(), agent.client(), agent.client());
        one.done("watch");
        other.done("watch");
        client.done("set net.trace=on");
        for watcher in [&mut one, &mut other] {
            let event = watcher.answer().event.unwrap();
            assert_eq!(event.by.unwrap().pid, std::process::id());
            assert_eq!(event.done.changes[0].key, "net.trace");
            assert!(event.time > 1.6e9 && event.done.undo == "net.trace=off");
        }
        drop(other);
        // One that watches may ask as well: it gets the answer, then the event.
        let answer = one.done("set net.trace=off for 1000");
        assert_eq!(answer.set.unwrap().reverts_in, Some(1000));
        assert_eq!(one.answer().event.unwrap().done.reverts_in, Some(1000));
        // Not for a dry run, nor for what is so already.
        client.done("set net.trace=on dry-run");
        client.done("set net.trace=off");
        client.done("set net.packets=on");
        assert_eq!(one.answer().event.unwrap().done.changes[0].key, "net.packets");
    });
}

/// A line may come in pieces, several in one, and the last word before the client closes its side.
#[test]
fn lines() {
    passes(|| {
        let agent = Agent::start(|options| options);
        let mut client = agent.client();
        for piece in ["he", "l", "lo\r", "\nhello\nset net.trace=on\nlist net.trace\nset net.tra"] {
            client.send(piece.as_bytes());
        }
        client.0.get_ref().shutdown(std::net::Shutdown::Write).unwrap();
        assert!(client.answer().hello.is_some() && client.answer().hello.is_some());
        assert_eq!(client.answer().set.unwrap().undo, "net.trace=off");
        assert_eq!(client.answer().keys.unwrap()[0].state, "on");
        assert_eq!(client.line(), None, "half a line is no request");
    });
}
