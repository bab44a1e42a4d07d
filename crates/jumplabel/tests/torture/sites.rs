//! The sites: arrays of functions in assembly, laid out so that each site lies where the test wants it.
//!
//! ```text
//!              boundary
//!                 │
//!   ..cc b8 ret [ site ] b8 ret cc..    cc..    ..cc b8 ret [ site ] b8 ret cc..
//!        ▲        │    │  └ falls through: returns 2 * number + arm
//!        └ jumps ─┘    └─── 5 bytes, moved along by one byte from function to function: each split of a boundary
//!          returns 2 * number + !arm
//! ```
//!
//! What lies between the functions is `int3`, and every function returns a number of its own, so a thread that executes a
//! torn instruction traps or gives itself away. The target lies before the site: the displacement, -11, differs from the
//! nop in all four bytes. Half of the sites are likely (arm 1), half unlikely.

use std::ops::Range;

use jumplabel::StaticKeyFalse;

use crate::promise::Promise;

/// One array of sites. Site `n` belongs to key `n % keys`.
pub struct Array {
    /// The first site, which is the first function.
    start: unsafe extern "C" fn() -> u32,
    /// How many sites.
    pub sites: usize,
    /// Bytes from one site to the next, but for the split.
    stride: usize,
    /// The site's distance from where the first one lies goes round from 0 to one less than this.
    splits: usize,
    /// The keys.
    pub keys: &'static [StaticKeyFalse],
    /// What readers may rely on, for each key.
    pub promises: &'static [Promise],
}

impl Array {
    /// Executes site `number`: 2 * `number` + whether its key is on.
    pub fn execute(&self, number: usize) -> u32 {
        debug_assert!(number < self.sites);
        let address = self.start as usize + number * self.stride + number % self.splits;
        // SAFETY: where the assembly below puts the function of that number; it touches eax and the flags only.
        let function: unsafe extern "C" fn() -> u32 = unsafe { std::mem::transmute(address) };
        // SAFETY: as above.
        unsafe { function() }
    }

    /// How many sites one key has.
    pub fn sites_of_key(&self) -> usize {
        self.sites / self.keys.len()
    }

    /// Addresses of the sites.
    pub fn addresses(&self) -> Range<usize> {
        let start = self.start as usize;
        start..start + self.sites * self.stride
    }
}

/// Declares an array: `name: sites with keys, stride; the first site at an offset in its page, splits`.
macro_rules! array {
    ($name:ident: $sites:literal sites, $keys:literal keys, every $stride:literal, at $first:literal, $splits:literal splits) => {
        pub mod $name {
            use super::{Array, Promise};

            jumplabel::static_key! { pub static KEYS: [false; $keys]; }
            static PROMISES: [Promise; $keys] = [const { Promise::new() }; $keys];

            unsafe extern "C" {
                fn $name() -> u32;
            }

            pub static ARRAY: Array = Array {
                start: $name,
                sites: $sites,
                stride: $stride,
                splits: $splits,
                keys: &KEYS,
                promises: &PROMISES,
            };

            std::arch::global_asm!(
                ".pushsection .text.torture,\"ax\",%progbits",
                ".balign 4096, 0xcc",
                ".skip {first} - 6, 0xcc",
                ".globl {name}",
                ".hidden {name}",
                ".set {name}, . + 6",
                ".set .Ltorture_site, 0",
                ".rept {sites}",
                ".set .Ltorture_split, .Ltorture_site % {splits}",
                ".set .Ltorture_arm, (.Ltorture_site / {splits}) % 2",
                ".skip .Ltorture_split, 0xcc",
                "2:",
                ".byte 0xb8", // mov eax, imm32
                ".long .Ltorture_site * 2 + 1 - .Ltorture_arm",
                "ret",
                "3:",
                ".if .Ltorture_arm",
                ".byte 0xe9",
                ".long 2b - . - 4",
                ".else",
                ".byte 0x0f, 0x1f, 0x44, 0x00, 0x00",
                ".endif",
                ".byte 0xb8",
                ".long .Ltorture_site * 2 + .Ltorture_arm",
                "ret",
                ".skip {stride} - 17 - .Ltorture_split, 0xcc",
                ".pushsection __jump_table,\"aR\",%progbits",
                ".balign 4",
                ".long 3b - .",
                ".long 2b - .",
                ".long {keys} + (.Ltorture_site % {key_count}) * {key_size} - .",
                ".long .Ltorture_arm",
                ".popsection",
                ".set .Ltorture_site, .Ltorture_site + 1",
                ".endr",
                ".popsection",
                name = sym $name,
                first = const $first,
                sites = const $sites,
                stride = const $stride,
                splits = const $splits,
                keys = sym KEYS,
                key_count = const $keys,
                key_size = const size_of::<jumplabel::StaticKeyFalse>(),
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

// One key for several threads to count, and one for each of three threads, all on the same pages.
array! { counted: 256 sites, 4 keys, every 64, at 60, 4 splits }
