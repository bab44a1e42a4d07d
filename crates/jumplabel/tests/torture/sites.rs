//! The sites: arrays of functions in assembly, laid out so that each site lies where the test wants it.
//!
//! ```text
//!              boundary
//!                 │
//!   ..trap mov ret [ site ] mov ret trap..    trap..    ..trap mov ret [ site ] mov ret trap..
//!           ▲        │    │  └ falls through: returns 2 * number + arm
//!           └ jumps ─┘    └─── moved along by one byte from function to function: each split of a boundary
//!             returns 2 * number + !arm
//! ```
//!
//! The bytes between the functions trap, and every function returns a number of its own, so a thread that executes a torn instruction traps or
//! gives itself away. The target lies before the site: on x86 the displacement, -11, differs from the nop in all four bytes. Half of the sites are
//! likely (arm 1), half unlikely. The short sites of x86 have two bytes, and no other splits.
//!
//! Where instructions are aligned, so are the sites. A word crosses no boundary: it is the last one before it.
//!
//! The arrays are a section of their own: between the two halves of the text, 45 MB are more than some jumps reach.

use std::ops::Range;

use jumplabel::StaticKeyFalse;

use crate::number_asm::{LENGTH, TRAP, number_asm};
use crate::pages::{ALIGN, fixed_asm, format_asm};
use crate::promise::Promise;

/// The number of splits of a boundary, where `bytes` of a site may lie before it.
const fn splits(bytes: usize) -> usize {
    bytes.div_ceil(ALIGN)
}

/// One array of sites. Site `n` belongs to key `n % keys`.
pub struct Array {
    /// The first site, which is the first function.
    start: unsafe extern "C" fn() -> u32,
    /// The number of sites.
    pub sites: usize,
    /// The distance from one site to the next, in bytes, without the split.
    stride: usize,
    /// The site's distance from where the first one lies goes round from 0 to one less than so many times [`ALIGN`].
    splits: usize,
    /// The keys.
    pub keys: &'static [StaticKeyFalse],
    /// The promises to readers, one for each key.
    pub promises: &'static [Promise],
}

impl Array {
    /// Executes site `number`. Returns 2 * `number` + whether its key is on.
    pub fn execute(&self, number: usize) -> u32 {
        debug_assert!(number < self.sites);
        let address = self.start as usize + number * self.stride + number % self.splits * ALIGN;
        // SAFETY: where the assembly below puts the function of that number; it touches the result and the flags only.
        let function: unsafe extern "C" fn() -> u32 = unsafe { std::mem::transmute(address) };
        // SAFETY: as above.
        unsafe { function() }
    }

    /// The number of sites of one key.
    pub fn sites_of_key(&self) -> usize {
        self.sites / self.keys.len()
    }

    /// Addresses of the sites.
    pub fn addresses(&self) -> Range<usize> {
        let start = self.start as usize;
        start..start + self.sites * self.stride
    }
}

/// Declares an array: `name: sites with keys, stride; the first site at an offset in its page, splits in bytes`; and `short` if they are.
macro_rules! array {
    ($name:ident: $sites:literal sites, $keys:literal keys, every $stride:literal, at $first:literal, $splits:literal splits) => {
        array! {
            @ $name: $sites, $keys, $stride, $first, $splits, jumplabel_format::layout::BRANCH,
            jumplabel::__jump_asm!("3:", "2b"), jumplabel::__nop_asm!("3:", "2b")
        }
    };
    (
        $name:ident: $sites:literal sites, $keys:literal keys, every $stride:literal, at $first:literal, $splits:literal splits, short
    ) => {
        array! {
            @ $name: $sites, $keys, $stride, $first, $splits, jumplabel_format::layout::SHORT,
            "3: .byte 0xeb, 2b - . - 1", "3: .byte 0x66, 0x90"
        }
    };
    (
        @ $name:ident: $sites:literal, $keys:literal, $stride:literal, $first:literal, $splits:literal, $kind:expr,
        $jump:expr, $nop:expr
    ) => {
        pub mod $name {
            use super::*;

            jumplabel::static_key! { pub static KEYS: [false; $keys]; }
            static PROMISES: [Promise; $keys] = [const { Promise::new() }; $keys];

            unsafe extern "C" {
                fn $name() -> u32;
            }

            pub static ARRAY: Array = Array {
                start: $name,
                sites: $sites,
                stride: $stride,
                splits: splits($splits),
                keys: &KEYS,
                promises: &PROMISES,
            };

            std::arch::global_asm!(
                format_asm!(code ".torture"),
                fixed_asm!(begin),
                ".balign 4096, 0xcc",
                ".fill ({first} - {length}) / {align}, {align}, {trap}",
                ".globl {name}",
                format_asm!(hidden "{name}"),
                ".set {name}, . + {length}",
                ".set .Ltorture_site, 0",
                ".rept {sites}",
                ".set .Ltorture_split, .Ltorture_site % {splits} * {align}",
                ".set .Ltorture_arm, (.Ltorture_site / {half}) % 2",
                ".fill .Ltorture_split / {align}, {align}, {trap}",
                "2:",
                ".set .Ltorture_number, .Ltorture_site * 2 + 1 - .Ltorture_arm",
                number_asm!(),
                ".if .Ltorture_arm",
                $jump,
                ".else",
                $nop,
                ".endif",
                ".set .Ltorture_number, .Ltorture_site * 2 + .Ltorture_arm",
                number_asm!(),
                ".fill ({stride} - {length} * 2 - {site} - .Ltorture_split) / {align}, {align}, {trap}",
                format_asm!(entry),
                ".balign 4",
                ".long 3b - .",
                ".long 2b - .",
                ".long {keys} + (.Ltorture_site % {key_count}) * {key_size} - .",
                ".long .Ltorture_arm | {kind} << 2",
                ".popsection",
                ".set .Ltorture_site, .Ltorture_site + 1",
                ".endr",
                fixed_asm!(end),
                ".popsection",
                name = sym $name,
                first = const $first / ALIGN * ALIGN,
                sites = const $sites,
                stride = const $stride,
                splits = const splits($splits),
                half = const $splits,
                keys = sym KEYS,
                key_count = const $keys,
                key_size = const size_of::<jumplabel::StaticKeyFalse>(),
                site = const jumplabel_format::Kind::of($kind).unwrap().bytes::<jumplabel::arch::Native>(),
                kind = const $kind,
                length = const LENGTH,
                align = const ALIGN,
                trap = const TRAP,
            );
        }
    };
}

// 41 MB, because a page has one end. It also keeps torn jumps from the arrays behind it on int3.
array! { page_10000: 10_000 sites, 1 keys, every 4096, at 4092, 4 splits }
array! { page_64: 64 sites, 1 keys, every 4096, at 4092, 4 splits }
array! { page_1: 8 sites, 8 keys, every 4096, at 4092, 4 splits }

array! { start_1: 2 sites, 2 keys, every 64, at 64, 1 splits }
array! { start_64: 64 sites, 1 keys, every 64, at 64, 1 splits }
array! { start_10000: 10_000 sites, 1 keys, every 64, at 64, 1 splits }

array! { cross8_1: 8 sites, 8 keys, every 64, at 68, 4 splits }
array! { cross8_64: 64 sites, 1 keys, every 64, at 68, 4 splits }
array! { cross8_10000: 10_000 sites, 1 keys, every 64, at 68, 4 splits }

array! { cross16_1: 8 sites, 8 keys, every 64, at 76, 4 splits }
array! { cross16_64: 64 sites, 1 keys, every 64, at 76, 4 splits }
array! { cross16_10000: 10_000 sites, 1 keys, every 64, at 76, 4 splits }

array! { cross32_1: 8 sites, 8 keys, every 64, at 92, 4 splits }
array! { cross32_64: 64 sites, 1 keys, every 64, at 92, 4 splits }
array! { cross32_10000: 10_000 sites, 1 keys, every 64, at 92, 4 splits }

array! { cross64_1: 8 sites, 8 keys, every 64, at 60, 4 splits }
array! { cross64_64: 64 sites, 1 keys, every 64, at 60, 4 splits }
array! { cross64_10000: 10_000 sites, 1 keys, every 64, at 60, 4 splits }

// The first n of these together make batches of 1, 2, 255, 256, 257 and 10,000 sites.
array! { batch_1: 1 sites, 1 keys, every 64, at 60, 4 splits }
array! { batch_2: 1 sites, 1 keys, every 64, at 63, 1 splits }
array! { batch_255: 253 sites, 1 keys, every 64, at 60, 4 splits }
array! { batch_256: 1 sites, 1 keys, every 4096, at 4093, 1 splits }
array! { batch_257: 1 sites, 1 keys, every 64, at 62, 1 splits }
array! { batch_10000: 9743 sites, 1 keys, every 64, at 60, 4 splits }

#[cfg(all(unix, any(target_arch = "x86_64", target_arch = "x86")))]
pub mod short {
    use super::*;

    array! { short_1: 8 sites, 8 keys, every 64, at 63, 1 splits, short }
    array! { short_64: 64 sites, 1 keys, every 64, at 63, 1 splits, short }
    array! { short_page: 64 sites, 1 keys, every 4096, at 4095, 1 splits, short }
    array! { short_10000: 10_000 sites, 1 keys, every 64, at 63, 1 splits, short }
}

// One key for several threads to count, and one for each of three threads, all on the same pages.
array! { counted: 256 sites, 4 keys, every 64, at 60, 4 splits }
