//! leveldb: assertions that stay in the release build, and its info log. Without the library it is compiled as C++11, its own standard. The library's
//! headers need C++17.

use std::path::Path;
use std::process::Command;

use crate::edits::{Edit, edit, include, word};
use crate::load;
use crate::story::{Program, Tests, Way, printed, succeeds};

const fn asserts(file: &'static str, times: usize) -> Edit {
    word(file, times, "assert(", "KEYED_ASSERT(")
}

const fn logs(file: &'static str, times: usize) -> Edit {
    word(file, times, "Log(", "KEYED_LOG(")
}

const fn keyed(file: &'static str) -> Edit {
    include(file, "\"db/keys.h\"")
}

const EDITS: &[Edit] = &[
    edit("CMakeLists.txt", 1, "    \"db/builder.cc\"", "    \"db/keys.cc\"\n    \"db/builder.cc\""),
    asserts("db/builder.cc", 1),
    asserts("db/c.cc", 1),
    asserts("db/db_impl.cc", 25),
    asserts("db/db_iter.cc", 9),
    asserts("db/dbformat.cc", 5),
    asserts("db/dbformat.h", 2),
    asserts("db/filename.cc", 6),
    asserts("db/log_writer.cc", 4),
    asserts("db/memtable.cc", 2),
    asserts("db/memtable.h", 1),
    asserts("db/skiplist.h", 11),
    asserts("db/snapshot.h", 4),
    asserts("db/table_cache.cc", 1),
    asserts("db/version_set.cc", 29),
    asserts("db/version_set.h", 1),
    asserts("db/write_batch.cc", 2),
    asserts("helpers/memenv/memenv.cc", 2),
    asserts("table/block.cc", 8),
    asserts("table/block_builder.cc", 5),
    asserts("table/filter_block.cc", 1),
    asserts("table/format.cc", 3),
    asserts("table/iterator.cc", 5),
    asserts("table/iterator_wrapper.h", 8),
    asserts("table/merger.cc", 5),
    asserts("table/table_builder.cc", 9),
    asserts("table/two_level_iterator.cc", 4),
    asserts("util/arena.cc", 1),
    asserts("util/arena.h", 1),
    asserts("util/cache.cc", 12),
    asserts("util/comparator.cc", 1),
    asserts("util/env_posix.cc", 8),
    asserts("util/posix_logger.h", 5),
    asserts("util/status.cc", 1),
    logs("db/version_set.cc", 5),
    logs("db/repair.cc", 10),
    logs("db/db_impl.cc", 18),
    keyed("db/builder.cc"),
    keyed("db/c.cc"),
    keyed("db/db_impl.cc"),
    keyed("db/db_iter.cc"),
    keyed("db/dbformat.cc"),
    keyed("db/dbformat.h"),
    keyed("db/filename.cc"),
    keyed("db/log_writer.cc"),
    keyed("db/memtable.cc"),
    keyed("db/memtable.h"),
    keyed("db/repair.cc"),
    keyed("db/skiplist.h"),
    keyed("db/snapshot.h"),
    keyed("db/table_cache.cc"),
    keyed("db/version_set.cc"),
    keyed("db/version_set.h"),
    keyed("db/write_batch.cc"),
    keyed("helpers/memenv/memenv.cc"),
    keyed("table/block.cc"),
    keyed("table/block_builder.cc"),
    keyed("table/filter_block.cc"),
    keyed("table/format.cc"),
    keyed("table/iterator.cc"),
    keyed("table/iterator_wrapper.h"),
    keyed("table/merger.cc"),
    keyed("table/table_builder.cc"),
    keyed("table/two_level_iterator.cc"),
    keyed("util/arena.cc"),
    keyed("util/arena.h"),
    keyed("util/cache.cc"),
    keyed("util/comparator.cc"),
    keyed("util/env_posix.cc"),
    keyed("util/posix_logger.h"),
    keyed("util/status.cc"),
];

fn build(folder: &Path, way: Way) {
    let build = folder.join("build");
    let mut cmake = Command::new("cmake");
    cmake.arg("-S").arg(folder).arg("-B").arg(&build).arg("-DCMAKE_BUILD_TYPE=Release");
    for language in ["C", "CXX"] {
        cmake.arg(format!("-DCMAKE_{language}_FLAGS={} -I{}", way.flags(), folder.display()));
        cmake.arg(format!("-DCMAKE_{language}_STANDARD_LIBRARIES={}", way.libraries()));
    }
    cmake.arg(format!("-DCMAKE_CXX_STANDARD={}", if way == Way::With { "17" } else { "11" }));
    succeeds(&mut cmake);
    let mut make = Command::new("cmake");
    make.arg("--build").arg(&build).arg("-j2").env_remove("MAKEFLAGS");
    // Of the unchanged program, only db_bench is used.
    succeeds(make.args(if way == Way::Unchanged { &["--target", "db_bench"][..] } else { &[] }));
}

fn tests(folder: &Path, flipped: &Path) -> Tests {
    let mut run = Command::new("ctest");
    run.args(["--verbose", "--timeout", "1800"]).env("FLIPPED", flipped).current_dir(folder.join("build"));
    let output = run.output().unwrap();
    let said = printed(&output);
    let lines = |mark: &'static str| said.lines().filter(move |line| line.contains(mark));
    // The C++ tests print lines of googletest. The C test prints PASS for each of its parts.
    let passed = lines("[       OK ]").count() + lines("PASS").filter(|line| line.ends_with("PASS")).count();
    let mut failed: Vec<String> = lines("[  FAILED  ]").chain(lines("***")).map(str::to_owned).collect();
    if !output.status.success() && failed.is_empty() {
        failed.push(said);
    }
    Tests { passed, failed }
}

/// Counts the instructions of two runs of db_bench: one fills a database, and one reads it. Only the threads that run the benchmarks are counted.
fn load(folder: &Path) -> u64 {
    let database = folder.join("database");
    let _ = std::fs::remove_dir_all(&database);
    let bench = folder.join("build/db_bench");
    let database = format!("--db={}", database.display());
    let words = |what: &str, more: &str| {
        [bench.to_str().unwrap(), "--num=20000", &database, &format!("--benchmarks={what}"), more].map(str::to_owned)
    };
    let mut total = 0;
    for (what, more) in
        [("fillrandom", "--use_existing_db=0"), ("readrandom,readseq,readreverse", "--use_existing_db=1")]
    {
        let words = words(what, more);
        total += load::of_program(folder, &["*ThreadBody*"], &words.each_ref().map(String::as_str));
    }
    total
}

#[test]
#[ignore = "downloads, compiles and tests for minutes"]
fn leveldb() {
    let files = &[("leveldb/keys.h", "db/keys.h"), ("leveldb/keys.cc", "db/keys.cc"), ("flipping.c", "db/flipping.c")];
    let (header, binary) = ("jumplabel-optional.h", "build/db_bench");
    Program { package: "leveldb", edits: EDITS, header, files, build, binary, tests, load }.tell();
}
