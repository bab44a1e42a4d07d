//! `spread FUNCTIONS FILTER`: how long an event takes that is spread over so many functions (10, 100 or 1,000), beside the same functions
//! without an event. Prints the nanoseconds that an event costs: the least of many passes with events, less the least without.

use std::time::Instant;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::layer::SubscriberExt;

type Function = fn(u64) -> u64;

/// Ten functions with an event each, or without.
macro_rules! ten {
    ($($name:ident)*) => {
        $(mod $name {
            #[inline(never)]
            pub fn with(x: u64) -> u64 {
                tracing::trace!(target: "events", x, "somewhere");
                x.wrapping_mul(3) ^ x >> 7
            }
            #[inline(never)]
            pub fn without(x: u64) -> u64 {
                x.wrapping_mul(3) ^ x >> 7
            }
        })*
        pub const WITH: &[super::Function] = &[$($name::with),*];
        pub const WITHOUT: &[super::Function] = &[$($name::without),*];
        type Function = super::Function;
    };
}

macro_rules! hundred {
    ($($name:ident)*) => {
        $(mod $name {
            ten! { a b c d e f g h i j }
        })*
        pub const WITH: &[&[super::Function]] = &[$($name::WITH),*];
        pub const WITHOUT: &[&[super::Function]] = &[$($name::WITHOUT),*];
        type Function = super::Function;
    };
}

macro_rules! thousand {
    ($($name:ident)*) => {
        $(mod $name {
            hundred! { a b c d e f g h i j }
        })*
        const WITH: &[&[&[Function]]] = &[$($name::WITH),*];
        const WITHOUT: &[&[&[Function]]] = &[$($name::WITHOUT),*];
    };
}

thousand! { a b c d e f g h i j }

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

/// Nanoseconds of one call: the least of the passes.
fn least(functions: &[Function], passes: usize) -> f64 {
    let mut least = f64::INFINITY;
    let mut x = 1;
    for _ in 0..passes {
        let start = Instant::now();
        for function in functions {
            x = function(x);
        }
        least = least.min(start.elapsed().as_nanos() as f64 / functions.len() as f64);
    }
    std::hint::black_box(x);
    least
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, count, filter] = arguments.as_slice() else { panic!("spread FUNCTIONS FILTER") };
    let (with, without) = (some(WITH, count.parse().unwrap()), some(WITHOUT, count.parse().unwrap()));
    if filter != "none" {
        let registry = tracing_subscriber::registry().with(EnvFilter::new(filter));
        tracing::subscriber::set_global_default(registry).unwrap();
    }
    let passes = 2_000_000 / with.len();
    least(&with, 10);
    println!("{:.3}", least(&with, passes) - least(&without, passes));
}
