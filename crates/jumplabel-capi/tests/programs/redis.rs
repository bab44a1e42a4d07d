//! redis: each feature that may be in use has a key, and so have messages of the two lowest levels.

use std::path::Path;
use std::process::Command;

use crate::load::{self, Short};
use crate::story::{Program, Tests, Way, printed, succeeds};

#[path = "redis/features.rs"]
mod features;

/// Units of redis's own tests: for types, for the feature of each key, and for scripts. Units that take many minutes are left out.
const UNITS: &str = "unit/type/string unit/type/incr unit/type/hash unit/type/set unit/type/list-2 unit/type/stream-cgroups unit/keyspace unit/scan \
                     unit/expire unit/pubsub unit/latency-monitor unit/tracking unit/multi unit/introspection unit/introspection-2 unit/slowlog \
                     unit/protocol unit/acl unit/querybuf unit/pause unit/functions unit/info unit/auth unit/limits unit/quit unit/networking \
                     unit/client-eviction unit/replybufsize integration/logging integration/replication-2 integration/replication-buffer \
                     integration/block-repl integration/aof integration/rdb unit/cluster/misc";

fn build(folder: &Path, way: Way) {
    let mut make = Command::new("make");
    let goals: &[&str] = if way == Way::Unchanged { &["redis-server", "redis-benchmark"] } else { &["all"] };
    make.args(["-j2", "MALLOC=libc"]).args(goals).arg(format!("KEYS_CFLAGS={}", way.flags()));
    make.arg(format!("KEYS_LIBS={}", way.libraries())).env_remove("MAKEFLAGS").current_dir(folder);
    succeeds(&mut make);
}

fn tests(folder: &Path, flipped: &Path) -> Tests {
    let mut run = Command::new("./runtest");
    run.args(["--clients", "2", "--timeout", "2400"])
        .args(UNITS.split_whitespace().flat_map(|unit| ["--single", unit]));
    let output = run.env("FLIPPED", flipped).env("TERM", "dumb").current_dir(folder).output().unwrap();
    let said = printed(&output);
    let of = |mark: &str| said.lines().filter(|line| line.contains(mark)).map(str::to_owned).collect::<Vec<_>>();
    let mut failed = of("[err]");
    failed.extend(of("[exception]"));
    if !output.status.success() {
        failed.push(said.lines().rev().take(30).collect::<Vec<_>>().join("\n"));
    }
    Tests { passed: of("[ok]").len(), failed }
}

/// redis-benchmark sends commands, sixteen at a time, from one client. Counts the server from reading commands to having the answers ready.
fn load(folder: &Path) -> u64 {
    // The path of a socket has at most 107 bytes. The folder is empty, so no other dump is loaded.
    let short = Short::new("redis");
    let socket = short.0.join("socket");
    let (server, path) = (folder.join("src/redis-server"), socket.to_str().unwrap());
    let words = [
        server.to_str().unwrap(),
        "--port",
        "0",
        "--unixsocket",
        path,
        "--save",
        "",
        "--slowlog-log-slower-than",
        "-1",
        "--dir",
        short.0.to_str().unwrap(),
    ];
    let benchmark = |commands: &str, count: &str| {
        let mut benchmark = Command::new(folder.join("src/redis-benchmark"));
        benchmark.args(["-s", path, "-c", "1", "-P", "16", "-q", "-n", count, "-t", commands]);
        benchmark
    };
    load::of_server(folder, &["readQueryFromClient"], &words, |server| {
        server.eventually(|| benchmark("ping", "16").output().unwrap().status.success().then_some(()));
        succeeds(&mut benchmark("set,get,incr,lpush,rpop,sadd,hset,zadd,mset", "8000"));
    })
}

#[test]
#[ignore = "downloads, compiles and tests for minutes"]
fn redis() {
    let files = &[("redis/keys.h", "src/keys.h"), ("redis/keys.c", "src/keys.c"), ("flipping.c", "src/flipping.c")];
    let binary = "src/redis-server";
    Program {
        package: "redis",
        edits: features::EDITS,
        header: "src/jumplabel-optional.h",
        files,
        build,
        binary,
        tests,
        load,
    }
    .tell();
}
