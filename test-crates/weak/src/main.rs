//! A site of a key that nobody defines: it stays as compiled, and flips of other keys work. Prints `ok`, and
//! before that `fixed` in a program that is always loaded at the same address.

use jumplabel::{for_each_site, static_branch_likely, static_branch_unlikely, static_key, text_reserved};

static_key! {
    static KEY: false;
    static OTHER: true;
}

unsafe extern "C" {
    fn site_of_nobody() -> u32;
}

// A function that returns 0, by way of a site of that key.
core::arch::global_asm!(
    ".weak NOBODY_DEFINES",
    ".hidden NOBODY_DEFINES",
    ".pushsection .text.site_of_nobody, \"ax\", %progbits",
    ".globl site_of_nobody",
    "site_of_nobody:",
    jumplabel::__nop_asm!("2:", "3f"),
    jumplabel::__return_asm!("0"),
    "3:",
    jumplabel::__return_asm!("1"),
    ".pushsection __jump_table, \"aR\", %progbits",
    ".balign 4",
    ".long 2b - .",
    ".long 3b - .",
    ".long NOBODY_DEFINES - .",
    ".long 0",
    ".popsection",
    ".popsection",
);

fn main() {
    let check = || {
        // SAFETY: the function above.
        let nobodys = unsafe { site_of_nobody() };
        assert_eq!(nobodys, 0);
        (static_branch_unlikely!(KEY), static_branch_likely!(OTHER))
    };
    for _ in 0..2 {
        assert_eq!(check(), (false, true));
        assert!(KEY.enable().unwrap().sites > 0 && OTHER.disable().unwrap().sites > 0);
        assert_eq!(check(), (true, false));
        assert!(KEY.disable().unwrap().sites > 0 && OTHER.enable().unwrap().sites > 0);
    }
    assert!(for_each_site(&KEY, |_| ()).unwrap() > 0);
    let site = site_of_nobody as *const () as usize;
    assert!(text_reserved(site..site + 1).unwrap());
    if site < 1 << 30 {
        println!("fixed");
    }
    println!("ok");
}
