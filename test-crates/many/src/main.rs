//! 100 keys with 100 sites each. Runs through all of them until it is ended, or, with the argument `sleep`, does nothing.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use jumplabel::{static_branch_unlikely, static_key};

jumplabel_agent::startup!();

static_key! {
    #[key(name = "many")]
    static KEYS: [false; 100];
}

static RAN: AtomicU64 = AtomicU64::new(0);

#[cold]
#[inline(never)]
fn ran() {
    RAN.fetch_add(1, Relaxed);
}

macro_rules! ten {
    ($what:expr) => {
        $what; $what; $what; $what; $what; $what; $what; $what; $what; $what;
    };
}

macro_rules! each {
    ($tens:tt: $($ones:tt)*) => {
        $(hundred::<{ $tens * 10 + $ones }>();)*
    };
}

/// The sites of one key.
#[inline(never)]
fn hundred<const KEY: usize>() {
    ten!({
        ten!({
            if static_branch_unlikely!(KEYS[KEY]) {
                ran();
            }
        });
    });
}

fn main() {
    if std::env::args().nth(1).is_some_and(|word| word == "sleep") {
        loop {
            std::thread::park();
        }
    }
    loop {
        each!(0: 0 1 2 3 4 5 6 7 8 9);
        each!(1: 0 1 2 3 4 5 6 7 8 9);
        each!(2: 0 1 2 3 4 5 6 7 8 9);
        each!(3: 0 1 2 3 4 5 6 7 8 9);
        each!(4: 0 1 2 3 4 5 6 7 8 9);
        each!(5: 0 1 2 3 4 5 6 7 8 9);
        each!(6: 0 1 2 3 4 5 6 7 8 9);
        each!(7: 0 1 2 3 4 5 6 7 8 9);
        each!(8: 0 1 2 3 4 5 6 7 8 9);
        each!(9: 0 1 2 3 4 5 6 7 8 9);
    }
}
