//! What `fleet set` says about a wish before it stands in etcd, and afterwards.

use crate::cluster::Cluster;
use crate::hosts::{Follower, Processes, Program};
use crate::until;

/// What some process refuses does not replace what stands there; what no process has is said.
#[test]
#[cfg_attr(any(miri, jumplabel_fallback), ignore = "no sites")]
fn tried_out() {
    let cluster = Cluster::start("tried");
    let processes = Processes::start("tried", 2, "web");
    let follower = Follower::start(&cluster, &processes, &[]);
    until("the host has reported", || cluster.tool(&["fleet", "list"]).1.contains("1 hosts with 2 processes"));
    let (code, out, err) = cluster.tool(&["fleet", "set", "--processes", "web*", "operated::MODE=2", "--wait"]);
    assert_eq!((code, &*err), (0, ""), "{out}");
    assert!(out.starts_with("revision ") && out.ends_with("\n1 hosts with 2 processes; 0 behind\n"), "{out}");
    assert_eq!(processes.count("operated::MODE=2"), 2, "{}", follower.text());

    let (code, out, err) = cluster.tool(&["fleet", "set", "--processes", "web*", "operated::MODE=9", "net.trace=on"]);
    assert!(code == 4 && out.is_empty() && err.contains("nothing is wished: `operated::MODE=9`; refused by"), "{err}");
    let why = "(operated::MODE is a mode: it can be a number from =0 to =2)";
    assert!(processes.all.iter().all(|process| err.contains(&format!("{} on this {why}", process.id()))), "{err}");
    let listed = || cluster.tool(&["fleet", "list"]).1;
    let wishes = |text: &str| -> Vec<Vec<String>> {
        let lines = text.lines().skip(1).take_while(|line| !line.contains("STATE"));
        lines.map(|line| line.split_whitespace().take(4).map(str::to_owned).collect()).collect()
    };
    assert_eq!(wishes(&listed()), [["operated::MODE", "2", "web*", "-"]]);
    assert_eq!(processes.count("operated::MODE=2,net.trace=off"), 2);

    // No process has it, or none is called so; but it is there for those that come.
    for (words, count) in [(&["net.trcae=on"][..], 2), (&["--processes", "db*", "net.trace=on"], 0)] {
        let (code, out, err) = cluster.tool(&[&["fleet", "set"], words].concat());
        let why = format!("in {count} processes");
        assert!(code == 1 && out.starts_with("revision ") && err.contains("nothing matches `net."), "{err}");
        assert!(err.contains(&why), "{err}");
    }
    assert_eq!(wishes(&listed()).len(), 3);
    let db = processes.one_more("db");
    until("one that comes has it", || db.is("net.trace=on"));

    // Whoever insists gets it; the processes keep what they have, and the report says why.
    let (code, _, err) =
        cluster.tool(&["fleet", "set", "--processes", "web*", "operated::MODE=9", "--anyway", "--wait"]);
    assert!(code == 1 && err.contains(why.trim_matches(['(', ')'])), "{code}: {err}");
    assert_eq!(processes.count("operated::MODE=2"), 2);
}

/// `--wait` ends when all follow, or says who does not.
#[test]
#[cfg_attr(any(miri, jumplabel_fallback), ignore = "no sites")]
fn waits() {
    let cluster = Cluster::start("waits");
    let processes = Processes::start("waits", 3, "web");
    let (code, _, err) = cluster.tool(&["fleet", "set", "wal.fsync=off"]);
    assert!(code == 1 && err.contains("nothing matches"), "nobody follows: {code} {err}");
    let _follower = Follower::start(&cluster, &processes, &[]);
    until("the host has reported", || cluster.tool(&["fleet", "list"]).1.contains("1 hosts with 3 processes"));
    let stopped = &processes.all[0];
    stopped.stop();
    let (code, _, err) = cluster.tool(&["fleet", "set", "net.trace=on", "--wait", "3"]);
    assert!(code == 1 && err.contains(&format!("{} does not answer", stopped.id())), "{code}: {err}");
    stopped.go_on();
    let (code, out, err) = cluster.tool(&["fleet", "set", "net.unused=on", "--wait", "170s", "--for", "600"]);
    assert_eq!(code, 0, "{out}{err}");
    assert_eq!(processes.count("net.trace=on,net.unused=on,wal.fsync=off"), 3);
    let (_, listed, _) = cluster.tool(&["fleet", "list"]);
    let line = listed.lines().find(|line| line.starts_with("net.unused  on "));
    assert!(line.is_some_and(|line| line.contains("s  uid ")), "{listed}");
    let json: serde_json::Value = serde_json::from_str(&cluster.tool(&["fleet", "list", "--json"]).1).unwrap();
    let names: Vec<_> = json["wishes"].as_array().unwrap().iter().map(|wish| &wish["selector"]).collect();
    assert_eq!(names, ["wal.fsync", "net.trace", "net.unused"]);
}

/// Names of a layer, whose values are texts: fail points of all processes, of one that comes later, and not any more.
#[test]
#[cfg_attr(any(miri, jumplabel_fallback), ignore = "no sites")]
fn fail_points() {
    let cluster = Cluster::start("points");
    let processes = Processes::of(Program::Failing, "points", 2, "web");
    let follower = Follower::start(&cluster, &processes, &[]);
    until("the host has reported", || cluster.tool(&["fleet", "list"]).1.contains("1 hosts with 2 processes"));
    let set = |item: &str| cluster.tool(&["fleet", "set", "--processes", "web*", item, "--wait", "170"]);
    let (code, out, err) = set("fail:net.*=2*return(no route)->off");
    assert_eq!((code, &*err), (0, ""), "{out}{}", follower.text());
    let configured = r#""fail:net.read=2*return(no route)->off","fail:net.write=2*return(no route)->off""#;
    assert_eq!(processes.count(configured), 2, "{}", follower.text());
    assert_eq!(processes.count("fail:before_save=off"), 2);
    let late = processes.one_more("web");
    until("one that comes has it", || late.is(configured));

    // What is no action, and what the program keeps to itself.
    let (code, out, err) = set("fail:before_save=retrun");
    assert!(
        code == 4 && out.is_empty() && err.contains("nothing is wished: `fail:before_save=retrun`"),
        "{code} {err}"
    );
    let (code, out, err) = set("fail:kept.secret=return");
    assert!(code == 4 && out.is_empty() && err.contains("lets nobody change it from outside"), "{code} {err}");
    assert_eq!(processes.count("fail:before_save=off"), 2);

    let (code, _, err) = cluster.tool(&["fleet", "unset", "--processes", "web*", "fail:net.*"]);
    assert_eq!(code, 0, "{err}");
    until("all is as it was", || processes.count("fail:net.read=off,fail:net.write=off") == 2);
    until("of the late one, too", || late.is("fail:net.read=off"));
}
