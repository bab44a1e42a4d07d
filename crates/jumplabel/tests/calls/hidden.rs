//! Defaults and targets whose code takes more than their type says, or takes it elsewhere. A call through a pointer passes all of it.

use std::panic::Location;

use jumplabel::static_call;

#[track_caller]
fn place(_: u64) -> &'static Location<'static> {
    Location::caller()
}

/// This default is in another object than the call, and copied into each that uses it.
#[track_caller]
#[inline]
fn inlined(_: u64) -> &'static Location<'static> {
    Location::caller()
}

trait Shape {
    #[track_caller]
    fn declared(self) -> &'static Location<'static>;
    fn implemented(self) -> &'static Location<'static>;
    fn dispatched(&self, by: u64) -> u64;
    #[track_caller]
    fn dispatched_with_place(&self, by: u64) -> (u64, &'static Location<'static>);
}

impl Shape for u64 {
    fn declared(self) -> &'static Location<'static> {
        Location::caller()
    }
    #[track_caller]
    fn implemented(self) -> &'static Location<'static> {
        Location::caller()
    }
    fn dispatched(&self, by: u64) -> u64 {
        self * by
    }
    fn dispatched_with_place(&self, by: u64) -> (u64, &'static Location<'static>) {
        (self + by, Location::caller())
    }
}

static_call! {
    static PLACE: fn(u64) -> &'static Location<'static> = place;
    static INLINED: fn(u64) -> &'static Location<'static> = inlined;
    static DECLARED: fn(u64) -> &'static Location<'static> = <u64 as Shape>::declared;
    static IMPLEMENTED: fn(u64) -> &'static Location<'static> = <u64 as Shape>::implemented;
    static UNSAFE: unsafe fn(u64) -> &'static Location<'static> = place;
    static TAKE: fn(Option<u64>) -> u64 = Option::<u64>::unwrap;
}

/// Checks that a place is in this file, and reads all of the place.
fn is_a_place(place: &Location<'_>) {
    assert!(place.file().ends_with("hidden.rs"), "{place}");
    assert!((1..200).contains(&place.line()) && place.column() < 200, "{place}");
}

#[test]
fn a_default_that_asks_for_its_caller() {
    for call in [*PLACE, *INLINED, *DECLARED, *IMPLEMENTED] {
        is_a_place(call(1));
    }
    is_a_place(PLACE(1));
    is_a_place(INLINED(1));
    is_a_place(DECLARED(1));
    is_a_place(IMPLEMENTED(1));
    // SAFETY: it is a safe function.
    is_a_place(unsafe { UNSAFE(1) });
    assert_eq!(TAKE(Some(3)), 3);
    let panic = std::panic::catch_unwind(|| TAKE(None)).unwrap_err();
    assert!(panic.downcast_ref::<&str>().unwrap().contains("None"));
}

#[test]
fn a_target_that_asks_for_its_caller() {
    fn own(_: u64) -> &'static Location<'static> {
        Location::caller()
    }
    static_call! { static HOOK: fn(u64) -> &'static Location<'static> = own; }
    for target in [place, <u64 as Shape>::declared, <u64 as Shape>::implemented, |_| Location::caller()] {
        HOOK.update(target).unwrap();
        is_a_place(HOOK(1));
    }
    HOOK.reset().unwrap();
    is_a_place(HOOK(1));
    PLACE.update(own).unwrap();
    is_a_place(PLACE(1));
    PLACE.update(place).unwrap();
    is_a_place(PLACE(1));
    PLACE.reset().unwrap();
    is_a_place(PLACE(1));
}

/// A method of a trait object has no code of its own: the compiler makes a function that looks it up.
#[test]
fn methods_of_trait_objects() {
    trait Hidden {
        fn times(&self, by: u64) -> u64;
        #[track_caller]
        fn plus(&self, by: u64) -> (u64, &'static Location<'static>);
    }
    impl<T: Shape> Hidden for T {
        fn times(&self, by: u64) -> u64 {
            self.dispatched(by)
        }
        fn plus(&self, by: u64) -> (u64, &'static Location<'static>) {
            self.dispatched_with_place(by)
        }
    }
    static_call! {
        static TIMES: fn(&(dyn Hidden + 'static), u64) -> u64 = <dyn Hidden>::times;
        static PLUS: fn(&(dyn Hidden + 'static), u64) -> (u64, &'static Location<'static>) = <dyn Hidden>::plus;
    }
    assert_eq!(TIMES(&3_u64, 4), 12);
    let (sum, place) = PLUS(&3_u64, 4);
    assert_eq!(sum, 7);
    is_a_place(place);
    TIMES.update(|_, by| by).unwrap();
    assert_eq!(TIMES(&3_u64, 4), 4);
    TIMES.update(<dyn Hidden>::times).unwrap();
    assert_eq!(TIMES(&3_u64, 4), 12);
}

/// Functions that the compiler makes.
#[test]
fn functions_without_source() {
    #[derive(Debug, PartialEq)]
    struct Wrapped(u64, String);
    static_call! {
        static SOME: fn(u64) -> Option<u64> = Some::<u64>;
        static WRAP: fn(u64, String) -> Wrapped = Wrapped;
        static CLONE: fn(&[String; 2]) -> [String; 2] = <[String; 2] as Clone>::clone;
        static DROP: unsafe fn(*mut String) = core::ptr::drop_in_place::<String>;
        static NOTHING: unsafe fn(*mut u64) = core::ptr::drop_in_place::<u64>;
    }
    assert_eq!(SOME(1), Some(1));
    assert_eq!(WRAP(1, "a".into()), Wrapped(1, "a".into()));
    assert_eq!(CLONE(&["a".into(), "b".into()]), ["a", "b"]);
    let mut text = core::mem::ManuallyDrop::new(String::from("text"));
    // SAFETY: nobody uses the text any more, and a number has nothing to drop.
    unsafe {
        DROP(&mut *text);
        NOTHING(&mut 1);
    }
}

/// Arguments that the caller puts elsewhere: in memory, in registers for floats; a result in memory of the caller's.
#[test]
fn other_conventions() {
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[repr(C)]
    struct Large([u64; 40]);
    extern "C" fn large(a: Large, b: f64, c: Large) -> Large {
        Large([a.0[39] + c.0[0] + b as u64; 40])
    }
    extern "C-unwind" fn unwinds(a: u64) -> u64 {
        if a == 0 { panic!("zero") } else { a }
    }
    fn future(a: u64) -> std::pin::Pin<Box<dyn Future<Output = u64>>> {
        Box::pin(async move { a })
    }
    fn unsized_box(a: Box<dyn Fn(u64) -> u64>) -> u64 {
        a(2)
    }
    static_call! {
        static LARGE: extern "C" fn(Large, f64, Large) -> Large = large;
        static UNWINDS: extern "C-unwind" fn(u64) -> u64 = unwinds;
        static FUTURE: fn(u64) -> std::pin::Pin<Box<dyn Future<Output = u64>>> = future;
        static UNSIZED: fn(Box<dyn Fn(u64) -> u64>) -> u64 = unsized_box;
    }
    assert_eq!(LARGE(Large([3; 40]), 2.0, Large([4; 40])), Large([9; 40]));
    assert_eq!(UNWINDS(1), 1);
    assert!(std::panic::catch_unwind(|| UNWINDS(0)).is_err());
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(matches!(FUTURE(5).as_mut().poll(&mut context), std::task::Poll::Ready(5)));
    assert_eq!(UNSIZED(Box::new(|x| x + 1)), 3);
}

/// A caller may pass any number of arguments; x86-64 has their number in a register. Elsewhere, a default in another object does not link.
#[cfg(target_arch = "x86_64")]
#[test]
fn variable_arguments() {
    use core::ffi::{c_char, c_int};
    unsafe extern "C" {
        fn snprintf(to: *mut c_char, size: usize, format: *const c_char, ...) -> c_int;
    }
    static_call! { static PRINT: unsafe extern "C" fn(*mut c_char, usize, *const c_char, ...) -> c_int = snprintf; }
    let mut text = [0_u8; 32];
    // SAFETY: room for what the format says, and an argument for each conversion.
    let length =
        unsafe { PRINT(text.as_mut_ptr().cast(), text.len(), c"%d %.1f %s".as_ptr(), 7, 2.5_f64, c"end".as_ptr()) };
    assert_eq!(&text[..length as usize], b"7 2.5 end");
}

/// Vectors by value: functions for processors that have such registers.
#[cfg(target_arch = "x86_64")]
#[test]
fn vectors() {
    use core::arch::x86_64::{__m256i, _mm256_add_epi64, _mm256_extract_epi64, _mm256_set1_epi64x};
    #[target_feature(enable = "avx2")]
    fn add(a: __m256i, b: __m256i) -> __m256i {
        _mm256_add_epi64(a, b)
    }
    static_call! { static ADD: unsafe fn(__m256i, __m256i) -> __m256i = add; }
    if std::arch::is_x86_feature_detected!("avx2") {
        #[target_feature(enable = "avx2")]
        fn sum() -> i64 {
            // SAFETY: the caller's processor has them.
            _mm256_extract_epi64::<0>(unsafe { ADD(_mm256_set1_epi64x(3), _mm256_set1_epi64x(4)) })
        }
        // SAFETY: seen above.
        assert_eq!(unsafe { sum() }, 7);
    } else {
        println!("not shown: this processor has no AVX2");
    }
}
