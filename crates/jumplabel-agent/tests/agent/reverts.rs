//! What is taken back by itself.

use std::sync::{Mutex, OnceLock, mpsc};

use jumplabel_agent::protocol::{Done, Happened};
use jumplabel_agent::{Event, Options};
use jumplabel_testing::scenario::passes;

use crate::client::{Agent, Client, LIMIT};
use crate::{LATE, MODE, Mode, PACKETS, STRICT, TRACE, now};

/// Waits until the agent tells that it has taken something back: what.
fn taken_back(watcher: &mut Client) -> Vec<String> {
    loop {
        let event = watcher.answer().event.unwrap();
        if event.by.is_none() {
            return event.done.changes.into_iter().map(|change| change.key).collect();
        }
    }
}

/// What the agent logs; calls `then` in its thread when a client has changed something: before any time can be over.
fn logged_when_set(options: Options, to: mpsc::Sender<String>, then: impl Fn() + Send + Sync + 'static) -> Options {
    options.log(move |event| {
        to.send(event.to_string()).unwrap();
        if let Event::Changed(Happened { by: Some(_), .. }) = event {
            then();
        }
    })
}

/// Calls `then` in the agent's thread when a client has changed something: before any time can be over.
fn when_set(options: Options, then: impl Fn() + Send + Sync + 'static) -> Options {
    options.log(move |event| {
        if let Event::Changed(happened) = event
            && happened.by.is_some()
        {
            then();
        }
    })
}

/// The client is gone by then.
#[test]
fn by_itself() {
    passes(|| {
        static SEEN: OnceLock<(bool, bool, bool, u32)> = OnceLock::new();
        let agent = Agent::start(|options| when_set(options, || SEEN.set(now()).unwrap()));
        let mut watcher = agent.client();
        watcher.done("watch");
        let done = agent.client().done("set net.*=on,*::MODE=0 for 1s").set.unwrap();
        assert_eq!((done.reverts_in, SEEN.wait()), (Some(1), &(true, true, true, 0)));
        assert_eq!(taken_back(&mut watcher), ["agent::MODE", "net.packets", "net.trace"]);
        assert_eq!(now(), (false, false, true, 1));
    });
}

#[test]
fn logged() {
    passes(|| {
        let agent = Agent::start(|options| options);
        agent.client().done("set net.trace=on for 1");
        assert!(agent.logged().ends_with(" for 1 s"));
        assert_eq!(agent.logged(), "net.trace on -> off: the time is over");
    });
}

/// What is set again meanwhile: a longer time, no time, the first state.
#[test]
fn set_again() {
    passes(|| {
        let agent = Agent::start(|options| options);
        let (mut watcher, mut client) = (agent.client(), agent.client());
        watcher.done("watch");
        client.done("set net.*=on,*::MODE=2 for 600");
        // No change, but another time.
        let again = client.done("set net.trace=on for 1000").set.unwrap();
        assert_eq!((again.changes.len(), again.reverts_in), (0, Some(1000)));
        let kept = |done: Done| match &done.notes[..] {
            [note] => note.starts_with("net.packets stays on: it was to be taken back in "),
            notes => panic!("{notes:?}"),
        };
        assert!(kept(client.done("set net.packets=on dry-run").set.unwrap()));
        let again = client.done("set net.packets=on").set.unwrap();
        assert_eq!((again.changes.len(), again.reverts_in), (0, None));
        assert!(kept(again));
        assert!(client.done("set net.packets=on").set.unwrap().notes.is_empty());
        // Back to what it was at first, not to 2.
        client.done("set *::MODE=0 for 1");
        assert_eq!(taken_back(&mut watcher), ["agent::MODE"]);
        assert_eq!(now(), (true, true, true, 1));
        let left = |client: &mut Client, key: &str| client.done(&format!("list {key}")).keys.unwrap()[0].reverts_in;
        assert!(left(&mut client, "net.trace").is_some_and(|seconds| (601..=1000).contains(&seconds)));
        assert_eq!(left(&mut client, "net.packets"), None);
        // By hand: nothing is left to be taken back.
        client.done("set net.trace=off for 1000");
        assert_eq!(left(&mut client, "net.trace"), None);
    });
}

#[test]
fn users() {
    passes(|| {
        let agent = Agent::start(|options| options);
        let (mut watcher, mut client) = (agent.client(), agent.client());
        watcher.done("watch");
        TRACE.inc().unwrap();
        client.done("set net.trace+1 for 1");
        client.done("set net.trace+1 for 1");
        let mut taken = 0;
        while taken < 2 {
            taken += taken_back(&mut watcher).len();
        }
        assert_eq!(TRACE.count(), 1);
    });
}

/// The program has changed them meanwhile: they stay, the others go.
#[test]
fn changed_otherwise() {
    passes(|| {
        static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());
        let agent = Agent::start(|options| {
            options.log(|event| {
                LINES.lock().unwrap().push(event.to_string());
                if let Event::Changed(Happened { by: Some(_), .. }) = event {
                    PACKETS.inc().unwrap();
                    MODE.set(Mode::Fast).unwrap();
                }
            })
        });
        let (mut watcher, mut client) = (agent.client(), agent.client());
        watcher.done("watch");
        client.done("set net.*=on,*::MODE=2 for 1");
        assert_eq!(taken_back(&mut watcher), ["net.packets", "net.trace"]);
        // The answer comes when all of it was logged.
        client.done("hello");
        assert_eq!(now(), (false, true, true, 0));
        let lines = LINES.lock().unwrap();
        let expected = [
            "net.packets on/2 -> on/1, net.trace on -> off: the time is over",
            "agent::MODE stays as it is, though the time is over: it is 0/3 by now",
        ];
        assert_eq!(lines[1..], expected);
        // The program's own user is the last one.
        PACKETS.dec().unwrap();
        assert!(!now().1);
    });
}

/// What the program asks for stays, though that is what the agent has made it already, and the program's call has nothing to do.
#[test]
fn asked_for_by_the_program() {
    passes(|| {
        static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());
        let agent = Agent::start(|options| {
            options.log(|event| {
                LINES.lock().unwrap().push(event.to_string());
                if let Event::Changed(Happened { by: Some(_), .. }) = event {
                    jumplabel::Batch::new().enable(&TRACE).disable(&STRICT).set(&MODE, Mode::Traced).commit().unwrap();
                    // A user who comes and goes asks for nothing.
                    PACKETS.inc().unwrap();
                    PACKETS.dec().unwrap();
                }
            })
        });
        let (mut watcher, mut client) = (agent.client(), agent.client());
        watcher.done("watch");
        client.done("set net.*=on,auth.strict=off,*::MODE=2 for 1");
        assert_eq!(taken_back(&mut watcher), ["net.packets"]);
        client.done("hello");
        assert_eq!(now(), (true, false, false, 2));
        let mut expected = vec!["net.packets on -> off: the time is over".to_owned()];
        for (key, state) in [("agent::MODE", "2/3"), ("auth.strict", "off"), ("net.trace", "on")] {
            let why = format!("the program itself has asked for {state} since");
            expected.push(format!("{key} stays as it is, though the time is over: {why}"));
        }
        assert_eq!(LINES.lock().unwrap()[1..], expected);
        // Nor does a longer time begin for what is the program's by now.
        let again = client.done("set net.trace=on for 1").set.unwrap();
        assert_eq!((again.changes.len(), again.reverts_in), (0, None));
    });
}

/// The program has sealed it meanwhile, and its memory may be read-only by now.
#[test]
fn sealed_by_the_program() {
    passes(|| {
        let agent = Agent::start(|options| {
            when_set(options, || {
                TRACE.seal().unwrap();
                MODE.seal().unwrap();
            })
        });
        let (mut watcher, mut client) = (agent.client(), agent.client());
        watcher.done("watch");
        client.done("set net.*=on,*::MODE=2 for 1");
        assert_eq!(taken_back(&mut watcher), ["net.packets"]);
        assert_eq!(now(), (true, false, true, 2));
    });
}

/// A key that is on only because a dec is due: whoever sets it takes that user's place, and does not give it back.
#[test]
fn while_a_dec_is_due() {
    passes(|| {
        let agent = Agent::start(|options| options);
        let (mut watcher, mut client) = (agent.client(), agent.client());
        watcher.done("watch");
        for state in ["on", "off"] {
            LATE.inc().unwrap();
            LATE.dec_deferred().unwrap();
            let done = client.done(&format!("set late={state} for 1")).set.unwrap();
            assert_eq!((done.changes.len(), LATE.is_enabled()), (1, state == "on"));
            assert_eq!(LATE.flush(), Ok(None), "the dec of one that has left");
            if state == "on" {
                assert_eq!(taken_back(&mut watcher), ["late"]);
            } else {
                assert_eq!(done.reverts_in, None);
            }
            assert!(!LATE.is_enabled(), "on for ever");
        }
    });
}

/// Without `for` it stays: what the tests above wait for does not come by itself.
#[test]
fn twin() {
    passes(|| {
        let agent = Agent::start(|options| options);
        let (mut watcher, mut client) = (agent.client(), agent.client());
        client.done("set net.trace=on");
        watcher.done("watch");
        client.done("set net.packets=on for 2");
        assert_eq!(taken_back(&mut watcher), ["net.packets"]);
        assert_eq!(now(), (true, false, true, 1));
    });
}

/// While somebody else's bytes are at a site, the key stays, and the log says why, once. Then it goes back.
#[test]
#[cfg(not(jumplabel_fallback))]
fn tried_again() {
    use std::os::unix::fs::FileExt;
    passes(|| {
        let memory = std::fs::OpenOptions::new().read(true).write(true).open("/proc/self/mem").unwrap();
        let mut site = None;
        jumplabel::for_each_site(&TRACE, |found| site = Some(found.address as u64)).unwrap();
        let site = site.unwrap();
        let first = |at| {
            let mut byte = [0];
            memory.read_exact_at(&mut byte, at).unwrap();
            byte
        };
        // Before the time can be over. Nobody executes the site.
        static SPOILT: OnceLock<[u8; 1]> = OnceLock::new();
        let (to, logged) = mpsc::channel();
        let agent = Agent::start(|options| {
            logged_when_set(options, to, move || {
                let memory = std::fs::OpenOptions::new().read(true).write(true).open("/proc/self/mem").unwrap();
                let mut byte = [0];
                memory.read_exact_at(&mut byte, site).unwrap();
                SPOILT.set(byte).unwrap();
                memory.write_all_at(&[0xcc], site).unwrap();
            })
        });
        agent.client().done("set net.*=on for 1");
        assert!(logged.recv_timeout(LIMIT).unwrap().ends_with(" for 1 s"));
        // What can go back does.
        let (one, other) = (logged.recv_timeout(LIMIT).unwrap(), logged.recv_timeout(LIMIT).unwrap());
        assert_eq!(one, "net.packets on -> off: the time is over");
        assert!(other.starts_with("net.trace stays as it is, though the time is over: "), "{other}");
        assert!(other.ends_with("; the agent tries again every second"), "{other}");
        assert_eq!(first(site), [0xcc]);
        // Two more tries, of which the log says nothing.
        std::thread::sleep(std::time::Duration::from_millis(2500));
        assert!(logged.try_recv().is_err());
        let left = agent.client().done("list net.trace").keys.unwrap()[0].reverts_in;
        assert!(left.is_some_and(|seconds| seconds <= 1), "{left:?}");
        memory.write_all_at(SPOILT.wait(), site).unwrap();
        assert_eq!(logged.recv_timeout(LIMIT).unwrap(), "net.trace on -> off: the time is over");
        assert_eq!(now(), (false, false, true, 1));
    });
}
