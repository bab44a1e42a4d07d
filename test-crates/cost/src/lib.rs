//! A check of each kind of place, alone in a function; and one as it must not be.

use jumplabel::{StaticKeyTrue, static_branch_likely, static_branch_maybe, static_branch_unlikely, static_key};

static_key! {
    static KEY: false;
    static KEYS: [false; 4];
}

struct Config {
    key: StaticKeyTrue,
}
static CONFIG: Config = Config { key: StaticKeyTrue::new() };

#[unsafe(no_mangle)]
pub fn cost_name() -> bool {
    static_branch_unlikely!(KEY)
}

#[unsafe(no_mangle)]
pub fn cost_path() -> bool {
    static_branch_likely!(crate::KEY)
}

#[unsafe(no_mangle)]
pub fn cost_maybe() -> bool {
    static_branch_maybe!(cfg!(debug_assertions), KEY)
}

#[unsafe(no_mangle)]
pub fn cost_element() -> bool {
    static_branch_unlikely!(KEYS[2])
}

#[unsafe(no_mangle)]
pub fn cost_field() -> bool {
    static_branch_likely!(CONFIG.key)
}

/// The broken twin: the object's record repeated at each site, and a constant for each thing that is to be known.
#[unsafe(no_mangle)]
pub fn cost_twin() -> bool {
    'site: {
        // SAFETY: never runs.
        #[allow(named_asm_labels)]
        unsafe {
            core::arch::asm!(
                jumplabel::__object_asm!(),
                "/* {a} {b} {c} {target} {key} */",
                a = const { 1 + 1 },
                b = const { 2 + 2 },
                c = const { 3 + 3 },
                target = label { break 'site true },
                key = sym KEY,
            );
        }
        false
    }
}
