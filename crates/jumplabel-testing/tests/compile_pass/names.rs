//! Declarations work even if the crate uses names that the macros use: `Option`, `u8`, `target`, and so on.

#![allow(dead_code, unused_imports, non_camel_case_types, non_upper_case_globals, unused_macros)]

macro_rules! forbidden {
    ($($name:ident)*) => { $(
        macro_rules! $name {
            ($d:tt) => { compile_error!("of the user's") };
        }
    )* };
}
forbidden! { concat stringify module_path file line column }

struct Option;
struct Some;
struct None;
struct Fn;
struct Send;
struct Sync;
struct u8;

mod calls {
    use super::*;

    pub fn function(x: u32) -> u32 {
        x
    }
    static target: u32 = 1;
    static from: u32 = 1;
    static to: u32 = 1;

    jumplabel::static_call! {
        pub static CALL: fn(u32) -> u32 = function;
        pub static ZERO: fn(u32) -> u32 = return 0;
        #[cfg(unix)]
        static HERE: fn(u32) -> u32 = function;
        /// Does not exist on Unix.
        #[cfg(not(unix))]
        static HERE: fn(u32) -> u32 = function;
        #[cfg(any())]
        static NOWHERE: NoSuchType = function;
    }

    pub fn all() -> [u32; 3] {
        [CALL(1), ZERO(1), HERE(1)]
    }
}

mod modes {
    use super::*;

    jumplabel::modes! { pub enum Level { Low, High } }
    jumplabel::static_mode! {
        pub static LEVEL: Level = High;
        #[cfg(unix)]
        static HERE: Level = Low;
        #[cfg(not(unix))]
        static HERE: Level = High;
    }

    pub fn all() -> [bool; 2] {
        [jumplabel::static_switch!(LEVEL, { Low => false, High => true }), jumplabel::static_switch!(HERE, { High => true, Low => false })]
    }
}

mod points {
    use super::*;

    jumplabel::tracepoint! {
        pub pci, probe(id: u32);
        pub pci, target(probe: u32);
        pub log, line(text: &str);
        pub log, text(line: &str, function: u32);
        pub net, function(a: u32, b: u32, c: u32, d: u32, e: u32, f: u32, g: u32, h: u32);
    }

    pub fn all() {
        jumplabel::emit!(probe, 1);
        jumplabel::emit!(target, 1);
        jumplabel::emit!(text, "", 1);
        jumplabel::emit!(function, 1, 2, 3, 4, 5, 6, 7, 8);
    }
}

jumplabel::static_key! { static KEY: false; }
jumplabel::naked_key! { static NAKED: true; }

fn main() {
    assert_eq!(calls::all(), [1, 0, 1]);
    assert_eq!(modes::all(), [true, false]);
    points::all();
    assert!(!jumplabel::static_branch_unlikely!(KEY) && NAKED.get());
}
