//! A key of each library with 1, 100 and 10,000 sites: `family!` makes a module of them.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A key, and its sites.
#[derive(Clone, Copy)]
pub struct Group {
    pub sites: usize,
    pub set: fn(bool),
    /// Executes all sites: how many of them say yes.
    pub execute: fn() -> usize,
}

/// Ten, a hundred checks.
#[macro_export]
macro_rules! ten {
    ($hits:ident, $($check:tt)*) => {
        $crate::five!($hits, $($check)*); $crate::five!($hits, $($check)*);
    };
}
#[macro_export]
macro_rules! five {
    ($hits:ident, $($check:tt)*) => {
        if $($check)* { $hits += 1; }
        if $($check)* { $hits += 1; }
        if $($check)* { $hits += 1; }
        if $($check)* { $hits += 1; }
        if $($check)* { $hits += 1; }
    };
}
#[macro_export]
macro_rules! hundred {
    ($hits:ident, $($check:tt)*) => {
        $crate::ten!($hits, $($check)*); $crate::ten!($hits, $($check)*); $crate::ten!($hits, $($check)*);
        $crate::ten!($hits, $($check)*); $crate::ten!($hits, $($check)*); $crate::ten!($hits, $($check)*);
        $crate::ten!($hits, $($check)*); $crate::ten!($hits, $($check)*); $crate::ten!($hits, $($check)*);
        $crate::ten!($hits, $($check)*);
    };
}
/// An array of functions with a hundred sites each: a number makes each its own.
#[macro_export]
macro_rules! hundred_of {
    ($function:ident) => {
        [
            $crate::ten_of!($function, 0),
            $crate::ten_of!($function, 10),
            $crate::ten_of!($function, 20),
            $crate::ten_of!($function, 30),
            $crate::ten_of!($function, 40),
            $crate::ten_of!($function, 50),
            $crate::ten_of!($function, 60),
            $crate::ten_of!($function, 70),
            $crate::ten_of!($function, 80),
            $crate::ten_of!($function, 90),
        ]
    };
}
#[macro_export]
macro_rules! ten_of {
    ($function:ident, $first:literal) => {
        [
            $function::<{ $first }> as fn() -> usize,
            $function::<{ $first + 1 }>,
            $function::<{ $first + 2 }>,
            $function::<{ $first + 3 }>,
            $function::<{ $first + 4 }>,
            $function::<{ $first + 5 }>,
            $function::<{ $first + 6 }>,
            $function::<{ $first + 7 }>,
            $function::<{ $first + 8 }>,
            $function::<{ $first + 9 }>,
        ]
    };
}

/// The groups of one library: `keys` declares ONE, HUNDRED and MANY, the macro `check` asks one of them, `set` flips it.
#[macro_export]
macro_rules! family {
    ($module:ident, { $($keys:tt)* }, $check:ident, $set:ident) => {
        pub mod $module {
            use $crate::Group;
            $($keys)*

            #[inline(never)]
            fn one() -> usize {
                usize::from($crate::$check!(ONE))
            }
            #[inline(never)]
            fn hundred() -> usize {
                let mut hits = 0;
                $crate::hundred!(hits, $crate::$check!(HUNDRED));
                hits
            }
            #[inline(never)]
            fn hundredth<const N: usize>() -> usize {
                let mut hits = 0;
                $crate::hundred!(hits, $crate::$check!(MANY));
                std::hint::black_box(N);
                hits
            }
            fn many() -> usize {
                static ALL: [[fn() -> usize; 10]; 10] = $crate::hundred_of!(hundredth);
                ALL.iter().flatten().map(|function| function()).sum()
            }
            pub const GROUPS: [Group; 3] = [
                Group { sites: 1, set: |on| $crate::$set!(ONE, on), execute: one },
                Group { sites: 100, set: |on| $crate::$set!(HUNDRED, on), execute: hundred },
                Group { sites: 10_000, set: |on| $crate::$set!(MANY, on), execute: many },
            ];
        }
    };
}

/// This library.
#[macro_export]
macro_rules! jumplabel_check {
    ($key:ident) => {
        jumplabel::static_branch_unlikely!($key)
    };
}
#[macro_export]
macro_rules! jumplabel_set {
    ($key:ident, $on:ident) => {
        _ = (if $on { $key.enable() } else { $key.disable() }).unwrap_or_else(|error| panic!("{error}"))
    };
}

/// static-keys 0.8.2: whoever flips must be the only thread.
#[macro_export]
macro_rules! static_keys_check {
    ($key:ident) => {
        static_keys::static_branch_unlikely!($key)
    };
}
#[macro_export]
macro_rules! static_keys_set {
    ($key:ident, $on:ident) => {
        // SAFETY: for its author to say; `beside` shows what comes of it.
        unsafe { if $on { $key.enable() } else { $key.disable() } }
    };
}

/// static-key 0.1.0.
#[macro_export]
macro_rules! static_key_check {
    ($key:ident) => {
        static_key::static_if!($key, unlikely)
    };
}
#[macro_export]
macro_rules! static_key_set {
    ($key:ident, $on:ident) => {
        $key.set($on)
    };
}

/// What a program does by its words:
///
/// ```text
///   times N    prints a line for each group: its sites, and nanoseconds of N flips
///   beside N   flips 100 sites for N seconds while another thread executes them; prints how often both did
///   (none)     flips 100 sites once; prints how many say yes
/// ```
pub fn run(groups: &[Group]) {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.first().map(String::as_str) {
        Some("times") => groups.iter().for_each(|group| times(group, words[1].parse().expect("a number"))),
        Some("beside") => beside(&groups[1], Duration::from_secs(words[1].parse().expect("a number"))),
        _ => {
            (groups[1].set)(true);
            println!("{}", (groups[1].execute)());
        }
    }
}

/// The first pair of flips is not timed: it copies pages.
fn times(group: &Group, flips: usize) {
    print!("{}", group.sites);
    for flip in 0..flips + 2 {
        let on = flip % 2 == 0;
        let start = Instant::now();
        (group.set)(on);
        let time = start.elapsed().as_nanos();
        assert_eq!((group.execute)(), if on { group.sites } else { 0 });
        if flip > 1 {
            print!(" {time}");
        }
    }
    println!();
}

fn beside(group: &Group, time: Duration) {
    let (is_over, executed) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                (group.execute)();
                executed.fetch_add(1, Ordering::Relaxed);
            }
        });
        let start = Instant::now();
        let mut flips = 0_u64;
        while start.elapsed() < time {
            (group.set)(flips % 2 == 0);
            flips += 1;
        }
        is_over.store(true, Ordering::Relaxed);
        println!("{flips} {}", executed.load(Ordering::Relaxed));
    });
}
