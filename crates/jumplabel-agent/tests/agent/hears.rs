//! Functions that hear of flips: who asked, by an agent, by the variable, by the program; which keys a selector chooses.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use jumplabel::{AskedBy, Changed};
use jumplabel_agent::{HearError, on_change};
use jumplabel_testing::scenario::{passes, this_program};

use crate::client::{Agent, LIMIT};
use crate::{MODE, Mode, PACKETS, TRACE};

type Heard = (String, u8, AskedBy);

fn state(changed: &Changed<'_>) -> u8 {
    match changed {
        Changed::Key { on, .. } => u8::from(*on),
        Changed::Mode { number, .. } => *number,
        _ => unreachable!(),
    }
}

fn hear(selector: &str) -> Receiver<Heard> {
    let (sender, heard): (Sender<Heard>, _) = channel();
    let sender = Mutex::new(sender);
    let told = move |name: &str, changed: &Changed<'_>, by| {
        sender.lock().unwrap().send((name.to_owned(), state(changed), by)).unwrap();
    };
    on_change(selector, told).unwrap();
    heard
}

fn all(heard: &Receiver<Heard>) -> Vec<Heard> {
    heard.try_iter().collect()
}

#[test]
fn who_asked() {
    passes(|| {
        let agent = Agent::start(|options| options);
        let (net, modes) = (hear("net.*"), hear("agent::MODE"));
        let uid = rustix::process::geteuid().as_raw();
        let by = AskedBy::Operator { uid };
        let named = |name: &str, state, by| (name.to_owned(), state, by);
        // A client has its answer when the program has heard.
        agent.client().done("set net.*=on,agent::MODE=2,auth.strict=off");
        let mut both = all(&net);
        both.sort_by(|one, other| one.0.cmp(&other.0));
        assert_eq!(both, [named("net.packets", 1, by), named("net.trace", 1, by)]);
        assert_eq!(all(&modes), [named("agent::MODE", 2, by)]);
        // What is so already, and what is tried out or refused, has not changed.
        agent.client().done("set net.*=on");
        agent.client().done("set net.*=off dry-run");
        agent.client().refused("set net.trace=off,nobody=on", 1);
        assert_eq!(all(&net), []);
        PACKETS.disable().unwrap();
        MODE.set(Mode::Fast).unwrap();
        assert_eq!(all(&net), [named("net.packets", 0, AskedBy::Program)]);
        assert_eq!(all(&modes), [named("agent::MODE", 0, AskedBy::Program)]);
        // For a while: the agent takes it back.
        agent.client().done("set net.packets=on for 1");
        assert_eq!(net.recv_timeout(LIMIT).unwrap(), named("net.packets", 1, by));
        assert_eq!(net.recv_timeout(LIMIT).unwrap(), named("net.packets", 0, AskedBy::Revert));
    });
}

/// A function that does not let an operator change a key for good: in the agent's thread.
#[test]
fn one_that_flips_back() {
    passes(|| {
        let agent = Agent::start(|options| options);
        on_change("net.trace", |_, changed, by| {
            if let (Changed::Key { key, on: true, .. }, AskedBy::Operator { .. }) = (changed, by) {
                key.disable().unwrap();
            }
        })
        .unwrap();
        agent.client().done("set net.trace=on");
        assert!(!TRACE.is_enabled());
        TRACE.enable().unwrap();
        assert!(TRACE.is_enabled());
    });
}

#[test]
fn selectors() {
    for (selector, why) in
        [("net.*=on", "leave out what it is to be: on"), ("fn:main", "does not know functions"), ("", "")]
    {
        match on_change(selector, |_, _, _| ()).unwrap_err() {
            HearError::Selector { why: is, .. } => assert!(is.contains(why), "{is}"),
            other => panic!("{other}"),
        }
    }
}

/// A function that there is no place for is dropped.
#[test]
fn no_place() {
    passes(|| {
        let held = Arc::new(());
        let register = || {
            let held = held.clone();
            on_change("net.*", move |_, _, _| drop(held.clone()))
        };
        let registered = (0..1000).take_while(|_| register().is_ok()).count();
        assert!((1..1000).contains(&registered));
        assert!(matches!(register(), Err(HearError::Refused(jumplabel::Error::OutOfMemory))));
        assert_eq!(Arc::strong_count(&held), registered + 1);
    });
}

/// In front of what [`jumplabel_agent::startup!`] does.
mod early {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use jumplabel::{AskedBy, Changed};

    pub static BY_VARIABLE: AtomicUsize = AtomicUsize::new(0);

    #[used]
    #[unsafe(link_section = ".init_array.00090")]
    static CONSTRUCTOR: extern "C" fn() = {
        extern "C" fn constructor() {
            // SAFETY: a string.
            if !unsafe { libc::getenv(c"JUMPLABEL_TEST_HEARS".as_ptr()) }.is_null() {
                jumplabel::on_change(&|_: &Changed<'_>, by| {
                    BY_VARIABLE.fetch_add(usize::from(by == AskedBy::Startup), Ordering::Relaxed);
                })
                .unwrap();
            }
        }
        constructor
    };
}

/// Started by the next one.
#[test]
fn child() {
    println!("heard {}", early::BY_VARIABLE.load(std::sync::atomic::Ordering::Relaxed));
}

#[test]
fn the_variable() {
    let mut command = this_program();
    command.args(["--exact", "hears::child", "--nocapture"]).env("JUMPLABEL_TEST_HEARS", "1");
    let output = command.env("JUMPLABEL", "net.trace=on,net.*=on,net.*+1,net.trace=off").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("heard 2\n"), "{said}{}", String::from_utf8_lossy(&output.stderr));
}
