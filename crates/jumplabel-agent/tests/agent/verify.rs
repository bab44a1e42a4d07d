//! Sites that something outside the library has changed are brought back, when a client asks and by themselves.
#![cfg(not(jumplabel_fallback))]

use std::os::unix::fs::FileExt;
use std::time::Duration;

use jumplabel::RawKey;
use jumplabel_testing::scenario::passes;

use crate::client::Agent;
use crate::{PACKETS, TRACE, now};

/// Of a site.
const BYTES: usize = if cfg!(any(target_arch = "x86_64", target_arch = "x86")) { 5 } else { 4 };

/// Turns a key on, and has its sites do what they did before, as a tool does that gives the file's bytes back. How many there are.
fn turn_on_and_spoil(key: &RawKey) -> usize {
    let memory = std::fs::OpenOptions::new().read(true).write(true).open("/proc/self/mem").unwrap();
    let mut before = Vec::new();
    jumplabel::for_each_site(key, |site| {
        let mut bytes = [0; BYTES];
        memory.read_exact_at(&mut bytes, site.address as u64).unwrap();
        before.push((site.address as u64, bytes));
    })
    .unwrap();
    key.enable().unwrap();
    before.iter().for_each(|(address, bytes)| memory.write_all_at(bytes, *address).unwrap());
    before.len()
}

#[test]
fn asked() {
    passes(|| {
        let agent = Agent::start(|options| options);
        let mut client = agent.client();
        let found = |answer: jumplabel_agent::protocol::Answer| answer.verified.unwrap().sites;
        assert_eq!(found(client.done("verify")), 0);
        let strayed = turn_on_and_spoil(&TRACE) + turn_on_and_spoil(&PACKETS);
        assert_eq!(now(), (false, false, true, 1));
        let first = found(client.done("verify net.trace"));
        assert_eq!(now(), (true, false, true, 1));
        assert_eq!(first + found(client.done("verify")), strayed);
        assert_eq!(now(), (true, true, true, 1));
        client.done("check net.*=on");
        assert!(agent.logged().contains(" changed from outside and brought back: uid "));
        assert!(client.refused("verify nobody", 1).contains("nothing matches"));
        assert!(client.refused("verify *::MODE", 2).contains("agent::MODE is a mode: verify looks at keys"));
        assert_eq!(found(client.done("verify *")), 0);
    });
}

#[test]
fn by_itself() {
    passes(|| {
        let agent = Agent::start(|options| options.verify_every(Duration::from_millis(200)));
        for _ in 0..2 {
            TRACE.disable().unwrap();
            let strayed = turn_on_and_spoil(&TRACE);
            // A look may have come in the middle of that.
            let mut brought_back = 0;
            while brought_back < strayed {
                let line = agent.logged();
                assert!(line.ends_with(" changed from outside and brought back"), "{line}");
                brought_back += line.split(' ').next().unwrap().parse::<usize>().unwrap();
            }
            assert!(now().0);
        }
    });
}

/// A site that cannot be brought back is told once, and once more if it was brought back in between.
#[test]
fn told_once() {
    passes(|| {
        let mut sites = Vec::new();
        jumplabel::for_each_site(&TRACE, |site| sites.push(site.address as u64)).unwrap();
        let memory = std::fs::OpenOptions::new().read(true).write(true).open("/proc/self/mem").unwrap();
        let agent = Agent::start(|options| options.verify_every(Duration::from_millis(100)));
        for _ in 0..2 {
            let mut bytes = [0; BYTES];
            memory.read_exact_at(&mut bytes, sites[0]).unwrap();
            // Nobody executes it.
            memory.write_all_at(&[0xcc; BYTES], sites[0]).unwrap();
            // A look may have come in the middle of what was spoilt below.
            let line = std::iter::repeat_with(|| agent.logged()).find(|line| !line.ends_with(" brought back")).unwrap();
            assert!(line.starts_with("agent: some sites do not do what their keys say: "), "{line}");
            std::thread::sleep(Duration::from_secs(1));
            assert!(agent.is_quiet());
            memory.write_all_at(&bytes, sites[0]).unwrap();
            turn_on_and_spoil(&PACKETS);
            assert!(agent.logged().ends_with(" brought back"));
            PACKETS.disable().unwrap();
        }
    });
}

/// Without that, they stay as they are.
#[test]
fn by_itself_twin() {
    passes(|| {
        let agent = Agent::start(|options| options);
        turn_on_and_spoil(&TRACE);
        // The agent has done something since, and has gone to sleep again.
        agent.client().done("set net.packets=on for 1");
        assert!(agent.logged().ends_with(" for 1 s") && agent.logged().ends_with("the time is over"));
        assert!(!now().0 && agent.is_quiet());
    });
}
