//! Keys whose sites were built as plain jumps, before anything else in the program runs and after: the suite of keys; sites of two and of five
//! bytes in one transaction; the distances at which the assembler changes its mind.
//!
//! Prints what the sites of one key hold at first, `short N` and `long N`, the number of sites of each size, and `ok`.

#[path = "../../../crates/jumplabel/tests/conformance/keys.rs"]
mod conformance;

use jumplabel::arch::State;
use jumplabel::{RawKey, Site, for_each_key, for_each_site, restore_pristine, static_branch_likely, static_branch_unlikely, static_key};

static_key! {
    static OFF: false;
    static ON: true;
    static LOADS: false, or_load;
}

#[inline(never)]
fn checks() -> [bool; 4] {
    [
        static_branch_likely!(OFF),
        static_branch_unlikely!(OFF),
        static_branch_likely!(ON),
        static_branch_unlikely!(ON),
    ]
}

#[inline(never)]
fn loads() -> bool {
    static_branch_unlikely!(LOADS)
}

/// What a constructor sees, which runs before `main` and after the library's.
static SEEN: std::sync::OnceLock<[bool; 4]> = std::sync::OnceLock::new();

#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE: extern "C" fn() = {
    extern "C" fn before() {
        let _ = SEEN.set(checks());
    }
    before
};

/// A check that jumps over so many bytes of nops, and a few.
macro_rules! over {
    ($($bytes:literal)*) => { [$({
        #[inline(never)]
        fn over() -> u32 {
            if static_branch_unlikely!(OFF) {
                return 1;
            }
            // SAFETY: does nothing.
            unsafe { std::arch::asm!(concat!(".fill ", $bytes, ", 1, 0x90"), options(nostack, nomem)) };
            2
        }
        over as fn() -> u32
    }),*] };
}

fn sites(key: &RawKey) -> Vec<Site> {
    let mut sites = Vec::new();
    for_each_site(key, |site| sites.push(site)).unwrap();
    sites
}

/// Each site has the size that its jump needs, and a state that does what its key says.
fn whole(key: &RawKey) {
    for site in sites(key) {
        let state = site.state.unwrap_or_else(|| panic!("foreign bytes: {site}"));
        assert_eq!(state.falls_through(), key.is_enabled() == site.arm || site.loads, "{site}");
        let distance = site.target as i64 - site.address as i64;
        assert!(site.bytes.len() == 5 || (-126..=129).contains(&distance), "{site} {distance}");
        assert!(!site.loads || site.bytes.len() == 5, "{site}");
    }
}

fn main() {
    assert_eq!(SEEN.get(), Some(&[false, false, true, true]), "a constructor took a wrong arm");
    let over: [fn() -> u32; 14] = over!(112 114 116 117 118 119 120 121 122 123 124 125 126 128);
    for site in sites(&OFF) {
        println!("{} {:02x?}", site.state.map_or("foreign", State::name), site.bytes);
    }
    for round in 0..3 {
        assert!(over.iter().all(|over| over() == 2) && checks() == [false, false, true, true] && !loads());
        [OFF.raw(), ON.raw()].into_iter().for_each(whole);
        OFF.enable().unwrap();
        ON.disable().unwrap();
        LOADS.enable().unwrap();
        assert!(over.iter().all(|over| over() == 1) && checks() == [true, true, false, false] && loads());
        [OFF.raw(), ON.raw()].into_iter().for_each(whole);
        let outcome = OFF.disable().unwrap();
        assert_eq!(outcome.sites, sites(&OFF).len());
        ON.enable().unwrap();
        LOADS.disable().unwrap();
        if round == 1 {
            // Back to the nop of each size, which takes all steps.
            restore_pristine(OFF.raw()).unwrap();
            let is_nop = |site: &Site| matches!(&*site.bytes, [0x66, 0x90] | [0x0f, 0x1f, 0x44, 0, 0]);
            assert!(sites(&OFF).iter().filter(|site| !site.arm).all(is_nop));
        }
    }
    macro_rules! run {
        ($($body:ident)*) => { $( conformance::$body(); )* };
    }
    conformance::each!(run);
    let mut sizes = [0; 2];
    let mut all = Vec::new();
    for_each_key(|key| all.push(key)).unwrap();
    for key in all {
        whole(key.key);
        sites(key.key).iter().for_each(|site| sizes[usize::from(site.bytes.len() == 5)] += 1);
    }
    println!("short {}\nlong {}\nok", sizes[0], sizes[1]);
}
