//! The other arm of a site is out of reach: the first flip says so and names the site, and no site of the key has changed. This runs where a
//! mebibyte is out of reach; elsewhere a program would have to be made for it.
#![cfg(all(target_arch = "riscv64", jumplabel_sites))]

use jumplabel::{Batch, Error, for_each_site, static_branch_unlikely, static_key};

static_key! {
    static KEY: false;
    static OTHER: false;
}

std::arch::global_asm!(
    ".pushsection .text.reach, \"ax\", %progbits",
    jumplabel::__nop_asm!("2:", "3f"),
    jumplabel::__return_asm!("0"),
    ".skip 0x100000",
    "3:",
    jumplabel::__return_asm!("1"),
    ".pushsection __jump_table, \"aR\", %progbits",
    ".balign 4",
    ".long 2b - .",
    ".long 3b - .",
    ".long {key} - .",
    ".long 0",
    ".popsection",
    ".popsection",
    key = sym KEY,
);

#[inline(never)]
fn near() -> bool {
    static_branch_unlikely!(KEY)
}

#[test]
fn out_of_range() {
    let mut far = 0;
    let sites = for_each_site(&KEY, |site| {
        far = far.max(if site.target > site.address + 0x10_0000 { site.address } else { 0 })
    });
    assert!(sites == Ok(2) && far != 0);
    assert_eq!(KEY.enable(), Err(Error::OutOfRange { address: far }));
    assert_eq!(Batch::new().enable(&OTHER).enable(&KEY).commit(), Err(Error::OutOfRange { address: far }));
    assert!(!near() && !KEY.is_enabled() && !OTHER.is_enabled());
    OTHER.enable().unwrap();
}
