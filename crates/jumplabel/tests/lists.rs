//! Lists of statics that macros make inside functions (`list!`, `list_element!`).
#![cfg(not(target_family = "wasm"))]

use jumplabel::{List, ObjectChange, StaticKeyFalse, list, list_element, set_all, static_branch_unlikely};

struct Point {
    name: &'static str,
    key: StaticKeyFalse,
}

impl Point {
    const fn new(name: &'static str) -> Point {
        Point { name, key: StaticKeyFalse::new() }
    }
}

list! {
    /// Points.
    static POINTS: [Point];
    static NUMBERS: [u32];
    static NOTHING: [u8];
}

/// A layer's macro.
macro_rules! point {
    ($name:expr) => {{
        static POINT: Point = Point::new($name);
        list_element!(POINTS, POINT);
        static_branch_unlikely!(POINT.key)
    }};
}

#[inline(never)]
fn two() -> [bool; 2] {
    [point!("two.first"), point!("two.second")]
}

/// One static, and a copy of the code for each type.
#[inline(never)]
fn generic<T>() -> bool {
    std::hint::black_box(std::any::type_name::<T>());
    point!("generic")
}

#[inline(always)]
fn inlined() -> bool {
    point!("inlined")
}

mod inner {
    pub static OUTSIDE: u32 = 7;
}

#[inline(never)]
fn numbered() {
    static TEN: u32 = 10;
    list_element!(NUMBERS, TEN);
    list_element!(crate::NUMBERS, inner::OUTSIDE);
    list_element!(NUMBERS, inner::OUTSIDE);
}

/// A function that nobody calls, and that the compiler emits all the same.
#[unsafe(no_mangle)]
extern "C" fn jumplabel_listed_and_not_called() -> bool {
    point!("not called")
}

fn names() -> Vec<&'static str> {
    let mut names = Vec::new();
    POINTS.for_each(|point| names.push(point.name)).unwrap();
    names.sort_unstable();
    names
}

fn elements<T: Copy + Ord + Sync>(list: &'static List<T>) -> Vec<T> {
    let mut elements = Vec::new();
    list.for_each(|&element| elements.push(element)).unwrap();
    elements.sort_unstable();
    elements
}

#[test]
fn each_element_once() {
    assert_eq!(
        (two(), generic::<u8>(), generic::<u16>(), inlined(), inlined()),
        ([false; 2], false, false, false, false)
    );
    let is_elsewhere = |name: &str| name == "not called" || name.starts_with("flipped.");
    let found: Vec<_> = names().into_iter().filter(|name| !is_elsewhere(name)).collect();
    assert_eq!(found, ["generic", "inlined", "two.first", "two.second"]);
    numbered();
    assert_eq!((elements(&NUMBERS), elements(&NOTHING)), (vec![7, 10], vec![]));
}

/// The layer finds the keys, and flips them in one batch.
#[test]
fn keys_of_elements() {
    #[inline(never)]
    fn flipped() -> [bool; 2] {
        [point!("flipped.on"), point!("flipped.off")]
    }
    assert_eq!(flipped(), [false, false]);
    let mut keys = Vec::new();
    let of = |point: &Point| point.name.starts_with("flipped.");
    POINTS.for_each(|point| keys.extend(of(point).then(|| (point.key.raw(), point.name == "flipped.on")))).unwrap();
    assert_eq!(set_all(keys.iter().copied()).map(|_| flipped()), Ok([true, false]));
    // While the list is visited, keys can be flipped.
    POINTS
        .for_each(|point| {
            if of(point) {
                point.key.disable().unwrap();
            }
        })
        .unwrap();
    assert_eq!(flipped(), [false, false]);
}

/// An element is in the program if its function is. Some linkers drop functions that nobody calls; others keep those that have sites.
#[test]
#[cfg(all(target_os = "linux", jumplabel_sites, not(miri)))]
fn an_element_goes_with_its_function() {
    let symbols = std::process::Command::new("nm").arg(std::env::current_exe().unwrap()).output().unwrap().stdout;
    let symbols = String::from_utf8_lossy(&symbols);
    assert!(symbols.contains("main"));
    assert_eq!(names().contains(&"not called"), symbols.contains("jumplabel_listed_and_not_called"));
}

/// Nothing is loaded, so no hook is called; that hooks are called is in tests/objects.rs (`keys_in_another_object`).
#[test]
fn a_hook_can_be_replaced() {
    fn never(_: ObjectChange, _: &[&'static u8]) {
        unreachable!();
    }
    NOTHING.on_change(|_, _| unreachable!());
    NOTHING.on_change(never);
}

/// Keys of a list have names and places, without a record: two of one name, found by their places.
#[test]
#[cfg(jumplabel_sites)]
fn keys_have_names() {
    struct Named {
        key: jumplabel::StaticKey<true>,
        line: u32,
    }
    list! { static NAMED: [Named]; }
    macro_rules! named {
        () => {{
            static ONE: Named = Named { key: jumplabel::StaticKey::new(), line: line!() };
            list_element!(NAMED, ONE);
            jumplabel::static_branch_likely!(ONE.key)
        }};
    }
    #[inline(never)]
    fn both() -> [bool; 2] {
        let first = named!();
        let second = named!();
        [first, second]
    }
    let of = |one: &'static Named| jumplabel::NamedKey::new(&one.key, "lists::named", file!(), one.line, 9);
    let keys = || {
        let mut keys = Vec::new();
        jumplabel::for_each_key(|key| keys.extend((key.name == "lists::named").then_some(key))).unwrap();
        keys.sort_by_key(|key| key.line);
        keys
    };
    assert_eq!((both(), keys().len()), ([true; 2], 0));
    NAMED.names(of);
    let [first, second] = *keys() else { panic!("{:?}", keys()) };
    assert_eq!((first.line, first.column, first.sites, first.default), (second.line - 1, 9, 1, true));
    assert_eq!((first.file, first.path, first.module), (file!(), "lists::named", ""));
    assert_eq!(jumplabel::find_key("lists::named").unwrap_err(), jumplabel::Error::SeveralKeys { count: 2 });
    assert_eq!(jumplabel::find_key("lists::name").unwrap_err(), jumplabel::Error::NoSuchKey);
    let found = jumplabel::find_key(&format!("lists::named@{}:{}:9", file!(), first.line));
    assert!(std::ptr::eq(found.unwrap().key, first.key), "{first:#}");
    first.key.disable().unwrap();
    // An element has its key, and 8 bytes for the line.
    assert_eq!(size_of::<Named>(), size_of::<jumplabel::StaticKey<true>>() + size_of::<usize>());
    assert_eq!((both(), keys()[0].enabled, keys()[1].enabled), ([false, true], false, true));
}
