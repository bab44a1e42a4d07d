//! Keys and their checks in one thread: defaults, arms, places, counts, misuse.

use jumplabel::arch::Native;
use jumplabel::{
    RawKey, Site, for_each_key, for_each_site, naked_key, probe, set_all, static_branch_likely, static_branch_unlikely,
    static_key, text_reserved,
};
use jumplabel_format::{Arch, State};
use jumplabel_testing::tests_of_bodies;

#[path = "conformance/keys.rs"]
mod conformance;

conformance::each!(tests_of_bodies);

#[test]
#[cfg_attr(not(jumplabel_sites), ignore = "no sites")]
fn introspection() {
    const LINE: u32 = line!() + 1;
    static_key! { static LISTED: [true; 2]; }
    #[inline(never)] // One site.
    fn check() -> bool {
        static_branch_unlikely!(LISTED[1])
    }
    assert!(check());
    let mut found = 0;
    for_each_key(|key| {
        if key.name.ends_with("::LISTED") {
            found += 1;
            assert!(key.file.ends_with("keys.rs") && key.line == LINE && key.default && key.enabled);
            assert_eq!(key.sites, key.element.unwrap() as usize);
            let sites = ["0 sites", "1 site"][key.sites];
            assert!(format!("{key:?}").ends_with(sites));
        }
    })
    .unwrap();
    assert_eq!(found, 2);
    let mut address = 0;
    assert_eq!(for_each_site(&LISTED[1], |site| address = site.address).unwrap(), 1);
    LISTED[1].disable().unwrap();
    for_each_site(&LISTED[1], |site| {
        assert!(site.state.unwrap().falls_through());
        let shown = format!("{address:#x} {} -> {:#x} unlikely", site.state.unwrap().name(), site.target);
        assert_eq!((site.to_string(), format!("{site:?}")), (shown.clone(), format!("Site({shown})")));
        assert!(Site { state: None, ..site }.to_string().starts_with(&format!("{address:#x} foreign bytes [")));
        // If there is more than one way to fall through, a site is left in another one than it had at first.
        assert_eq!(site.state, Some(State::JUMP.toward::<Native>(0, Some(0))));
        LISTED[1].enable().unwrap(); // Visited without the lock.
    })
    .unwrap();
    assert!(check());
    assert!(text_reserved(address..address + 1).unwrap());
    assert!(text_reserved(address + Native::SIZE - 1..address + Native::SIZE).unwrap());
    assert!(!text_reserved(address + Native::SIZE..address + Native::SIZE).unwrap());
}

/// Keys of all kinds in one constant list.
#[test]
fn keys_without_their_types() {
    static_key! {
        static OFF: false;
        static ON: true;
        static LATER: false, deferred std::time::Duration::from_millis(1);
    }
    naked_key! { static NAKED: true; }
    static ALL: [&RawKey; 4] = [OFF.raw(), ON.raw(), LATER.raw(), NAKED.raw()];
    assert_eq!(ALL.map(RawKey::is_enabled), [false, true, false, true]);
    set_all(ALL.into_iter().map(|key| (key, !key.is_enabled()))).unwrap();
    assert!(OFF.is_enabled() && !static_branch_likely!(ON) && static_branch_unlikely!(LATER) && !NAKED.get());
    // For people: short, whatever the type.
    assert!(ALL.iter().map(|key| format!("{key:?}")).eq([
        format!("{OFF:?}"),
        format!("{ON:?}"),
        format!("{LATER:?}"),
        format!("{NAKED:?}")
    ]));
    OFF.inc().unwrap();
    NAKED.seal().unwrap();
    assert_eq!(
        format!("{OFF:?} {ON:?} {LATER:?} {NAKED:?}"),
        "StaticKey(on, count 2) StaticKey(off, count 0) StaticKey(on, count 1) StaticKey(off, count 0, sealed)"
    );
}

/// In the fallback there is nothing to write, whatever the system would allow.
#[test]
fn a_writer_is_found_ahead() {
    if cfg!(not(jumplabel_sites)) {
        assert_eq!(probe(), Err(jumplabel::Error::NoWriter));
        return;
    }
    let writer = probe().unwrap();
    static_key! { static KEY: false; }
    assert!(!static_branch_unlikely!(KEY));
    assert_eq!(KEY.enable().unwrap().writer, Some(writer));
}

/// All bytes of a site are reserved, and neither of those beside it.
#[cfg(jumplabel_sites)]
#[test]
fn reserved_text() {
    static_key! { static ALONE: false; }
    #[inline(never)]
    fn check(before: u64, after: u64) -> u64 {
        // Instructions of other kinds on both sides of the site.
        let before = std::hint::black_box(before).wrapping_mul(3);
        let on = u64::from(static_branch_unlikely!(ALONE));
        before.wrapping_add(std::hint::black_box(after + on))
    }
    assert_eq!((check(1, 1), check(2, 3)), (4, 9));
    let mut sites = Vec::new();
    for_each_site(&ALONE, |site| sites.push(site.address)).unwrap();
    assert!(!sites.is_empty());
    for start in sites {
        let end = start + Native::SIZE;
        for (range, reserved) in [
            (start - 1..start, false),
            (start - 1..start + 1, true),
            (start..start, false),
            (start + 1..start + 1, false),
            (start..start + 1, true),
            (start..end, true),
            (end - 1..end, true),
            (end - 1..end + 1, true),
            (end..end + 1, false),
            (start - 1..end + 1, true),
        ] {
            assert_eq!(text_reserved(range.clone()).unwrap(), reserved, "{range:x?} of {start:x}");
        }
    }
}

/// A dec that is due is carried out without a further call, on every platform that has threads and a clock.
#[test]
fn deferred() {
    use std::time::{Duration, Instant};
    static_key! { static LATE: true, deferred core::time::Duration::from_millis(1); }
    LATE.dec_deferred().unwrap();
    let start = Instant::now();
    while LATE.is_enabled() {
        assert!(start.elapsed() < Duration::from_secs(60), "still on");
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(!static_branch_likely!(LATE));
    std::thread::sleep(Duration::from_millis(50)); // Miri wants the worker to end before its process.
}

/// A sealed key may lie in memory that cannot be written: a refused change writes nothing.
#[test]
#[cfg(all(target_os = "linux", not(miri)))]
fn sealed_in_read_only_memory() {
    use jumplabel::{Batch, Error, StaticKeyFalse};

    const PAGE: usize = 1 << 16; // The largest page that there is.
    #[repr(C, align(65536))]
    struct Page(StaticKeyFalse, [u8; PAGE - 8]);
    static SEALED: Page = Page(StaticKeyFalse::new(), [0; PAGE - 8]);
    static_key! { static OTHER: false; }

    SEALED.0.seal().unwrap();
    // SAFETY: pages of this static, of which nothing else is in them.
    let done = unsafe { libc::mprotect(SEALED.0.address() as *mut libc::c_void, PAGE, libc::PROT_READ) };
    assert_eq!(done, 0);
    let refused = [SEALED.0.inc(), SEALED.0.enable(), Batch::new().enable(&OTHER).enable(&SEALED.0).commit()];
    assert_eq!(refused, [const { Err(Error::Sealed) }; 3]);
    assert!(SEALED.0.disable().is_ok() && !OTHER.is_enabled());
}
