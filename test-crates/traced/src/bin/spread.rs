//! `spread tracing FUNCTIONS FILTER`, `spread log FUNCTIONS FILTER`: how long an event of tracing, or a line of log, takes that is spread over so
//! many functions (3,000 at most), beside the same functions without one. Prints the nanoseconds that it costs: the least of many passes with
//! events, less the least without. With a number behind it, calls each function so many times, and measures nothing: for a tool that counts
//! instructions. So does `spread nothing FUNCTIONS off NUMBER`, without events.

use std::time::Instant;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::layer::SubscriberExt;

type Function = fn(u64) -> u64;

/// A number of the module's own. Functions that compute with it differ; of equal ones the compiler would keep one.
const fn own(module: &str) -> u64 {
    let (mut number, mut at) = (0xcbf2_9ce4_8422_2325_u64, 0);
    while at < module.len() {
        number = (number ^ module.as_bytes()[at] as u64).wrapping_mul(0x0100_0000_01b3);
        at += 1;
    }
    number | 1
}

/// Ten functions with an event each, with a line of log, or without.
macro_rules! ten {
    ($($name:ident)*) => {
        $(mod $name {
            const OWN: u64 = super::own(module_path!());
            #[inline(never)]
            pub fn with(x: u64) -> u64 {
                tracing::trace!(target: "events", x, "somewhere");
                x.wrapping_mul(OWN) ^ x >> 7
            }
            #[inline(never)]
            pub fn logs(x: u64) -> u64 {
                log::trace!("somewhere {x}");
                x.wrapping_mul(OWN) ^ x >> 7
            }
            #[inline(never)]
            pub fn without(x: u64) -> u64 {
                x.wrapping_mul(OWN) ^ x >> 7
            }
        })*
        pub const WITH: &[super::Function] = &[$($name::with),*];
        pub const LOGS: &[super::Function] = &[$($name::logs),*];
        pub const WITHOUT: &[super::Function] = &[$($name::without),*];
        use super::{Function, own};
    };
}

macro_rules! hundred {
    ($($name:ident)*) => {
        $(mod $name {
            ten! { a b c d e f g h i j }
        })*
        pub const WITH: &[&[super::Function]] = &[$($name::WITH),*];
        pub const LOGS: &[&[super::Function]] = &[$($name::LOGS),*];
        pub const WITHOUT: &[&[super::Function]] = &[$($name::WITHOUT),*];
        use super::{Function, own};
    };
}

macro_rules! three_thousand {
    ($($name:ident)*) => {
        $(mod $name {
            hundred! { a b c d e f g h i j }
        })*
        const WITH: &[&[&[Function]]] = &[$($name::WITH),*];
        const LOGS: &[&[&[Function]]] = &[$($name::LOGS),*];
        const WITHOUT: &[&[&[Function]]] = &[$($name::WITHOUT),*];
    };
}

three_thousand! { a b c d e f g h i j k l m n o p q r s t u v w x y z aa bb cc dd }

/// So many of them, in an order that no prefetcher knows.
fn some(all: &[&[&[Function]]], count: usize) -> Vec<Function> {
    let mut functions: Vec<_> =
        all.iter().flat_map(|hundred| hundred.iter().copied().flatten()).copied().take(count).collect();
    let mut random = 1_u64;
    for at in (1..functions.len()).rev() {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        functions.swap(at, (random >> 33) as usize % (at + 1));
    }
    functions
}

/// Calls each of them so many times.
fn call(functions: &[Function], times: usize) {
    let mut x = 1;
    for _ in 0..times {
        for function in functions {
            x = function(x);
        }
    }
    std::hint::black_box(x);
}

/// Nanoseconds of one call: the least of the passes, of a thousand calls or more each, because clocks are coarse.
fn least(functions: &[Function], passes: usize) -> f64 {
    let mut least = f64::INFINITY;
    let rounds = (1000 / functions.len()).max(1);
    for _ in 0..passes {
        let start = Instant::now();
        call(functions, rounds);
        least = least.min(start.elapsed().as_nanos() as f64 / (rounds * functions.len()) as f64);
    }
    least
}

/// Lines of one target only.
struct Other;

impl log::Log for Other {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        metadata.target() == "other"
    }
    fn log(&self, record: &log::Record<'_>) {
        assert!(!self.enabled(record.metadata()));
    }
    fn flush(&self) {}
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let with = match words[..3] {
        ["nothing", ..] => WITHOUT,
        ["tracing", _, "none"] => WITH,
        ["tracing", _, filter] => {
            let registry = tracing_subscriber::registry().with(EnvFilter::new(filter));
            tracing::subscriber::set_global_default(registry).unwrap();
            WITH
        }
        ["log", _, filter @ ("none" | "other" | "asked")] => {
            if filter != "none" {
                log::set_logger(&Other).unwrap();
                log::set_max_level(log::LevelFilter::Trace);
            }
            if filter == "asked" {
                // With upstream's log, nothing comes of it.
                let _ = jumplabel_log::enabled_changed();
            }
            LOGS
        }
        _ => panic!("{words:?}"),
    };
    let count = words[1].parse().unwrap();
    let (with, without) = (some(with, count), some(WITHOUT, count));
    if let Some(times) = words.get(3) {
        return call(&with, times.parse().unwrap());
    }
    least(&with, 10);
    println!("{:.3}", least(&with, 2000) - least(&without, 2000));
}
