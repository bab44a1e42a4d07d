//! Clients that follow what happens at names of a layer: one of these tests, whose records they make themselves.

use std::collections::BTreeSet;
use std::io::Read;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};

use jumplabel_agent::serve;
use jumplabel_layer::{Done, Entry, Handle, Layer, Setting};
use jumplabel_testing::scenario::passes;

use crate::client::{Agent, Client};

/// What is followed, and at most how many records in a second.
static FOLLOWED: Mutex<(BTreeSet<String>, u32)> = Mutex::new((BTreeSet::new(), 0));
/// Records that the agent has not taken: where, and what.
static WAITING: Mutex<Vec<(&'static str, String)>> = Mutex::new(Vec::new());
static LOST: AtomicU64 = AtomicU64::new(0);
/// Whether another change is refused.
static REFUSES: AtomicBool = AtomicBool::new(false);

struct Places;

impl Layer for Places {
    const PREFIX: &'static str = "place:";
    const KIND: &'static str = "a place";
    const VALUES: &'static str = "write nothing";

    fn entries(visit: &mut dyn FnMut(Entry<'_>)) {
        for name in ["north.1", "north.2", "south.1"] {
            visit(Entry { name, value: None, revision: 0, note: "", sites: 0 });
        }
    }

    fn takes(name: &str) -> Option<usize> {
        matches!(name, "north" | "south").then_some(0)
    }

    fn check(_: &str, _: &str) -> Result<(), String> {
        Err("nothing can be configured".to_owned())
    }

    fn configure(_: &[Setting<'_>], _: bool) -> Result<Done, String> {
        Err("nothing can be configured".to_owned())
    }

    fn follow(names: &[&str], per_second: u32) -> Result<(), String> {
        if REFUSES.load(SeqCst) {
            return Err("no place can be followed now".to_owned());
        }
        *FOLLOWED.lock().unwrap() = (names.iter().map(|name| (*name).to_owned()).collect(), per_second);
        Ok(())
    }

    fn records(visit: &mut dyn FnMut(&str, &str)) -> u64 {
        let mut waiting = WAITING.lock().unwrap();
        waiting.drain(..).for_each(|(name, record)| visit(name, &record));
        LOST.swap(0, SeqCst)
    }

    fn covers(chosen: &str, name: &str) -> bool {
        name.strip_prefix(chosen).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }
}

static LAYER: Handle = Handle::of::<Places>();

fn followed() -> (Vec<String>, u32) {
    let (names, per_second) = &*FOLLOWED.lock().unwrap();
    (names.iter().cloned().collect(), *per_second)
}

fn is_followed(names: &[&str], per_second: u32) {
    assert_eq!(followed(), (names.iter().map(|name| (*name).to_owned()).collect(), per_second));
}

fn happens(name: &'static str, number: usize) {
    happens_and_loses(name, number, 0);
}

fn happens_and_loses(name: &'static str, number: usize, lost: u64) {
    let mut waiting = WAITING.lock().unwrap();
    waiting.push((name, format!("{{\"at\":\"{name}\",\"number\":{number}}}")));
    LOST.fetch_add(lost, SeqCst);
}

/// The next records, as the layer wrote them, and how many were lost.
fn told(client: &mut Client) -> (Vec<String>, u64) {
    let traced = client.answer().traced.unwrap();
    (traced.records.iter().map(|record| record.get().to_owned()).collect(), traced.lost)
}

/// Waits until the agent has noticed that somebody has gone.
fn until_followed(names: &[&str]) {
    while followed().0 != names {
        std::thread::yield_now();
    }
}

#[test]
fn each_is_told_what_it_follows() {
    passes(|| {
        serve(&LAYER).unwrap();
        let agent = Agent::start(|options| options);
        let [mut all, mut south] = [agent.client(), agent.client()];
        assert_eq!(all.done("trace place:*").follows, Some(3));
        assert!(agent.logged().starts_with("place:* is followed by uid "));
        is_followed(&["north.1", "north.2", "south.1"], 10_000);
        // A name that is not listed, and includes one that is.
        assert_eq!(south.done("trace place:south at 20000").follows, Some(1));
        is_followed(&["north.1", "north.2", "south", "south.1"], 20_000);
        happens("north.2", 1);
        assert_eq!(told(&mut all), (vec![r#"{"at":"north.2","number":1}"#.to_owned()], 0));
        happens_and_loses("south.1", 2, 3);
        assert_eq!(told(&mut south), (vec![r#"{"at":"south.1","number":2}"#.to_owned()], 3));
        assert_eq!(told(&mut all), (vec![r#"{"at":"south.1","number":2}"#.to_owned()], 3));
        // Another request takes the place of the first; it is answered as ever.
        assert_eq!(all.done("trace place:north.1").follows, Some(1));
        is_followed(&["north.1", "south"], 20_000);
        assert!(all.done("list place:north.1").keys.is_some());
        drop(south);
        until_followed(&["north.1"]);
        is_followed(&["north.1"], 10_000);
        while !agent.logged().starts_with("nothing is followed any more by uid ") {}
        drop(all);
        until_followed(&[]);
    });
}

#[test]
fn refused() {
    passes(|| {
        serve(&LAYER).unwrap();
        let agent = Agent::start(|options| options);
        let [mut one, mut other] = [agent.client(), agent.client()];
        for (request, status, why) in [
            ("trace place:nowhere", 1, "nothing matches `place:nowhere`"),
            ("trace place:north.*,place:east.*", 1, "nothing matches `place:east.*`"),
            ("trace net.trace", 2, "net.trace is a key: a key has no events"),
            ("trace fn:main", 2, "the process does not know functions"),
        ] {
            let says = one.refused(request, status);
            assert!(says.contains(why), "{request}: {says}");
        }
        one.done("trace place:north.1");
        REFUSES.store(true, SeqCst);
        assert_eq!(other.refused("trace place:south", 4), "no place can be followed now");
        assert_eq!(one.refused("trace place:north.2", 4), "no place can be followed now");
        is_followed(&["north.1"], 10_000);
        while !agent.logged().contains("no place can be followed now") {}
        // What it has asked for still holds.
        REFUSES.store(false, SeqCst);
        happens("north.1", 1);
        assert_eq!(told(&mut one).0.len(), 1);
        // If it cannot be ended, the log says so.
        REFUSES.store(true, SeqCst);
        drop(one);
        while !agent.logged().contains("what nobody follows is still noted: no place can be followed now") {}
        // It is tried again.
        REFUSES.store(false, SeqCst);
        until_followed(&[]);
        other.done("trace place:south");
        is_followed(&["south"], 10_000);
    });
    passes(|| {
        serve(&LAYER).unwrap();
        let agent = Agent::start(|options| options.read_only());
        let says = agent.client().refused("trace place:*", 4);
        assert!(says.contains("lets nobody follow"), "{says}");
        is_followed(&[], 0);
    });
}

/// A client that does not read loses records, which are counted. The other clients get all records, and nobody waits.
#[test]
fn who_does_not_read() {
    passes(|| {
        serve(&LAYER).unwrap();
        let agent = Agent::start(|options| options);
        let [mut idle, mut reader] = [agent.client(), agent.client()];
        idle.done("trace place:north.1");
        reader.done("trace place:north");
        const ALL: usize = 30_000;
        let mut read = 0;
        for number in 0..ALL {
            happens("north.1", number);
            while read < number.saturating_sub(1000) {
                let (records, lost) = told(&mut reader);
                assert_eq!(lost, 0);
                read += records.len();
            }
        }
        while read < ALL {
            read += told(&mut reader).0.len();
        }
        let (mut records, mut lost) = (0, 0);
        while records + lost < ALL {
            let (told, others) = told(&mut idle);
            (records, lost) = (records + told.len(), lost + others as usize);
        }
        assert!(records + lost == ALL && records > 0 && lost > 0, "{records} and {lost}");
    });
}

/// A client that has gone is not followed for, even if it had unread records.
#[test]
fn gone_in_the_middle() {
    passes(|| {
        serve(&LAYER).unwrap();
        let agent = Agent::start(|options| options);
        let mut client = agent.client();
        client.done("trace place:south.1");
        happens("south.1", 0);
        let mut first = [0];
        client.0.read_exact(&mut first).unwrap();
        drop(client);
        until_followed(&[]);
        happens("south.1", 1);
        assert!(agent.client().done("hello").hello.is_some());
        // Nobody takes them: the layer was told that nobody wants any.
        assert_eq!(WAITING.lock().unwrap().len(), 1);
    });
}
