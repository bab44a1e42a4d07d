//! The program that `startup` measures. It has 10,000 sites of 10,000 keys, and flips nothing.

#[path = "../sites.rs"]
mod sites;

use jumplabel::static_key;

static_key! { static KEYS: [false; 10_000]; }

sites::site_functions!("startup_sites", 10000, 128, nop, KEYS, 8);

unsafe extern "C" {
    fn startup_sites();
}

fn main() -> std::process::ExitCode {
    let sites = sites::Functions { first: startup_sites as *const () as usize, count: 10_000, apart: 128 };
    sites::run_one_and_wait(&sites)
}
