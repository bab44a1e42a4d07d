//! Kinds of code: inlined, generic, closures, async, traits, drops, loops, macros, other crates.

use std::hint::black_box;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};

use jumplabel::{static_branch_likely, static_branch_maybe, static_branch_unlikely, static_key};

use crate::Shape;

static_key! {
    static OFF: false;
    static ON: true;
    static INLINED: false;
    static GENERIC: false;
    static CLOSURE: true;
    static ASYNC: false;
    static TRAIT: true;
    static DROP: false;
    static LOOP: false;
    static MACRO: true;
    static NESTED: false;
    static EXTERN: true;
    static MAYBE: cfg!(debug_assertions);
    static UNWIND: false;
    /// Checked in a function that is dropped, and nowhere else.
    pub static DEAD: true;
}

/// All of `checks` say the same.
fn agreed<const N: usize>(checks: [bool; N]) -> bool {
    assert_eq!(checks, [checks[0]; N]);
    checks[0]
}

#[inline(never)]
fn off() -> bool {
    agreed([static_branch_likely!(OFF), static_branch_unlikely!(OFF)])
}

#[inline(never)]
fn on() -> bool {
    agreed([static_branch_likely!(ON), static_branch_unlikely!(ON)])
}

#[inline(always)]
fn inlined() -> bool {
    static_branch_unlikely!(INLINED)
}
#[inline(never)]
fn first_caller() -> bool {
    black_box(1);
    inlined()
}
#[inline(never)]
fn second_caller() -> bool {
    black_box(2);
    inlined()
}

#[inline(never)]
fn generic<T: Default>() -> bool {
    black_box(T::default());
    black_box(std::any::type_name::<T>());
    static_branch_unlikely!(GENERIC)
}

#[inline(never)]
fn call(check: &dyn Fn(u64) -> bool) -> bool {
    check(black_box(5))
}
fn closure() -> bool {
    let captured = black_box(vec![1_u64, 2, 3]);
    call(&|x| static_branch_likely!(CLOSURE) && captured.len() as u64 != x)
}

async fn suspended() -> bool {
    let before = static_branch_unlikely!(ASYNC);
    let mut first = true;
    std::future::poll_fn(|context| {
        context.waker().wake_by_ref();
        if std::mem::take(&mut first) { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
    agreed([before, static_branch_likely!(ASYNC)])
}
fn polled_by_hand() -> bool {
    let mut future = pin!(suspended());
    let mut context = Context::from_waker(Waker::noop());
    assert!(future.as_mut().poll(&mut context).is_pending());
    match future.as_mut().poll(&mut context) {
        Poll::Ready(state) => state,
        Poll::Pending => unreachable!("it was pending once"),
    }
}

trait Hook {
    #[inline(never)]
    fn provided(&self) -> bool {
        static_branch_likely!(TRAIT)
    }
    fn required(&self) -> bool;
}
struct One;
impl Hook for One {
    #[inline(never)]
    fn required(&self) -> bool {
        static_branch_unlikely!(TRAIT)
    }
}
fn by_trait() -> bool {
    let object: &dyn Hook = black_box(&One);
    agreed([object.provided(), object.required()])
}

struct Guard<'a>(&'a AtomicBool);
impl Drop for Guard<'_> {
    #[inline(never)]
    fn drop(&mut self) {
        self.0.store(static_branch_unlikely!(DROP), Ordering::Relaxed);
    }
}
fn dropped() -> bool {
    let state = AtomicBool::new(false);
    drop(black_box(Guard(&state)));
    state.into_inner()
}

#[inline(never)]
fn in_a_loop() -> bool {
    let hits = (0..black_box(17_u32)).filter(|_| static_branch_unlikely!(LOOP)).count();
    assert!(hits == 0 || hits == 17);
    hits == 17
}

macro_rules! hook {
    ($key:ident, $way:ident) => {
        #[inline(never)]
        fn $way() -> bool {
            jumplabel::$way!($key)
        }
    };
}
mod by_macro {
    use super::MACRO;
    hook!(MACRO, static_branch_likely);
    hook!(MACRO, static_branch_unlikely);
    pub fn both() -> bool {
        super::agreed([static_branch_likely(), static_branch_unlikely()])
    }
}

/// A check in the far arm of another one, with enough code between that no short jump reaches it.
#[inline(never)]
fn nested() -> bool {
    if static_branch_unlikely!(NESTED) {
        let mut text = String::new();
        for number in 0..black_box(3_u32) {
            text += &format!("{number:?}{:x?}{:o}", [number; 5], number * 77);
        }
        assert!(!text.is_empty());
        return static_branch_likely!(NESTED);
    }
    match black_box(3) {
        3 if static_branch_unlikely!(NESTED) => true,
        number => number != 3,
    }
}

#[inline(never)]
extern "C" fn external() -> bool {
    static_branch_unlikely!(EXTERN)
}
fn by_pointer() -> bool {
    black_box(external as extern "C" fn() -> bool)()
}

#[inline(never)]
fn maybe() -> bool {
    static_branch_maybe!(cfg!(debug_assertions), MAYBE)
}

/// A landing pad of its own on each side of the site.
#[inline(never)]
fn with_landing_pads() -> bool {
    let first = black_box(String::from("a"));
    let state = static_branch_unlikely!(UNWIND);
    let second = black_box(format!("{first}{state}"));
    black_box(second.len() > first.len()) && state
}

fn in_a_function() -> (Shape, Shape) {
    static_key! { static LOCAL: false; static OTHER: [true; 2]; }
    #[inline(never)]
    fn local() -> bool {
        static_branch_unlikely!(LOCAL)
    }
    #[inline(never)]
    fn other() -> bool {
        static_branch_likely!(OTHER[1])
    }
    (Shape::new("declared in a function", &LOCAL, local, 1, 1), Shape::new("array in one", &OTHER[1], other, 1, 1))
}

/// No caller: dropped by the linker, with its entry. Not by the compiler, because it has a name that C could call.
#[unsafe(no_mangle)]
extern "C" fn shapes_dead() -> bool {
    static_branch_unlikely!(DEAD)
}

pub fn shapes() -> Vec<Shape> {
    let (local, other) = in_a_function();
    vec![
        Shape::new("default off, both arms", &OFF, off, 2, 2),
        Shape::new("default on, both arms", &ON, on, 2, 2),
        Shape::new("inlined", &INLINED, || agreed([first_caller(), second_caller()]), 2, 2),
        Shape::new("generic", &GENERIC, || agreed([generic::<u8>(), generic::<String>(), generic::<()>()]), 3, 3),
        Shape::new("closure", &CLOSURE, closure, 1, 2),
        Shape::new("async fn", &ASYNC, polled_by_hand, 2, 4),
        Shape::new("trait", &TRAIT, by_trait, 2, 2),
        Shape::new("drop", &DROP, dropped, 1, 1),
        Shape::new("loop", &LOOP, in_a_loop, 1, 32),
        Shape::new("macro", &MACRO, by_macro::both, 2, 2),
        Shape::new("nested", &NESTED, nested, 3, 3),
        Shape::new("extern", &EXTERN, by_pointer, 1, 1),
        Shape::new("maybe", &MAYBE, maybe, 1, 1),
        Shape::new("landing pads", &UNWIND, with_landing_pads, 1, 1),
        local,
        other,
    ]
}
