//! Features of x86-64 processors, by the names that rustc has for them, or Linux.

use core::arch::x86_64::{__cpuid, __cpuid_count};
use core::sync::atomic::{AtomicU64, Ordering};

/// The number of a feature, as an alternative's arm has it. A number stays what it is: several versions of the library may be in a process.
#[doc(hidden)]
#[macro_export]
macro_rules! __alternative_feature {
    (sse3) => {
        1
    };
    (pclmulqdq) => {
        2
    };
    (ssse3) => {
        3
    };
    (fma) => {
        4
    };
    (cmpxchg16b) => {
        5
    };
    (sse4_1) => {
        6
    };
    (sse4_2) => {
        7
    };
    (movbe) => {
        8
    };
    (popcnt) => {
        9
    };
    (aes) => {
        10
    };
    (avx) => {
        11
    };
    (f16c) => {
        12
    };
    (rdrand) => {
        13
    };
    (fsgsbase) => {
        14
    };
    (bmi1) => {
        15
    };
    (avx2) => {
        16
    };
    (bmi2) => {
        17
    };
    (erms) => {
        18
    };
    (avx512f) => {
        19
    };
    (avx512dq) => {
        20
    };
    (rdseed) => {
        21
    };
    (adx) => {
        22
    };
    (clflushopt) => {
        23
    };
    (clwb) => {
        24
    };
    (avx512cd) => {
        25
    };
    (sha) => {
        26
    };
    (avx512bw) => {
        27
    };
    (avx512vl) => {
        28
    };
    (gfni) => {
        29
    };
    (vaes) => {
        30
    };
    (vpclmulqdq) => {
        31
    };
    (rdpid) => {
        32
    };
    (movdiri) => {
        33
    };
    (movdir64b) => {
        34
    };
    (fsrm) => {
        35
    };
    (serialize) => {
        36
    };
    (lzcnt) => {
        37
    };
    (prefetchw) => {
        38
    };
    (rdtscp) => {
        39
    };
}

const ECX: usize = 0;
const EDX: usize = 1;
const EBX: usize = 2;

/// By their numbers, from 1 on: the name; where `cpuid` has it (leaf, register, bit; Intel SDM volume 2, `CPUID`); and the bits of XCR0 that
/// tell that the system keeps its registers.
const FEATURES: &[(&str, u32, usize, u32, u32)] = &[
    ("sse3", 0x1, ECX, 0, 0x0),
    ("pclmulqdq", 0x1, ECX, 1, 0x0),
    ("ssse3", 0x1, ECX, 9, 0x0),
    ("fma", 0x1, ECX, 12, 0x6),
    ("cmpxchg16b", 0x1, ECX, 13, 0x0),
    ("sse4_1", 0x1, ECX, 19, 0x0),
    ("sse4_2", 0x1, ECX, 20, 0x0),
    ("movbe", 0x1, ECX, 22, 0x0),
    ("popcnt", 0x1, ECX, 23, 0x0),
    ("aes", 0x1, ECX, 25, 0x0),
    ("avx", 0x1, ECX, 28, 0x6),
    ("f16c", 0x1, ECX, 29, 0x6),
    ("rdrand", 0x1, ECX, 30, 0x0),
    ("fsgsbase", 0x7, EBX, 0, 0x0),
    ("bmi1", 0x7, EBX, 3, 0x0),
    ("avx2", 0x7, EBX, 5, 0x6),
    ("bmi2", 0x7, EBX, 8, 0x0),
    ("erms", 0x7, EBX, 9, 0x0),
    ("avx512f", 0x7, EBX, 16, 0xe6),
    ("avx512dq", 0x7, EBX, 17, 0xe6),
    ("rdseed", 0x7, EBX, 18, 0x0),
    ("adx", 0x7, EBX, 19, 0x0),
    ("clflushopt", 0x7, EBX, 23, 0x0),
    ("clwb", 0x7, EBX, 24, 0x0),
    ("avx512cd", 0x7, EBX, 28, 0xe6),
    ("sha", 0x7, EBX, 29, 0x0),
    ("avx512bw", 0x7, EBX, 30, 0xe6),
    ("avx512vl", 0x7, EBX, 31, 0xe6),
    ("gfni", 0x7, ECX, 8, 0x0),
    ("vaes", 0x7, ECX, 9, 0x6),
    ("vpclmulqdq", 0x7, ECX, 10, 0x6),
    ("rdpid", 0x7, ECX, 22, 0x0),
    ("movdiri", 0x7, ECX, 27, 0x0),
    ("movdir64b", 0x7, ECX, 28, 0x0),
    ("fsrm", 0x7, EDX, 4, 0x0),
    ("serialize", 0x7, EDX, 14, 0x0),
    ("lzcnt", 0x80000001, ECX, 5, 0x0),
    ("prefetchw", 0x80000001, ECX, 8, 0x0),
    ("rdtscp", 0x80000001, EDX, 27, 0x0),
];

/// What the processor has: bit 0 once it was asked, and a bit for each feature.
static PRESENT: AtomicU64 = AtomicU64::new(0);

/// Whether the processor has a feature by its number. 0 is what all have; none has one that is not known here.
pub(crate) fn is_present(number: u32) -> bool {
    let mut present = PRESENT.load(Ordering::Relaxed);
    if present == 0 {
        present = ask();
        PRESENT.store(present, Ordering::Relaxed);
    }
    present.checked_shr(number).is_some_and(|bits| bits & 1 != 0)
}

/// The number of a feature by its name.
pub(super) fn number(name: &str) -> Option<u32> {
    FEATURES.iter().zip(1..).find(|((known, ..), _)| *known == name).map(|(_, number)| number)
}

fn ask() -> u64 {
    let state = state();
    let mut present = 1;
    for ((_, leaf, register, bit, keeps), number) in FEATURES.iter().zip(1..) {
        let has_bit = word(*leaf, *register) >> bit & 1 != 0;
        present |= u64::from(has_bit && state & keeps == *keeps) << number;
    }
    present
}

#[allow(unused_unsafe)] // `cpuid` is safe in newer compilers.
fn word(leaf: u32, register: usize) -> u32 {
    // SAFETY: every x86-64 has the instruction.
    let most = unsafe { __cpuid(leaf & 0x8000_0000) }.eax;
    if most < leaf {
        return 0;
    }
    // SAFETY: the same.
    let found = unsafe { __cpuid_count(leaf, 0) };
    [found.ecx, found.edx, found.ebx][register]
}

/// Which registers the system keeps for each thread: XCR0, or nothing beyond SSE.
#[allow(unused_unsafe)]
fn state() -> u32 {
    const OSXSAVE: u32 = 27;
    if word(1, ECX) >> OSXSAVE & 1 == 0 {
        return 0;
    }
    let low: u32;
    // SAFETY: allowed where OSXSAVE is set.
    unsafe { core::arch::asm!("xgetbv", in("ecx") 0, out("eax") low, out("edx") _, options(nomem, nostack)) };
    low
}

const _: () = assert!(FEATURES.len() < 64);

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;

    /// What the standard library says, of those that it knows by the same name.
    #[test]
    fn as_std_says() {
        macro_rules! same {
            ($($name:tt $feature:ident)*) => {$(
                let found = number($name).unwrap();
                assert_eq!(crate::__alternative_feature!($feature), found, $name);
                assert_eq!(is_present(found), std::is_x86_feature_detected!($name), $name);
            )*};
        }
        same! {
            "sse3" sse3 "pclmulqdq" pclmulqdq "ssse3" ssse3 "fma" fma "cmpxchg16b" cmpxchg16b "movbe" movbe "popcnt" popcnt "aes" aes
            "avx" avx "f16c" f16c "rdrand" rdrand "bmi1" bmi1 "avx2" avx2 "bmi2" bmi2 "avx512f" avx512f "avx512dq" avx512dq "rdseed" rdseed
            "adx" adx "avx512cd" avx512cd "sha" sha "avx512bw" avx512bw "avx512vl" avx512vl "gfni" gfni "vaes" vaes
            "vpclmulqdq" vpclmulqdq "lzcnt" lzcnt
        }
        assert!(is_present(0) && !is_present(63) && !is_present(64) && !is_present(1000));
    }

    /// Each number once, and those of the names that std spells in another way, or does not know.
    #[test]
    fn numbers() {
        let numbers = [
            ("sse3", crate::__alternative_feature!(sse3)),
            ("pclmulqdq", crate::__alternative_feature!(pclmulqdq)),
            ("ssse3", crate::__alternative_feature!(ssse3)),
            ("fma", crate::__alternative_feature!(fma)),
            ("cmpxchg16b", crate::__alternative_feature!(cmpxchg16b)),
            ("sse4_1", crate::__alternative_feature!(sse4_1)),
            ("sse4_2", crate::__alternative_feature!(sse4_2)),
            ("movbe", crate::__alternative_feature!(movbe)),
            ("popcnt", crate::__alternative_feature!(popcnt)),
            ("aes", crate::__alternative_feature!(aes)),
            ("avx", crate::__alternative_feature!(avx)),
            ("f16c", crate::__alternative_feature!(f16c)),
            ("rdrand", crate::__alternative_feature!(rdrand)),
            ("fsgsbase", crate::__alternative_feature!(fsgsbase)),
            ("bmi1", crate::__alternative_feature!(bmi1)),
            ("avx2", crate::__alternative_feature!(avx2)),
            ("bmi2", crate::__alternative_feature!(bmi2)),
            ("erms", crate::__alternative_feature!(erms)),
            ("avx512f", crate::__alternative_feature!(avx512f)),
            ("avx512dq", crate::__alternative_feature!(avx512dq)),
            ("rdseed", crate::__alternative_feature!(rdseed)),
            ("adx", crate::__alternative_feature!(adx)),
            ("clflushopt", crate::__alternative_feature!(clflushopt)),
            ("clwb", crate::__alternative_feature!(clwb)),
            ("avx512cd", crate::__alternative_feature!(avx512cd)),
            ("sha", crate::__alternative_feature!(sha)),
            ("avx512bw", crate::__alternative_feature!(avx512bw)),
            ("avx512vl", crate::__alternative_feature!(avx512vl)),
            ("gfni", crate::__alternative_feature!(gfni)),
            ("vaes", crate::__alternative_feature!(vaes)),
            ("vpclmulqdq", crate::__alternative_feature!(vpclmulqdq)),
            ("rdpid", crate::__alternative_feature!(rdpid)),
            ("movdiri", crate::__alternative_feature!(movdiri)),
            ("movdir64b", crate::__alternative_feature!(movdir64b)),
            ("fsrm", crate::__alternative_feature!(fsrm)),
            ("serialize", crate::__alternative_feature!(serialize)),
            ("lzcnt", crate::__alternative_feature!(lzcnt)),
            ("prefetchw", crate::__alternative_feature!(prefetchw)),
            ("rdtscp", crate::__alternative_feature!(rdtscp)),
        ];
        assert_eq!(numbers.len(), FEATURES.len());
        assert!(numbers.iter().all(|(name, found)| number(name) == Some(*found)));
        assert_eq!(number("coffee"), None);
    }
}
