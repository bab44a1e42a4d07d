//! The counterpart of `startup-sites`: the same program with the same 10,000 functions, but without keys, tables and library.

#[path = "../sites.rs"]
mod sites;

sites::site_functions!("startup_plain", 10000, 128, nop);

unsafe extern "C" {
    fn startup_plain();
}

fn main() -> std::process::ExitCode {
    let sites = sites::Functions { first: startup_plain as *const () as usize, count: 10_000, apart: 128 };
    sites::run_one_and_wait(&sites)
}
