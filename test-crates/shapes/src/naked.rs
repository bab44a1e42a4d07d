//! Naked keys: checks in every kind of code, in this crate and in another. However many there are, one site.

use std::hint::black_box;

use jumplabel::naked_key;

use crate::Shape;

naked_key! {
    static OFF: false;
    static ON: true;
    static GENERIC: false;
    static CLOSURE: true;
    static LOOP: false;
    static UNWIND: true;
    static RED_ZONE: false;
    static LEAF: false;
    static LIVE: false;
    static MAYBE: cfg!(debug_assertions);
}

#[inline(never)]
fn off() -> bool {
    let checks = [OFF.get(), OFF.get(), OFF.get()];
    assert_eq!(checks, [checks[0]; 3]);
    checks[0]
}

#[inline(never)]
fn on() -> bool {
    ON.get()
}

#[inline(never)]
fn generic<T>() -> bool {
    black_box(std::any::type_name::<T>());
    GENERIC.get()
}

#[inline(never)]
fn call(check: &dyn Fn(u64) -> bool) -> bool {
    check(black_box(5))
}
fn closure() -> bool {
    let captured = black_box(vec![1_u64, 2, 3]);
    call(&|x| CLOSURE.get() && captured.len() as u64 != x)
}

#[inline(never)]
fn in_a_loop() -> bool {
    let hits = (0..black_box(17_u32)).filter(|_| LOOP.get()).count();
    assert!(hits == 0 || hits == 17);
    hits == 17
}

#[inline(never)]
fn with_landing_pads() -> bool {
    let first = black_box(String::from("a"));
    let state = UNWIND.get();
    let second = black_box(format!("{first}{state}"));
    black_box(second.len() > first.len()) && state
}

/// A leaf but for the check, with a frame that would fit below the stack pointer: the return address must not be written
/// into it.
#[inline(never)]
fn red_zone() -> bool {
    let mut frame = [0_u64; 12];
    for (at, word) in (0_u64..).zip(&mut frame) {
        // SAFETY: a reference; volatile so that the frame is really there.
        unsafe { std::ptr::write_volatile(word, at) };
    }
    let state = RED_ZONE.get();
    for (at, word) in (0_u64..).zip(&frame) {
        // SAFETY: as above.
        assert_eq!(unsafe { std::ptr::read_volatile(word) }, at);
    }
    state
}

/// Disassembled by crates/jumplabel/tests/builds.rs: one call and nothing else for the check.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn shapes_naked_leaf(x: u64) -> u64 {
    if LEAF.get() { x.wrapping_mul(7) } else { x.wrapping_add(1) }
}

/// The same: as many values as there are registers that an ordinary call may write, live across the check.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn shapes_naked_live(a: u64, b: u64, c: u64, d: u64, e: u64, f: u64) -> u64 {
    let [g, h] = [a.wrapping_mul(b), c.wrapping_mul(d)];
    mixed(LIVE.get(), [a, b, c, d, e, f, g, h])
}

/// What the test compares that with: the same around an ordinary call.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn shapes_call_live(a: u64, b: u64, c: u64, d: u64, e: u64, f: u64) -> u64 {
    #[inline(never)]
    extern "C" fn ordinary() -> bool {
        black_box(true)
    }
    let [g, h] = [a.wrapping_mul(b), c.wrapping_mul(d)];
    mixed(ordinary(), [a, b, c, d, e, f, g, h])
}

#[inline(always)]
fn mixed(on: bool, values: [u64; 8]) -> u64 {
    let all = values.iter().fold(0_u64, |all, value| (all ^ value).rotate_left(7));
    if on { all } else { !all }
}

fn live(check: extern "C" fn(u64, u64, u64, u64, u64, u64) -> u64) -> u64 {
    check(black_box(1), black_box(2), black_box(3), black_box(4), black_box(5), black_box(6))
}

fn in_a_function() -> Shape {
    naked_key! { static LOCAL: true; }
    #[inline(never)]
    fn local() -> bool {
        LOCAL.get()
    }
    Shape::new("naked, declared in a function", &LOCAL, local, 1, 1)
}

#[inline(never)]
fn foreign() -> bool {
    let here = elsewhere::NAKED.get();
    assert_eq!(here, elsewhere::naked());
    here
}
fn foreign_generic() -> bool {
    let here = elsewhere::naked_generic::<u64>();
    assert_eq!(here, elsewhere::naked_generic::<u16>());
    here
}

pub fn shapes() -> Vec<Shape> {
    let private = elsewhere::private;
    vec![
        Shape::new("naked, default off", &OFF, off, 1, 1),
        Shape::new("naked, default on", &ON, on, 1, 1),
        Shape::new("naked, generic", &GENERIC, || generic::<u8>() && generic::<String>(), 1, 1),
        Shape::new("naked, closure", &CLOSURE, closure, 1, 1),
        Shape::new("naked, loop", &LOOP, in_a_loop, 1, 1),
        Shape::new("naked, landing pads", &UNWIND, with_landing_pads, 1, 1),
        Shape::new("naked, red zone", &RED_ZONE, red_zone, 1, 1),
        Shape::new("naked, leaf", &LEAF, || shapes_naked_leaf(black_box(2)) == 14, 1, 1),
        Shape::new("naked, live", &LIVE, || live(shapes_naked_live) == live(shapes_call_live), 1, 1),
        Shape::new("naked, maybe", &MAYBE, || MAYBE.get(), 1, 1),
        in_a_function(),
        Shape::new("naked, another crate's", &elsewhere::NAKED, foreign, 1, 1),
        Shape::new("naked, another crate's generic", private("naked generic"), foreign_generic, 1, 1),
        Shape::new("naked, another crate's inline", private("naked inline"), elsewhere::naked_inline, 1, 1),
    ]
}
