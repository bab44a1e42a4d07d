//! Correct programs, for comparison with the refused ones. (They also make the compiler evaluate the constants in checks.)
use jumplabel::{RawKey, StaticKeyFalse, StaticKeyTrue, static_branch_likely, static_branch_maybe, static_branch_unlikely, static_key};

static KEY: StaticKeyFalse = StaticKeyFalse::new();

mod deeper {
    jumplabel::static_key! {
        pub(crate) static NEAR: true;
        pub(super) static KEYS: [false; 4];
        /// A doc comment, which the declaration must accept.
        #[allow(dead_code)]
        pub static SLOW: false, deferred std::time::Duration::from_secs(1);
    }
}

struct Config {
    key: StaticKeyTrue,
    hooks: ([StaticKeyTrue; 2],),
}
static CONFIG: Config =
    Config { key: StaticKeyTrue::new(), hooks: ([StaticKeyTrue::new(), StaticKeyTrue::new()],) };

macro_rules! traced {
    ($key:path) => {
        static_branch_unlikely!($key)
    };
}

macro_rules! element {
    ($keys:path, $index:literal) => {
        static_branch_unlikely!($keys[$index])
    };
}

fn generic<const N: usize>() -> bool {
    static_branch_unlikely!(deeper::KEYS[N])
}

fn either(on: &RawKey) -> bool {
    on.is_enabled()
}

mod naked {
    jumplabel::naked_key! {
        pub(crate) static FAR: true;
        /// A doc comment, which the declaration must accept.
        #[allow(dead_code)]
        pub static NEVER: cfg!(any());
    }
}

fn main() {
    jumplabel::naked_key! { static HERE_TOO: const { 1 + 1 == 3 }; }
    assert_eq!([naked::FAR.get(), naked::NEVER.get(), HERE_TOO.get()], [true, false, false]);
    assert!(either(&naked::FAR));
    static_key! { static HERE: const { 1 + 1 == 2 }; }
    let all = [
        static_branch_unlikely!(KEY),
        static_branch_unlikely!(crate::KEY),
        static_branch_likely!(self::deeper::NEAR),
        static_branch_likely!(deeper::KEYS[1 + 2]),
        static_branch_likely!(deeper::KEYS[3]),
        static_branch_unlikely!(CONFIG.hooks.0[1]),
        element!(deeper::KEYS, 3),
        generic::<3>(),
        static_branch_likely!(CONFIG.key),
        static_branch_maybe!(cfg!(windows), HERE),
        static_branch_maybe!(true, deeper::SLOW),
        traced!(deeper::NEAR),
        either(&deeper::NEAR),
        either(&deeper::SLOW),
    ];
    assert_eq!(all, [false, false, true, false, false, true, false, false, true, true, false, true, true, false]);
}
