//! Features of x86-64 processors. Their names are rustc's, or Linux's.

use core::arch::x86_64::{__cpuid, __cpuid_count};
use core::sync::atomic::{AtomicU64, Ordering};

const ECX: u8 = 0;
const EDX: u8 = 1;
const EBX: u8 = 2;

/// Defines the table of features, and a macro that turns a feature's name into its number in the text of an `asm!`.
macro_rules! features {
    ($($number:literal $name:ident: $leaf:literal $register:ident $bit:literal $keeps:literal,)*) => {
        /// Turns the name of a feature into the feature's number. An arm of an alternative has this number as its mode.
        #[doc(hidden)]
        #[macro_export]
        macro_rules! __alternative_feature {
            $(($name) => { $number };)*
        }

        const FEATURES: &[Feature] = &[
            $(Feature { number: $number, leaf: $leaf, register: $register, bit: $bit, keeps: $keeps },)*
        ];

        /// The names of the features, in the order of the table, each with a blank after it. (As separate constants, many names would have 4 or 8
        /// bytes. Compilers put all constants of 4 bytes into one section, and all of 8 bytes into another, so the linker could not leave out unused
        /// ones.)
        const NAMES: &str = concat!($(stringify!($name), " ",)*);
    };
}

/// A feature. `cpuid` reports it in one bit (Intel SDM volume 2, `CPUID`). `keeps` has the bits of XCR0 that are set if the system saves the
/// feature's registers for each thread.
struct Feature {
    leaf: u32,
    number: u8,
    register: u8,
    bit: u8,
    keeps: u8,
}

// Number, name, leaf, register, bit, bits of XCR0. A number never changes, because one process can contain several versions of the library.
features! {
    1 sse3: 0x1 ECX 0 0x0,
    2 pclmulqdq: 0x1 ECX 1 0x0,
    3 ssse3: 0x1 ECX 9 0x0,
    4 fma: 0x1 ECX 12 0x6,
    5 cmpxchg16b: 0x1 ECX 13 0x0,
    6 sse4_1: 0x1 ECX 19 0x0,
    7 sse4_2: 0x1 ECX 20 0x0,
    8 movbe: 0x1 ECX 22 0x0,
    9 popcnt: 0x1 ECX 23 0x0,
    10 aes: 0x1 ECX 25 0x0,
    11 avx: 0x1 ECX 28 0x6,
    12 f16c: 0x1 ECX 29 0x6,
    13 rdrand: 0x1 ECX 30 0x0,
    14 fsgsbase: 0x7 EBX 0 0x0,
    15 bmi1: 0x7 EBX 3 0x0,
    16 avx2: 0x7 EBX 5 0x6,
    17 bmi2: 0x7 EBX 8 0x0,
    18 erms: 0x7 EBX 9 0x0,
    19 avx512f: 0x7 EBX 16 0xe6,
    20 avx512dq: 0x7 EBX 17 0xe6,
    21 rdseed: 0x7 EBX 18 0x0,
    22 adx: 0x7 EBX 19 0x0,
    23 clflushopt: 0x7 EBX 23 0x0,
    24 clwb: 0x7 EBX 24 0x0,
    25 avx512cd: 0x7 EBX 28 0xe6,
    26 sha: 0x7 EBX 29 0x0,
    27 avx512bw: 0x7 EBX 30 0xe6,
    28 avx512vl: 0x7 EBX 31 0xe6,
    29 gfni: 0x7 ECX 8 0x0,
    30 vaes: 0x7 ECX 9 0x6,
    31 vpclmulqdq: 0x7 ECX 10 0x6,
    32 rdpid: 0x7 ECX 22 0x0,
    33 movdiri: 0x7 ECX 27 0x0,
    34 movdir64b: 0x7 ECX 28 0x0,
    35 fsrm: 0x7 EDX 4 0x0,
    36 serialize: 0x7 EDX 14 0x0,
    37 lzcnt: 0x80000001 ECX 5 0x0,
    38 prefetchw: 0x80000001 ECX 8 0x0,
    39 rdtscp: 0x80000001 EDX 27 0x0,
}

/// The features of this processor: one bit for each. Bit 0 is set once the processor has been asked.
static PRESENT: AtomicU64 = AtomicU64::new(0);

/// Whether the processor has the feature with this number. Every processor has feature 0. No processor has a feature whose number this
/// version of the library does not know.
pub(crate) fn is_present(number: u32) -> bool {
    let mut present = PRESENT.load(Ordering::Relaxed);
    if present == 0 {
        present = ask();
        PRESENT.store(present, Ordering::Relaxed);
    }
    present.checked_shr(number).is_some_and(|bits| bits & 1 != 0)
}

/// The number of the feature with this name; `None` if the table does not have it.
pub(crate) fn number(name: &[u8]) -> Option<u32> {
    let names = NAMES.as_bytes().split(|&byte| byte == b' ');
    names.zip(FEATURES).find(|(known, _)| *known == name).map(|(_, feature)| feature.number.into())
}

fn ask() -> u64 {
    let state = state();
    let mut present = 1;
    for feature in FEATURES {
        let has_bit = word(feature.leaf, feature.register) >> feature.bit & 1 != 0;
        let keeps = u32::from(feature.keeps);
        present |= u64::from(has_bit && state & keeps == keeps) << feature.number;
    }
    present
}

#[allow(unused_unsafe)] // `cpuid` is safe in newer compilers.
fn word(leaf: u32, register: u8) -> u32 {
    // SAFETY: every x86-64 processor has the instruction.
    let most = unsafe { __cpuid(leaf & 0x8000_0000) }.eax;
    if most < leaf {
        return 0;
    }
    // SAFETY: every x86-64 processor has the instruction, and this processor has the leaf.
    let found = unsafe { __cpuid_count(leaf, 0) };
    [found.ecx, found.edx, found.ebx][usize::from(register)]
}

/// The low word of XCR0: the bits of the registers that the system saves for each thread. 0 if the system has not enabled `xsave`, and so saves no
/// registers beyond SSE.
#[allow(unused_unsafe)]
fn state() -> u32 {
    const OSXSAVE: u32 = 27;
    if word(1, ECX) >> OSXSAVE & 1 == 0 {
        return 0;
    }
    let low: u32;
    // SAFETY: the instruction is allowed because OSXSAVE is set.
    unsafe { core::arch::asm!("xgetbv", in("ecx") 0, out("eax") low, out("edx") _, options(nomem, nostack)) };
    low
}

const _: () = assert!(FEATURES.len() < 64);

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;

    /// `is_present` agrees with the standard library about each feature that both know.
    #[test]
    fn as_std_says() {
        macro_rules! same {
            ($($name:tt)*) => {$(
                assert_eq!(is_present(number($name.as_bytes()).unwrap()), std::is_x86_feature_detected!($name), $name);
            )*};
        }
        same! {
            "sse3" "pclmulqdq" "ssse3" "fma" "cmpxchg16b" "movbe" "popcnt" "aes" "avx" "f16c" "rdrand" "bmi1" "avx2" "bmi2" "avx512f"
            "avx512dq" "rdseed" "adx" "avx512cd" "sha" "avx512bw" "avx512vl" "gfni" "vaes" "vpclmulqdq" "lzcnt"
        }
        assert!(is_present(0) && !is_present(63) && !is_present(64) && !is_present(1000));
    }

    #[test]
    fn numbers() {
        assert!(FEATURES.iter().map(|feature| feature.number).eq(1..=39));
        let names = NAMES.split_terminator(' ');
        assert!(names.zip(1..=39).all(|(name, feature)| number(name.as_bytes()) == Some(feature)));
        assert_eq!(["sse3", "rdtscp"].map(|name| number(name.as_bytes())), [Some(1), Some(39)]);
        assert!(["coffee", "", "sse3 ", "sse3 pclmulqdq"].iter().all(|name| number(name.as_bytes()).is_none()));
    }
}
