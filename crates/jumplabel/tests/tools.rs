//! Programs that look into this one while it flips: a debugger that stops it and sets breakpoints on sites, a profiler
//! that wants to name the code that runs. Skipped, with a message, where a tool is missing.
#![cfg(all(target_os = "linux", target_arch = "x86_64", jumplabel_sites))]

#[path = "tools/gdb.rs"]
mod gdb;
#[path = "tools/perf.rs"]
mod perf;

use jumplabel::{WriterKind, set_writer};
use jumplabel_testing::pages;
use jumplabel_testing::scenario::{passes, skip};

pages::pages! { sites: 2 keys, 4 sites, every 1 pages, at 0 }

const WRITERS: [Option<WriterKind>; 4] =
    [None, Some(WriterKind::Procmem), Some(WriterKind::Mprotect), Some(WriterKind::Remap)];

/// Skips the scenario if `tool` cannot be started.
fn need(tool: &str) {
    if !jumplabel_testing::breadth::has(tool) {
        skip();
    }
}

/// Flips there and back with each writer.
fn flip() {
    for writer in WRITERS {
        set_writer(writer);
        for on in [true, false] {
            sites().set(on).unwrap();
            assert!(sites().all(on) && sites().agree());
        }
    }
}

jumplabel::static_call! { static LED: extern "C" fn(u32) -> u32 = where_it_led_at_first; }

extern "C" fn where_it_led_at_first(x: u32) -> u32 {
    x
}

#[inline(never)]
extern "C" fn where_it_leads_now(x: u32) -> u32 {
    std::hint::black_box(x) + 1
}

jumplabel::static_key! { static CHECKED: false; }

#[inline(never)]
fn is_checked() -> bool {
    jumplabel::static_branch_unlikely!(CHECKED)
}

/// A function that a backtrace is to name: it has more to do when the call returns.
#[inline(never)]
fn who_calls(x: u32) -> u32 {
    std::hint::black_box(LED(x)) + 1
}

/// The mapping with the sites still names the program's file, at the right offset: profilers find their symbols by that.
#[test]
fn the_map_names_the_file() {
    passes(|| {
        let program = std::env::current_exe().unwrap();
        let entry = |address: usize| {
            let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
            let line = maps.lines().find_map(|line| {
                let (range, rest) = line.split_once(' ')?;
                let (start, end) = range.split_once('-')?;
                let number = |text| usize::from_str_radix(text, 16).unwrap();
                let words: Vec<&str> = rest.split_whitespace().collect();
                let offset = address.wrapping_sub(number(start)) + number(words[1]);
                (number(start)..number(end))
                    .contains(&address)
                    .then(|| (words[0].to_string(), offset, words[4].to_string()))
            });
            line.unwrap()
        };
        let before: Vec<_> = (0..4).map(|number| entry(sites().site(number))).collect();
        assert!(before.iter().all(|(protection, _, path)| protection == "r-xp" && *path == *program.to_string_lossy()));
        for writer in WRITERS {
            set_writer(writer);
            for on in [true, false] {
                sites().set(on).unwrap();
                let after: Vec<_> = (0..4).map(|number| entry(sites().site(number))).collect();
                assert_eq!(after, before, "{writer:?}");
            }
        }
    });
}
