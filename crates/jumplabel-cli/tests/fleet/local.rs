//! What happens on one host: processes that are stopped, followers that end, operators who set keys there.

use crate::cluster::Cluster;
use crate::hosts::{Follower, Processes};
use crate::until;

/// Processes that are stopped delay no other, and are named. They follow when they go on, and then know what to take back.
#[test]
#[cfg_attr(any(miri, jumplabel_fallback), ignore = "no sites")]
fn stopped() {
    let cluster = Cluster::start("stopped");
    let processes = Processes::start("stopped", 6, "web");
    let (stopped, others) = processes.all.split_at(3);
    let follower = Follower::start(&cluster, &processes, &[]);
    stopped.iter().for_each(|process| process.stop());
    let [first, second] = ["net.trace=on", "wal.fsync=off"].map(|item| cluster.set(item, &[]));
    until("the others follow", || others.iter().all(|process| process.is("net.trace=on,wal.fsync=off")));
    until("the follower says so", || follower.has_seen(second));
    let text = follower.text();
    let line = text.lines().find(|line| line.starts_with(&format!("revision {first}:"))).unwrap();
    // Other tests may keep the machine so busy that one more is late.
    let is_named = |line: &str| stopped.iter().all(|process| line.contains(&process.id()));
    assert!(line.contains("of 6 processes") && line.contains("; no answer yet from web.") && is_named(line), "{line}");
    until("the report names them", || {
        let (_, _, failed) = cluster.tool(&["fleet", "list"]);
        stopped.iter().all(|process| failed.contains(&format!("{} does not answer", process.id())))
    });
    stopped.iter().for_each(|process| process.go_on());
    until("they follow, too", || processes.count("net.trace=on,wal.fsync=off") == 6);
    until("the follower says so", || {
        stopped.iter().all(|process| follower.text().contains(&format!("{} answers again", process.id())))
    });
    assert_eq!(cluster.tool(&["fleet", "unset", "net.trace", "wal.fsync"]).0, 0);
    until("all take it back", || processes.count("net.trace=off,wal.fsync=on") == 6);
}

/// A follower carries out what has changed since the one before it, and nothing else: what an operator has set meanwhile stays.
#[test]
#[cfg_attr(any(miri, jumplabel_fallback), ignore = "no sites")]
fn restarted() {
    let cluster = Cluster::start("restarted");
    let processes = Processes::start("restarted", 3, "web");
    let [one, two, three] = &processes.all[..] else { panic!() };
    let follower = Follower::start(&cluster, &processes, &[]);
    let first = cluster.set("net.*=on", &[]);
    until("it is followed", || follower.has_seen(first) && processes.count("net.trace=on,net.unused=on") == 3);
    one.set("net.trace=off");
    drop(follower);
    two.set("net.unused=off");
    let second = cluster.set("wal.fsync=off", &[]);
    let follower = Follower::start(&cluster, &processes, &[]);
    until("the other one is followed", || follower.has_seen(second) && processes.count("wal.fsync=off") == 3);
    assert!(one.is("net.trace=off,net.unused=on") && two.is("net.trace=on,net.unused=off"), "{}", follower.text());
    assert!(three.is("net.trace=on,net.unused=on"));
    // To take back one wish is no reason to carry out another one again.
    assert_eq!(cluster.tool(&["fleet", "unset", "wal.fsync"]).0, 0);
    until("it is taken back", || processes.count("wal.fsync=on") == 3);
    assert!(one.is("net.trace=off") && two.is("net.unused=off"), "{}", follower.text());
    // The same wish once more is a new wish.
    let again = cluster.set("net.*=on", &[]);
    until("it is followed", || follower.has_seen(again) && processes.count("net.trace=on,net.unused=on") == 3);
    assert_eq!(cluster.tool(&["fleet", "unset", "net.*"]).0, 0);
    until("all is as it was", || processes.count("net.trace=off,net.unused=off") == 3);
}

/// Several wishes for one key, taken back in any order.
#[test]
#[cfg_attr(any(miri, jumplabel_fallback), ignore = "no sites")]
fn overlapping() {
    let cluster = Cluster::start("overlap");
    let processes = Processes::start("overlap", 1, "web");
    let process = &processes.all[0];
    let follower = Follower::start(&cluster, &processes, &[]);
    let follows = |item: &str, after: &str| {
        let revision = cluster.set(item, &[]);
        until("it is followed", || follower.has_seen(revision) && process.is(after));
    };
    let back = |selector: &str, after: &str| {
        assert_eq!(cluster.tool(&["fleet", "unset", selector]).0, 0);
        until("it is taken back", || process.is(after));
    };
    // Two wishes for one value: the key goes back with the last of them.
    follows("net.trace=on", "net.trace=on,net.unused=off");
    follows("net.*=on", "net.trace=on,net.unused=on");
    back("net.trace", "net.trace=on,net.unused=on");
    back("net.*", "net.trace=off,net.unused=off");
    // The earlier one is taken back first, which was not in effect: not what it changed, but what was before both.
    follows("net.*=on", "net.trace=on,net.unused=on");
    follows("net.trace=off", "net.trace=off,net.unused=on");
    back("net.*", "net.trace=off,net.unused=off");
    follows("net.unused=on", "net.trace=off,net.unused=on");
    back("net.trace", "net.trace=off,net.unused=on");
    back("net.unused", "net.trace=off,net.unused=off");
    // The later one is taken back: the earlier one is in effect again.
    follows("operated::MODE=0", "operated::MODE=0");
    follows("*::MODE=2", "operated::MODE=2");
    back("*::MODE", "operated::MODE=0");
    back("operated::MODE", "operated::MODE=1");
}
