//! A fleet of 200 processes follows a real etcd of three members, of which some are killed in the middle.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

#[path = "fleet/cluster.rs"]
mod cluster;
#[path = "fleet/hosts.rs"]
mod hosts;
#[path = "fleet/local.rs"]
mod local;
#[path = "fleet/wishes.rs"]
mod wishes;

use std::time::{Duration, Instant};

use cluster::Cluster;
use hosts::{Follower, Processes};
use jumplabel_testing::until::until;

#[test]
#[cfg_attr(any(miri, jumplabel_fallback), ignore = "no sites")]
fn two_hundred_processes() {
    let mut cluster = Cluster::start("many");
    let processes = Processes::start("many", 200, "web");
    let follower = Follower::start(&cluster, &processes, &[]);
    let mut revisions = Vec::new();
    for round in 0..12 {
        // The member that the follower is connected with dies, and it cannot read meanwhile: what is changed now, it has to ask for. Then the
        // same with the next one.
        let cut = match round {
            4 => Some(0),
            8 => Some(1),
            _ => None,
        };
        if let Some(member) = cut {
            follower.stop();
            cluster.kill(member);
        }
        revisions.push(cluster.set(&["net.trace", ["=on", "=off"][round % 2]].concat(), &[]));
        if let Some(member) = cut {
            follower.go_on();
            until("the member is back", || follower.has_seen(*revisions.last().unwrap()));
            cluster.restart(member);
        }
    }
    let last = cluster.set("wal.fsync=off", &[]);
    revisions.push(last);
    until("the last change is followed", || follower.has_seen(last));
    for revision in &revisions {
        assert_eq!(follower.times_seen(*revision), 1, "revision {revision}: {}", follower.text());
    }
    // What the processes themselves say; net.trace was off last.
    until("all say so", || processes.count("net.trace=off,wal.fsync=off") == 200);

    // One that comes later is like the others. Of the whole fleet, one report.
    let late = processes.one_more("late");
    until("the late one follows", || late.is("wal.fsync=off"));
    until("the report has all of them", || {
        let listed = cluster.tool(&["fleet", "list", "--json"]);
        let listed: serde_json::Value = serde_json::from_str(&listed.1).unwrap_or_default();
        listed["keys"]["wal.fsync"]["off"] == 201 && listed["hosts"] == 1 && listed["behind"] == serde_json::json!([])
    });
    // Killed, it is not counted any more, though its socket is there still.
    drop(late);
    until("the report has no dead ones", || {
        let listed: serde_json::Value =
            serde_json::from_str(&cluster.tool(&["fleet", "list", "--json"]).1).unwrap_or_default();
        listed["processes"] == 200 && listed["failed"] == serde_json::json!([])
    });
    // Withdrawn while nobody follows: the next follower takes back what the one before it has changed.
    drop(follower);
    assert_eq!(cluster.tool(&["fleet", "unset", "wal.fsync"]).0, 0);
    let follower = Follower::start(&cluster, &processes, &[]);
    until("it is taken back", || processes.count("wal.fsync=on") == 200);
    assert_eq!(processes.count("net.trace=off"), 200, "{}", follower.text());
}

/// The twin: a follower that goes on from now, and not from where it was, loses a change. And nothing changes while no member answers.
#[test]
#[cfg_attr(any(miri, jumplabel_fallback), ignore = "no sites")]
fn one_that_forgets() {
    let mut cluster = Cluster::start("forgets");
    let processes = Processes::start("forgets", 2, "web");
    let follower = Follower::start(&cluster, &processes, &["--forgets"]);
    let first = cluster.set("net.trace=on", &[]);
    until("the first change is followed", || follower.has_seen(first));
    follower.stop();
    cluster.kill(0);
    let lost = cluster.set("net.trace=off", &[]);
    follower.go_on();
    until("it has noticed", || follower.text().contains("lost etcd, nothing changes"));
    let mut next = 0;
    until("it follows again", || {
        next = cluster.set("net.unused=on", &[]);
        std::thread::sleep(Duration::from_millis(200));
        follower.has_seen(next)
    });
    assert!(!follower.has_seen(lost) && processes.count("net.trace=on") == 2, "{}", follower.text());

    (1..3).for_each(|member| cluster.kill(member));
    until("it has noticed", || follower.text().matches("lost etcd").count() > 2);
    assert_eq!(processes.count("net.trace=on,net.unused=on"), 2);
    let (code, _, err) = cluster.tool(&["fleet", "list"]);
    assert!(code == 3 && err.contains("no member of etcd answers"), "{code}: {err}");
}

/// With an end, each process takes it back by itself, though etcd and the follower are gone.
#[test]
#[cfg_attr(any(miri, jumplabel_fallback), ignore = "no sites")]
fn an_end_without_anybody() {
    let mut cluster = Cluster::start("end");
    let processes = Processes::start("end", 3, "web");
    let follower = Follower::start(&cluster, &processes, &[]);
    // Others are left alone.
    let other = cluster.set("wal.fsync=off", &["--processes", "db*"]);
    // If this machine is so slow that the end comes before anybody can look, once more.
    let mut is_soon = false;
    while !is_soon {
        let start = Instant::now();
        let set = cluster.set("net.*=on", &["--for", "6"]);
        until("it is followed", || follower.has_seen(other) && follower.has_seen(set));
        let count = processes.count("net.trace=on,net.unused=on,wal.fsync=on");
        is_soon = start.elapsed() < Duration::from_secs(4);
        let is_late = follower.text().contains("no answer yet");
        is_soon &= !is_late;
        assert!(!is_soon || count == 3, "{count}: {}", follower.text());
    }
    drop(follower);
    (0..3).for_each(|member| cluster.kill(member));
    until("it is taken back", || processes.count("net.trace=off,net.unused=off") == 3);
}

/// Prints how long 200 processes take to follow a change. `cargo test --release -p jumplabel-cli --test fleet -- --ignored --nocapture`
#[test]
#[ignore = "measures"]
fn latency() {
    let cluster = Cluster::start("latency");
    let processes = Processes::start("latency", 200, "web");
    let follower = Follower::start(&cluster, &processes, &[]);
    let mut times = Vec::new();
    for round in 0..110 {
        let start = Instant::now();
        let revision = cluster.set(["net.trace=on", "net.trace=off"][round % 2], &[]);
        while !follower.has_seen(revision) {
            std::thread::sleep(Duration::from_micros(200));
        }
        times.push(start.elapsed());
    }
    // The first flips of all processes are among the first changes.
    let times = &mut times[10..];
    times.sort();
    println!(
        "200 processes, {} changes: p50 {:?}, p99 {:?}, longest {:?}",
        times.len(),
        times[50],
        times[99 - 1],
        times[99]
    );
}

/// What makes no sense is refused before anything is sent.
#[test]
fn refused() {
    let tool = |words: &[&str]| hosts::tool(words, &[]);
    for (words, code, why) in [
        (&["fleet", "list"][..], 2, "--etcd"),
        (&["fleet", "list", "--etcd", "https://a:1"], 2, "as http://HOST:PORT"),
        (&["fleet", "set", "--etcd", "http://a:1", "net.trace"], 2, "say what it is to be"),
        (&["fleet", "set", "--etcd", "http://a:1", "net.trace+1"], 2, "of a fleet, say on, off or a mode's number"),
        (&["fleet", "set", "--etcd", "http://a:1", "net.*=perhaps"], 2, "of a fleet, say on, off or a mode's number"),
        (&["fleet", "set", "--etcd", "http://a:1", "--processes", "a/b", "net.trace=on"], 2, "have no /"),
        (&["fleet", "unset", "--etcd", "http://a:1", "net.trace=on"], 2, "selectors without values"),
        (&["fleet", "list", "--etcd", "http://127.0.0.1:1"], 3, "no member of etcd answers"),
        (&["follow", "--etcd", "http://127.0.0.1:1", "--host", "a/b"], 2, "without /"),
    ] {
        let (ended, out, err) = tool(words);
        assert!(ended == code && out.is_empty() && err.contains(why), "{words:?}: {ended}\n{out}{err}");
    }
}
