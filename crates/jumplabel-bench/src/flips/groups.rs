//! The sites that are flipped. A group has the sites of one key, 128 bytes apart. Each group is compared with a floor of the same size and shape.

use jumplabel::{RawKey, WriterKind, for_each_site, set_writer, static_key};

use crate::Result;
use crate::sites::{Functions, site_functions};

/// Bytes from one site to the next. So 32 sites are on a page.
const APART: usize = 128;

static_key! {
    static KEY_1: false;
    static KEY_100: false;
    static KEY_10000: false;
    static KEY_4: false;
    static KEY_8: false;
    static KEY_16: false;
    static KEY_32: false;
    static KEY_64: false;
    /// Naked keys. Each has one site: the function that its checks call.
    #[cfg(target_arch = "x86_64")]
    static NAKED_1: false;
    #[cfg(target_arch = "x86_64")]
    static NAKED_10000: false;
    /// Keys with one site each, whose sites are a page apart.
    static SPREAD: [false; 200];
    /// Keys with one site each.
    static MANY: [false; 3000];
}

/// The sites of one key, or the checks of a naked key.
pub struct Group {
    pub key: &'static RawKey,
    pub naked: bool,
    pub sites: Functions,
}

/// Emits the function of a naked key under the symbol `$symbol`, and its table entry.
#[cfg(target_arch = "x86_64")]
macro_rules! naked_function {
    ($symbol:literal, $key:path) => {
        core::arch::global_asm!(
            concat!(".pushsection .text.", $symbol, ", \"ax\", @progbits"),
            ".balign 8",
            concat!(".globl ", $symbol),
            concat!(".hidden ", $symbol),
            concat!($symbol, ":"),
            "mov eax, 0",
            "ret",
            ".balign 8, 0xcc",
            concat!(".pushsection __jump_table, \"ao\", @progbits, ", $symbol),
            ".balign 4",
            concat!(".long ", $symbol, " - ."),
            concat!(".long ", $symbol, " - ."),
            ".long {key} - .",
            ".long {naked}",
            ".popsection",
            ".popsection",
            key = sym $key,
            naked = const jumplabel::format::meta(false, jumplabel_format::layout::NAKED, 0),
        );
    };
}

macro_rules! group {
    ($function:ident, $symbol:ident, $name:literal, $count:literal, $key:ident) => {
        site_functions!($name, $count, 128, nop, $key, 0);
        group!(@ $function, $symbol, $count, $key, false);
    };
    ($function:ident, $symbol:ident, $name:literal, $count:literal, naked $key:ident, $naked:literal) => {
        naked_function!($naked, $key);
        site_functions!($name, $count, 128, naked $naked);
        group!(@ $function, $symbol, $count, $key, true);
    };
    (@ $function:ident, $symbol:ident, $count:literal, $key:ident, $naked:literal) => {
        unsafe extern "C" {
            fn $symbol();
        }
        fn $function() -> Group {
            let first = $symbol as *const () as usize;
            Group { key: &$key, naked: $naked, sites: Functions { first, count: $count, apart: APART } }
        }
    };
}

group!(group_1, bench_sites_1, "bench_sites_1", 1, KEY_1);
group!(group_100, bench_sites_100, "bench_sites_100", 100, KEY_100);
group!(group_10000, bench_sites_10000, "bench_sites_10000", 10000, KEY_10000);
group!(group_4, bench_sites_4, "bench_sites_4", 4, KEY_4);
group!(group_8, bench_sites_8, "bench_sites_8", 8, KEY_8);
group!(group_16, bench_sites_16, "bench_sites_16", 16, KEY_16);
group!(group_32, bench_sites_32, "bench_sites_32", 32, KEY_32);
group!(group_64, bench_sites_64, "bench_sites_64", 64, KEY_64);
#[cfg(target_arch = "x86_64")]
group!(naked_1, bench_naked_1, "bench_naked_1", 1, naked NAKED_1, "bench_naked_function_1");
#[cfg(target_arch = "x86_64")]
group!(naked_10000, bench_naked_10000, "bench_naked_10000", 10000, naked NAKED_10000, "bench_naked_function_10000");
site_functions!("bench_sites_spread", 200, 4096, nop, SPREAD, 8);
site_functions!("bench_sites_many", 3000, 128, nop, MANY, 8);
site_functions!("bench_floor", 10000, 128, test);

unsafe extern "C" {
    fn bench_floor();
    fn bench_sites_spread();
    fn bench_sites_many();
}

/// The groups that have targets: 1 site, 100 sites on 4 pages, 10,000 sites on 313 pages.
pub fn groups() -> Result<Vec<Group>> {
    checked(vec![group_1(), group_100(), group_10000()])
}

/// Groups whose sizes are around the point where one writer becomes cheaper than the other.
pub fn steps() -> Result<Vec<Group>> {
    checked(vec![group_4(), group_8(), group_16(), group_32(), group_64()])
}

/// No groups: the functions of naked keys and their checks are written for x86-64.
#[cfg(not(target_arch = "x86_64"))]
pub fn naked() -> Result<Vec<Group>> {
    Ok(Vec::new())
}

/// Naked keys with 1 check and with 10,000 checks.
#[cfg(target_arch = "x86_64")]
pub fn naked() -> Result<Vec<Group>> {
    let groups = vec![naked_1(), naked_10000()];
    for group in &groups {
        if for_each_site(group.key, |_| ())? != 1 {
            return Err("the table does not list the function of a naked key".into());
        }
    }
    Ok(groups)
}

/// 200 keys, each with one site on a page of its own.
pub fn spread() -> (&'static [jumplabel::StaticKeyFalse; 200], Functions) {
    (&SPREAD, Functions { first: bench_sites_spread as *const () as usize, count: 200, apart: 4096 })
}

/// 3,000 keys with one site each.
pub fn many() -> (&'static [jumplabel::StaticKeyFalse; 3000], Functions) {
    (&MANY, Functions { first: bench_sites_many as *const () as usize, count: 3000, apart: APART })
}

/// The first `count` functions of the floor's text, which is always writable.
pub fn floor(count: usize) -> Functions {
    Functions { first: bench_floor as *const () as usize, count, apart: APART }
}

/// The addresses of the floor's text, which is whole pages.
pub fn floor_text() -> std::ops::Range<usize> {
    let Functions { first, count, apart } = floor(10_000);
    first..(first + count * apart).next_multiple_of(4096)
}

/// Returns an error if the library does not know the sites of a group. Then the build has no sites, or the linker dropped entries.
fn checked(groups: Vec<Group>) -> Result<Vec<Group>> {
    for group in &groups {
        let mut at = group.sites.first;
        let found = for_each_site(group.key, |site| {
            at = if site.address == at { at + APART } else { 0 };
        })?;
        if found != group.sites.count || at != group.sites.first + found * APART {
            return Err(
                format!("the table lists {found} of {} sites: no sites in this build?", group.sites.count).into()
            );
        }
    }
    Ok(groups)
}

/// Returns whether a writer works on this system or emulator.
pub fn works(kind: &WriterKind) -> bool {
    set_writer(Some(*kind));
    let key = &spread().0[0];
    let works = key.enable().is_ok() && key.disable().is_ok();
    set_writer(None);
    works
}

impl Group {
    pub fn pages(&self) -> usize {
        (self.sites.count * APART).div_ceil(4096)
    }
}
