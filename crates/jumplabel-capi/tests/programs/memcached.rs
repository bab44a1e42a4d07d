//! memcached: its verbosity, whether it counts by prefix, and whether a client watches its log.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;

use crate::edits::{Edit, edit};
use crate::load::{self, Short};
use crate::story::{Program, Tests, Way, printed, succeeds};

const fn says_more_than_0(file: &'static str, times: usize) -> Edit {
    edit(file, times, "settings.verbose > 0", "USES(verbose_0, settings.verbose > 0)")
}

const fn says_more_than_1(file: &'static str, times: usize) -> Edit {
    edit(file, times, "settings.verbose > 1", "USES(verbose_1, settings.verbose > 1)")
}

const fn says_more_than_2(file: &'static str, times: usize) -> Edit {
    edit(file, times, "settings.verbose > 2", "USES(verbose_2, settings.verbose > 2)")
}

const fn says(file: &'static str, times: usize) -> Edit {
    edit(file, times, "if (settings.verbose)", "if (USES(verbose_0, settings.verbose))")
}

const fn counts_by_prefix(file: &'static str, times: usize) -> Edit {
    edit(file, times, "if (settings.detail_enabled)", "if (USES(detail, settings.detail_enabled))")
}

/// Includes the keys. Each file does this itself, because the test programs include memcached's header, and have no keys.
const fn keyed(file: &'static str) -> Edit {
    edit(file, 1, "#include \"memcached.h\"", "#include \"memcached.h\"\n#include \"keys.h\"")
}

const EDITS: &[Edit] = &[
    says_more_than_1("assoc.c", 2),
    says_more_than_1("crawler.c", 1),
    says_more_than_2("crawler.c", 5),
    says_more_than_2("items.c", 6),
    says_more_than_0("memcached.c", 15),
    says_more_than_1("memcached.c", 9),
    says_more_than_2("memcached.c", 4),
    says_more_than_1("proto_bin.c", 10),
    says_more_than_0("proto_text.c", 1),
    says_more_than_1("proto_text.c", 3),
    says_more_than_0("restart.c", 2),
    says_more_than_1("slabs.c", 5),
    says_more_than_2("slabs.c", 1),
    says_more_than_0("thread.c", 14),
    says_more_than_1("thread.c", 1),
    says("memcached.c", 6),
    says("proto_bin.c", 9),
    counts_by_prefix("proto_bin.c", 4),
    counts_by_prefix("proto_text.c", 3),
    edit(
        "logger.h",
        1,
        "#define LOGGER_LOG(l, flag, type, ...) \\\n    do { \\\n",
        "#define LOGGER_LOG(l, flag, type, ...) \\\n    do { if (!USES(watchers, 1)) break; \\\n",
    ),
    edit(
        "memcached.c",
        1,
        "#include \"memcached.h\"",
        "#define JUMPLABEL_OPTIONAL_IMPLEMENTATION\n#include \"memcached.h\"\n#include \"keys.h\"\n#include \"keys.c\"",
    ),
    keyed("assoc.c"),
    keyed("crawler.c"),
    keyed("items.c"),
    keyed("logger.c"),
    keyed("proto_bin.c"),
    keyed("proto_text.c"),
    keyed("restart.c"),
    keyed("slabs.c"),
    keyed("storage.c"),
    keyed("thread.c"),
    edit("memcached.c", 1, "    /* initialize other stuff */", "    keys_follow();"),
    edit("memcached.c", 1, "settings.verbose++;", "settings.verbose++; keys_follow();"),
    edit("proto_text.c", 1, "? MAX_VERBOSITY_LEVEL : level;", "? MAX_VERBOSITY_LEVEL : level; keys_follow();"),
    edit("proto_text.c", 1, "settings.detail_enabled = 1;", "settings.detail_enabled = 1; keys_follow();"),
    edit("proto_text.c", 1, "settings.detail_enabled = 0;", "settings.detail_enabled = 0; keys_follow();"),
    edit("proto_bin.c", 1, "settings.detail_enabled = 1;", "settings.detail_enabled = 1; keys_follow();"),
    edit("proto_bin.c", 1, "settings.detail_enabled = 0;", "settings.detail_enabled = 0; keys_follow();"),
    edit("logger.c", 1, "    watcher_count++;", "    watcher_count++; keys_watchers = 1; keys_follow();"),
];

fn build(folder: &Path, way: Way) {
    if folder.join("Makefile").exists() {
        succeeds(Command::new("make").arg("-j2").env_remove("MAKEFLAGS").current_dir(folder));
        return;
    }
    // Makes the files of autoconf newer than their sources, because patches have changed the sources, and `make` would run autoconf.
    for made in ["aclocal.m4", "config.h.in", "Makefile.in", "configure"] {
        succeeds(Command::new("touch").arg(folder.join(made)));
    }
    let mut configure = Command::new("./configure");
    configure.arg(format!("CFLAGS=-g -O2 {}", way.flags())).arg(format!("LIBS={}", way.libraries()));
    succeeds(configure.current_dir(folder));
    succeeds(Command::new("make").arg("-j2").env_remove("MAKEFLAGS").current_dir(folder));
}

fn tests(folder: &Path, flipped: &Path) -> Tests {
    // Debian does this, too: this test looks at the sources of a checkout.
    let _ = std::fs::remove_file(folder.join("t/whitespace.t"));
    let mut make = Command::new("make");
    make.args(["test", "PARALLEL=2"]).env("FLIPPED", flipped).env_remove("MAKEFLAGS").current_dir(folder);
    let output = make.output().unwrap();
    let said = printed(&output);
    let of_perl =
        said.lines().filter_map(|line| line.strip_prefix("Files=")?.split(['=', ',']).nth(2)?.parse::<usize>().ok());
    let passed = said.lines().filter(|line| line.starts_with("ok ")).count() + of_perl.sum::<usize>();
    let mut failed: Vec<String> = said.lines().filter(|line| line.contains("not ok ")).map(str::to_owned).collect();
    if !output.status.success() {
        failed.push(said.lines().rev().take(60).collect::<Vec<_>>().join("\n"));
    }
    Tests { passed, failed }
}

/// One client writes and reads, sixteen requests at a time. Counts a worker from reading the requests to having answered them.
fn load(folder: &Path) -> u64 {
    const STORED: usize = "STORED\r\n".len();
    const VALUE: usize = "VALUE k00 0 10\r\n0123456789\r\nEND\r\n".len();
    let short = Short::new("memcached");
    let socket = short.0.join("socket");
    let program = folder.join("memcached");
    let words = [program.to_str().unwrap(), "-u", "root", "-t", "1", "-s", socket.to_str().unwrap()];
    let options = ["-c", load::DESCRIPTORS, "-o", "no_lru_maintainer,no_lru_crawler,no_hashexpand"];
    load::of_server(folder, &["event_handler"], &[&words[..], &options].concat(), |server| {
        let mut stream = server.eventually(|| UnixStream::connect(&socket).ok());
        for round in 0..1000 {
            let key = |at: usize| format!("k{:02}", (round * 8 + at) % 100);
            let stores: String = (0..8).map(|at| format!("set {} 0 0 10\r\n0123456789\r\n", key(at))).collect();
            let loads: String = (0..8).map(|at| format!("get {}\r\n", key(at))).collect();
            stream.write_all((stores + &loads).as_bytes()).unwrap();
            stream.read_exact(&mut [0; 8 * (STORED + VALUE)]).unwrap();
        }
    })
}

#[test]
#[ignore = "downloads, compiles and tests for minutes"]
fn memcached() {
    let files = &[("memcached/keys.h", "keys.h"), ("memcached/keys.c", "keys.c"), ("flipping.c", "flipping.c")];
    let (header, binary) = ("jumplabel-optional.h", "memcached");
    Program { package: "memcached", edits: EDITS, header, files, build, binary, tests, load }.tell();
}
