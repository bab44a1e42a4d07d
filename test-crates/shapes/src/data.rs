//! Places that a key can lie in: arrays, fields, tuples, another crate, a deferred key; and keys without sites.

use std::time::Duration;

use jumplabel::{
    StaticKeyFalse, StaticKeyTrue, static_branch_likely, static_branch_maybe, static_branch_unlikely, static_key,
};

use crate::Shape;

struct Config {
    _before: [u8; 3],
    trace: StaticKeyFalse,
    hooks: [StaticKeyTrue; 3],
    inner: Inner,
}
struct Inner {
    pair: (StaticKeyFalse, StaticKeyTrue),
}

static CONFIG: Config = Config {
    _before: [0; 3],
    trace: StaticKeyFalse::new(),
    hooks: [const { StaticKeyTrue::new() }; 3],
    inner: Inner { pair: (StaticKeyFalse::new(), StaticKeyTrue::new()) },
};
static BARE: StaticKeyFalse = StaticKeyFalse::new();
static GRID: [[StaticKeyFalse; 2]; 2] = [const { [const { StaticKeyFalse::new() }; 2] }; 2];

static_key! {
    static KEYS: [false; 4];
    static LONELY: true;
    static SLOW: false, deferred Duration::from_millis(1);
}

#[inline(never)]
fn element<const N: usize>() -> bool {
    std::hint::black_box(N);
    static_branch_unlikely!(KEYS[N])
}
#[inline(never)]
fn arithmetic() -> bool {
    const LAST: usize = 3;
    static_branch_likely!(KEYS[LAST - 1])
}
#[inline(never)]
fn field() -> bool {
    static_branch_unlikely!(CONFIG.trace)
}
#[inline(never)]
fn element_of_field() -> bool {
    static_branch_likely!(CONFIG.hooks[2])
}
#[inline(never)]
fn tuple() -> bool {
    static_branch_unlikely!(CONFIG.inner.pair.0)
}
#[inline(never)]
fn other_tuple() -> bool {
    static_branch_unlikely!(CONFIG.inner.pair.1)
}
#[inline(never)]
fn bare() -> bool {
    static_branch_likely!(BARE)
}
#[inline(never)]
fn grid() -> bool {
    static_branch_unlikely!(GRID[1][0])
}
#[inline(never)]
fn slow() -> bool {
    static_branch_maybe!(true, SLOW)
}

#[inline(never)]
fn foreign() -> bool {
    let here = static_branch_likely!(elsewhere::OPEN);
    assert_eq!(here, elsewhere::open());
    here
}
#[inline(never)]
fn foreign_element() -> bool {
    static_branch_unlikely!(elsewhere::SEVERAL[5])
}
#[inline(never)]
fn foreign_forced() -> bool {
    elsewhere::forced()
}
fn foreign_generic() -> bool {
    let here = elsewhere::generic::<Config>();
    assert_eq!(here, elsewhere::generic::<u16>());
    here
}

pub fn shapes() -> Vec<Shape> {
    vec![
        Shape::new("const generic", &KEYS[0], element::<0>, 1, 1),
        Shape::new("another element", &KEYS[3], element::<3>, 1, 1),
        Shape::new("element by arithmetic", &KEYS[2], arithmetic, 1, 1),
        Shape::new("field", &CONFIG.trace, field, 1, 1),
        Shape::new("element of a field", &CONFIG.hooks[2], element_of_field, 1, 1),
        Shape::new("tuple", &CONFIG.inner.pair.0, tuple, 1, 1),
        Shape::new("other half of the tuple", &CONFIG.inner.pair.1, other_tuple, 1, 1),
        Shape::new("without static_key!", &BARE, bare, 1, 1),
        Shape::new("array of arrays", &GRID[1][0], grid, 1, 1),
        Shape::new("deferred", &SLOW, slow, 1, 1),
        Shape::new("no sites", &LONELY, || LONELY.is_enabled(), 0, 0),
        Shape::new("no sites in an array", &KEYS[1], || KEYS[1].is_enabled(), 0, 0),
        Shape::new("another crate's key", &elsewhere::OPEN, foreign, 2, 2),
        Shape::new("another crate's array", &elsewhere::SEVERAL[5], foreign_element, 1, 1),
        Shape::new("another crate's generic", elsewhere::private("generic"), foreign_generic, 2, 2),
        Shape::new("another crate's inline", elsewhere::private("inline"), elsewhere::inline, 1, 2),
        Shape::new("another crate's forced inline", elsewhere::private("forced"), foreign_forced, 1, 1),
    ]
}
