//! Names of a layer: one of these tests, which keeps texts and nothing else.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, mpsc};

use jumplabel_agent::protocol::{Happened, Row};
use jumplabel_agent::{Event, serve};
use jumplabel_layer::{Done, Entry, Handle, Layer, Setting};
use jumplabel_testing::scenario::{Scenario, passes};

use crate::client::{Agent, Client, LIMIT};
use crate::{TRACE, now};

/// What is configured: text and revision.
static TEXTS: Mutex<BTreeMap<String, (String, u64)>> = Mutex::new(BTreeMap::new());
/// The twin: it does not ask which revision is meant.
static IS_BROKEN: AtomicBool = AtomicBool::new(false);
/// Everything is refused, whatever is asked for.
static IS_SHUT: AtomicBool = AtomicBool::new(false);

struct Texts;

/// As the program does it.
fn configure(settings: &[Setting<'_>]) -> Result<Done, String> {
    let mut texts = TEXTS.lock().unwrap();
    let revision = texts.values().map(|(_, revision)| *revision).max().unwrap_or(0) + 1;
    for Setting { name, only_at, .. } in settings {
        let found = texts.get(*name).map_or(0, |(_, revision)| *revision);
        if only_at.is_some_and(|at| at != found) && !IS_BROKEN.load(Relaxed) {
            return Err(format!("{name} is another one by now"));
        }
    }
    if IS_SHUT.load(Relaxed) || settings.iter().any(|setting| setting.value == Some("refused")) {
        return Err("it cannot be done".to_owned());
    }
    for Setting { name, value, .. } in settings {
        match value {
            Some(value) => drop(texts.insert((*name).to_owned(), ((*value).to_owned(), revision))),
            None => drop(texts.remove(*name)),
        }
    }
    Ok(Done { revision, pages: 0 })
}

impl Layer for Texts {
    const PREFIX: &'static str = "text:";
    const KIND: &'static str = "a text";
    const VALUES: &'static str = "write a word";

    fn entries(visit: &mut dyn FnMut(Entry<'_>)) {
        visit(Entry { name: "plain", value: None, revision: 0, note: "has no key", sites: 0 });
        for (name, (value, revision)) in &*TEXTS.lock().unwrap() {
            visit(Entry { name, value: Some(value), revision: *revision, note: "", sites: 0 });
        }
    }

    fn takes(name: &str) -> Option<usize> {
        name.starts_with("a.").then_some(0)
    }

    fn check(_: &str, value: &str) -> Result<(), String> {
        if value.len() < 20 { Ok(()) } else { Err("that is long".to_owned()) }
    }

    fn configure(settings: &[Setting<'_>], dry_run: bool) -> Result<Done, String> {
        if dry_run { Ok(Done::default()) } else { configure(settings) }
    }
}

static LAYER: Handle = Handle::of::<Texts>();

fn texts() -> Vec<(String, String)> {
    TEXTS.lock().unwrap().iter().map(|(name, (text, _))| (name.clone(), text.clone())).collect()
}

fn has(expected: &[(&str, &str)]) {
    assert_eq!(texts(), expected.iter().map(|(name, text)| ((*name).into(), (*text).into())).collect::<Vec<_>>());
}

fn rows(client: &mut Client, selector: &str) -> Vec<Row> {
    client.done(&format!("list {selector}")).keys.unwrap()
}

#[test]
fn set_and_listed() {
    passes(|| {
        let agent = Agent::start(|options| options);
        let mut client = agent.client();
        assert!(client.refused("set text:a.b=c", 1).contains("nothing matches `text:a.b=c`"));
        serve(&LAYER).unwrap();
        let done = client.done("set \"text:a.b=c, d\",text:a.e=f").set.unwrap();
        assert_eq!(done.undo, "text:a.b=remove,text:a.e=remove");
        assert_eq!((done.notes.len(), done.changes[0].from.as_str(), done.changes[0].to.as_str()), (2, "off", "c, d"));
        has(&[("a.b", "c, d"), ("a.e", "f")]);
        let listed = rows(&mut client, "text:*");
        let states: Vec<_> = listed.iter().map(|row| (&*row.key, &*row.kind, &*row.state, row.sites)).collect();
        let expected =
            [("text:a.b", "name", "c, d", 0), ("text:a.e", "name", "f", 0), ("text:plain", "name", "off", 0)];
        assert_eq!(states, expected);
        assert_eq!((listed[2].note.as_deref(), listed[0].since.is_some()), (Some("has no key"), true));
        // The undo of what has blanks and commas in it is one item, too.
        let done = client.done("set text:a.b=g").set.unwrap();
        assert_eq!(done.undo, "\"text:a.b=c, d\"");
        client.done(&format!("set {}", done.undo));
        has(&[("a.b", "c, d"), ("a.e", "f")]);
        assert_eq!(client.ask("check \"text:a.b=c, d\",text:plain=off").status, 0);
        let differs = client.ask("check text:a.e=g");
        assert_eq!((differs.status, differs.differences.unwrap()), (1, vec!["text:a.e is f, not g".to_owned()]));
        client.done("set text:*=remove");
        has(&[]);
    });
}

/// Nothing changes if any of it cannot be.
#[test]
fn refused() {
    passes(|| {
        serve(&LAYER).unwrap();
        let agent = Agent::start(|options| options.no_remote("text:plain"));
        let mut client = agent.client();
        for (request, status, why) in [
            (
                "set text:a.b=c,text:a.d=eeeeeeeeeeeeeeeeeeee",
                2,
                "text:a.d cannot be `eeeeeeeeeeeeeeeeeeee`: that is long; write a word",
            ),
            ("set text:a.b=c,text:d.e=f", 1, "nothing matches `text:d.e=f`"),
            ("set text:a.b=c,text:a.*=f", 1, "nothing matches `text:a.*=f`"),
            ("set text:a.b=c,text:a.d=remove", 1, "nothing matches"),
            ("set text:a.b=c,text:a.d=refused", 4, "nothing is set: it cannot be done"),
            ("set text:a.b=c,net.trace=on", 2, "one flip is of keys, or of names of one layer (text:*)"),
            ("set net.trace=on,text:a.b=c", 2, "one flip is of keys, or of names of one layer (text:*)"),
            ("set text:a.b=c,text:*=d", 4, "text:plain: the program lets nobody change it from outside (`text:plain`)"),
            ("set text:a.b+1", 2, "write a word"),
            ("set \"text:a.b=c", 2, "no string of JSON"),
            ("set \"text:a.b=c\"d", 2, "a comma is missing"),
        ] {
            let said = client.refused(request, status);
            assert!(said.contains(why), "{request}: {said}");
            has(&[]);
        }
        assert!(!now().0);
    });
}

/// A name without a key: of two selectors that forbid it, the one with a reason says so, though the other one is newer.
#[test]
fn forbidden_for_a_reason() {
    passes(|| {
        serve(&LAYER).unwrap();
        let agent = Agent::start(|options| options.no_remote_because("text:*", "it is ours"));
        jumplabel_agent::no_remote("tex*").unwrap();
        assert!(agent.client().refused("set text:a.b=c", 4).contains("(`text:*`: it is ours)"));
        has(&[]);
    });
}

#[test]
fn read_only() {
    passes(|| {
        serve(&LAYER).unwrap();
        let agent = Agent::start(|options| options.read_only());
        assert!(agent.client().refused("set text:a.b=c", 4).contains("read-only"));
        agent.client().done("set text:a.b=c dry-run");
        has(&[]);
    });
}

/// What the agent has configured for a while, and the program again meanwhile, stays; the rest goes.
fn configured_by_the_program_meanwhile() {
    serve(&LAYER).unwrap();
    let agent = Agent::start(|options| {
        options.log(|event| {
            // In the agent's thread: before any time can be over.
            if let Event::Changed(Happened { by: Some(_), .. }) = event {
                let again = |name, value| Setting { name, value, only_at: None };
                configure(&[again("a.same", Some("x")), again("a.gone", None)]).unwrap();
            }
        })
    });
    let (mut watcher, mut client) = (agent.client(), agent.client());
    watcher.done("watch");
    client.done("set text:a.same=x,text:a.gone=x,text:a.other=x for 1");
    let by_hand = watcher.answer().event.unwrap();
    assert!(by_hand.by.is_some() && by_hand.done.changes.len() == 3);
    let taken_back = watcher.answer().event.unwrap();
    let changes: Vec<_> = taken_back.done.changes.iter().map(|change| (&*change.key, &*change.to)).collect();
    assert_eq!(changes, [("text:a.other", "off")], "the program's own");
    has(&[("a.same", "x")]);
}

#[test]
fn for_a_while() {
    passes(|| {
        configured_by_the_program_meanwhile();
    });
}

/// A layer that does not ask which revision is meant.
#[test]
fn for_a_while_twin() {
    Scenario::new().fails("the program's own", || {
        IS_BROKEN.store(true, Relaxed);
        configured_by_the_program_meanwhile();
    });
}

/// One that stays is named in the log.
#[test]
fn kept() {
    passes(|| {
        serve(&LAYER).unwrap();
        let agent = Agent::start(|options| options);
        let mut client = agent.client();
        client.done("set text:a.b=c for 1");
        let again = Setting { name: "a.b", value: Some("d"), only_at: None };
        // If the time was over before the program could come, once more.
        while configure(&[Setting { only_at: Some(1), ..again }]).is_err() {
            client.done("set text:a.b=c for 1");
        }
        let why = "text:a.b stays as it is, though the time is over: a.b is another one by now";
        while agent.logged() != why {}
        has(&[("a.b", "d")]);
    });
}

/// What a layer refuses, though nobody else has configured it, is tried again.
#[test]
fn tried_again() {
    passes(|| {
        serve(&LAYER).unwrap();
        let (to, logged) = mpsc::channel();
        let agent = Agent::start(|options| {
            options.log(move |event| {
                to.send(event.to_string()).unwrap();
                if let Event::Changed(Happened { by: Some(_), .. }) = event {
                    IS_SHUT.store(true, Relaxed);
                }
            })
        });
        agent.client().done("set text:a.b=c for 1");
        assert!(logged.recv_timeout(LIMIT).unwrap().ends_with(" for 1 s"));
        let why =
            "text:a.b stays as it is, though the time is over: it cannot be done; the agent tries again every second";
        assert_eq!(logged.recv_timeout(LIMIT).unwrap(), why);
        std::thread::sleep(std::time::Duration::from_millis(2500));
        assert!(logged.try_recv().is_err());
        has(&[("a.b", "c")]);
        IS_SHUT.store(false, Relaxed);
        assert_eq!(logged.recv_timeout(LIMIT).unwrap(), "text:a.b c -> off: the time is over");
        has(&[]);
    });
}

/// A layer is served once; another one of its prefix is refused.
#[test]
fn served_twice() {
    struct Other;
    impl Layer for Other {
        const PREFIX: &'static str = "text:";
        const KIND: &'static str = "another text";
        const VALUES: &'static str = "";
        fn entries(_: &mut dyn FnMut(Entry<'_>)) {}
        fn check(_: &str, _: &str) -> Result<(), String> {
            Ok(())
        }
        fn configure(_: &[Setting<'_>], _: bool) -> Result<Done, String> {
            unreachable!("nobody serves it")
        }
    }
    static OTHER: Handle = Handle::of::<Other>();
    passes(|| {
        serve(&LAYER).unwrap();
        serve(&LAYER).unwrap();
        let error = serve(&OTHER).unwrap_err().to_string();
        assert!(error.contains("names that begin with `text:` belong to another layer already"), "{error}");
        let agent = Agent::start(|options| options);
        agent.client().done("set text:a.b=c");
        has(&[("a.b", "c")]);
        // Keys are as ever.
        agent.client().done("set net.trace=on");
        assert!(now().0);
        TRACE.disable().unwrap();
    });
}
