//! Programs from Debian's sources with keys from `jumplabel-optional.h` alone: redis, leveldb and memcached. Each is built unchanged, with keys but
//! without the library (a check is a relaxed load), and with the library. The program's own tests run while all keys flip, and callgrind counts the
//! instructions of a load. Apt downloads the sources, and compiling takes minutes, so these tests run only on request, as by `make programs`: `cargo
//! test -p jumplabel-capi --test programs -- --ignored --nocapture --test-threads 1`. docs/c.md has the figures.
//!
//! ```text
//!   redis leveldb memcached      the edits, the build, the tests and the load of each program
//!   postgresql                   its declarations of probes, with <jumplabel/sdt.h>
//!   story                        three builds of one program, and the table of their results
//!   sources edits flips load     downloads; edits; the file in which processes count their flips; callgrind
//! ```
#![cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu", not(miri)))]

#[path = "programs/edits.rs"]
mod edits;
#[path = "programs/flips.rs"]
mod flips;
#[path = "programs/leveldb.rs"]
mod leveldb;
#[path = "programs/load.rs"]
mod load;
#[path = "programs/memcached.rs"]
mod memcached;
#[path = "programs/postgresql.rs"]
mod postgresql;
#[path = "programs/redis.rs"]
mod redis;
#[path = "programs/sources.rs"]
mod sources;
#[path = "programs/story.rs"]
mod story;
