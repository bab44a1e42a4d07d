//! Programs of others, from Debian's sources, that carry keys by `jumplabel-optional.h` alone: redis, leveldb and memcached. Each is built as it is,
//! with keys but without the library (a check is a relaxed load), and with the library. Its own tests run while all keys flip, and callgrind counts
//! the instructions of a load. Apt downloads them, and compiling takes minutes, so they run only if they are asked for, as `make programs` does:
//! `cargo test -p jumplabel-capi --test programs -- --ignored --nocapture --test-threads 1`. docs/c.md has the figures.
//!
//! ```text
//!   redis leveldb memcached      what is edited, built, run and counted, of each
//!   story                        three builds of one program, and the table that comes of them
//!   sources edits flips load     from apt; anchored edits; the file where processes count their flips; callgrind
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
#[path = "programs/redis.rs"]
mod redis;
#[path = "programs/sources.rs"]
mod sources;
#[path = "programs/story.rs"]
mod story;
