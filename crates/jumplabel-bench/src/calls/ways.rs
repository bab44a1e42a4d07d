//! The ways to call a function, in three loops with eight calls in each turn. All ways lead to the same function of two instructions, or to a copy of
//! it. The compiler does not know the target in any of them.
//!
//! ```text
//!   latency-bound       x = call(x)           each call waits for the result of the call before it
//!   throughput-bound    call(x)               no call waits for another
//!   beside a hash       x = call(hash(x))     between two calls, the caller hashes a key of eight bytes (FNV-1a)
//! ```

use std::arch::{asm, naked_asm};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use arc_swap::ArcSwap;
use jumplabel::static_call;
use jumplabel_bench_elsewhere::{ELSEWHERE, triple as foreign};

use crate::isa;
use crate::placed::{Loops, PLACEMENTS, begin_at, placements};

/// The number of calls in each turn of a loop.
pub const CALLS_A_TURN: usize = 8;

pub type Function = extern "C" fn(u64) -> u64;

#[unsafe(naked)]
pub extern "C" fn triple(_x: u64) -> u64 {
    naked_asm!(isa::triples!())
}

/// A first target for the measured call. `prepare` then changes the target, so the call has been patched when it is measured.
#[unsafe(naked)]
extern "C" fn another(_x: u64) -> u64 {
    naked_asm!(isa::returns_more!(4))
}

static_call! {
    pub static CALL: Function = another;
    #[cfg(target_arch = "x86_64")]
    pub static LISTED: Function = another;
    #[cfg(target_arch = "x86_64")]
    pub static FAR: Function = triple;
}

/// A pointer to the function, and a table of pointers, for one placement.
#[repr(align(128))]
pub struct Pointers {
    pub one: AtomicUsize,
    pub table: [AtomicUsize; 4],
}

pub static POINTERS: [Pointers; PLACEMENTS] =
    [const { Pointers { one: AtomicUsize::new(0), table: [const { AtomicUsize::new(0) }; 4] } }; PLACEMENTS];
static SWAPPED: LazyLock<ArcSwap<Function>> = LazyLock::new(|| ArcSwap::from_pointee(triple as Function));

trait Triple {
    fn triple(&self, x: u64) -> u64;
}

struct Dynamic;

impl Triple for Dynamic {
    #[inline(never)]
    fn triple(&self, x: u64) -> u64 {
        x.wrapping_mul(3)
    }
}

#[cfg(target_arch = "x86_64")]
// The resolver runs while the program is relocated, so it must not call anything.
std::arch::global_asm!(
    ".pushsection .text.bench_ifunc, \"ax\", @progbits",
    "2: lea rax, [rip + {triple}]",
    "ret",
    ".globl bench_ifunc",
    ".hidden bench_ifunc",
    ".type bench_ifunc, @gnu_indirect_function",
    ".set bench_ifunc, 2b",
    ".popsection",
    triple = sym triple,
);

#[cfg(target_arch = "x86_64")]
unsafe extern "C" {
    safe fn bench_ifunc(x: u64) -> u64;
}

/// The function at an address that `prepare` has stored.
#[inline(always)]
fn function(address: usize) -> Function {
    // SAFETY: the address is that of one of the functions above.
    unsafe { std::mem::transmute(address) }
}

/// Hides from the compiler that the object is the only one that implements its trait.
#[inline(always)]
fn unknown(object: &dyn Triple) -> &dyn Triple {
    // SAFETY: a fat pointer is two words, and both keep their values.
    unsafe {
        let [data, mut table]: [usize; 2] = std::mem::transmute(object);
        asm!("/* {0} */", inout(reg) table, options(nomem, nostack, preserves_flags, pure));
        std::mem::transmute([data, table])
    }
}

macro_rules! eight {
    ($($body:tt)*) => {
        $($body)* $($body)* $($body)* $($body)* $($body)* $($body)* $($body)* $($body)*
    };
}

/// Hashes a short key. This takes at least 16 instructions. Half of them are multiplications, and each waits for the previous one.
#[inline(always)]
fn hash(key: u64) -> u64 {
    let byte = |number: u32| key >> (8 * number) & 0xff;
    (0..8).fold(0xcbf2_9ce4_8422_2325, |hash, number| (hash ^ byte(number)).wrapping_mul(0x100_0000_01b3))
}

macro_rules! ways {
    ($($(#[$when:meta])* $way:ident $name:literal: $latency:ident $throughput:ident $hashing:ident ($x:ident $(, $with:ident = $before:expr)?) $call:expr;)*) => {
        /// The ways, in the order of the report.
        #[derive(Clone, Copy, PartialEq, Debug)]
        pub enum Way { $($(#[$when])* $way),* }

        pub const WAYS: &[Way] = &[$($(#[$when])* Way::$way),*];

        $(
            $(#[$when])*
            #[inline(never)]
            fn $latency<const P: usize>(turns: u64) -> u64 {
                $(let $with = $before;)?
                let mut $x = turns;
                begin_at!(P);
                for _ in 0..turns {
                    eight! { $x = $call; }
                }
                $x
            }

            $(#[$when])*
            #[inline(never)]
            fn $hashing<const P: usize>(turns: u64) -> u64 {
                $(let $with = $before;)?
                let mut $x = turns;
                begin_at!(P);
                for _ in 0..turns {
                    eight! {
                        $x = hash($x);
                        $x = $call;
                    }
                }
                $x
            }

            $(#[$when])*
            #[inline(never)]
            fn $throughput<const P: usize>(turns: u64) -> u64 {
                $(let $with = $before;)?
                let $x = turns;
                begin_at!(P);
                for _ in 0..turns {
                    eight! {
                        let result = $call;
                        // SAFETY: the assembler has no instruction. It only makes the compiler keep the result.
                        unsafe { asm!("/* {0} */", in(reg) result, options(nomem, nostack, preserves_flags)) };
                    }
                }
                $x
            }
        )*

        impl Way {
            pub fn name(self) -> &'static str {
                match self { $($(#[$when])* Way::$way => $name),* }
            }

            /// The latency-bound loop, the throughput-bound loop, and the loop that hashes.
            pub fn loops(self) -> [Loops; 3] {
                match self { $($(#[$when])* Way::$way => [placements!($latency), placements!($throughput), placements!($hashing)]),* }
            }
        }
    };
}

ways! {
    Inlined "inlined": latency_inlined throughput_inlined hashing_inlined (x) {
        let result: u64;
        // SAFETY: the instructions only compute in registers.
        unsafe { asm!(isa::triple!("0", "1"), out(reg) result, in(reg) x, options(nomem, nostack, preserves_flags)) };
        result
    };
    Direct "direct call": latency_direct throughput_direct hashing_direct (x) triple(x);
    #[cfg(target_arch = "x86_64")]
    Listed "static call, at its site": latency_listed throughput_listed hashing_listed (x) LISTED(x);
    Static "static call": latency_static throughput_static hashing_static (x) CALL(x);
    #[cfg(target_arch = "x86_64")]
    Slot "static call, out of reach": latency_slot throughput_slot hashing_slot (x) FAR(x);
    DirectElsewhere "direct call, another crate": latency_direct_elsewhere throughput_direct_elsewhere hashing_direct_elsewhere (x) foreign(x);
    StaticElsewhere "static call, another crate": latency_static_elsewhere throughput_static_elsewhere hashing_static_elsewhere (x) ELSEWHERE(x);
    Pointer "AtomicPtr": latency_pointer throughput_pointer hashing_pointer (x) function(POINTERS[P].one.load(Ordering::Acquire))(x);
    Table "table": latency_table throughput_table hashing_table
        (x, at = std::hint::black_box(2_usize) & 3) function(POINTERS[P].table[at].load(Ordering::Relaxed))(x);
    #[cfg(target_arch = "x86_64")]
    Ifunc "ifunc": latency_ifunc throughput_ifunc hashing_ifunc (x) bench_ifunc(x);
    Dyn "dyn Trait": latency_dyn throughput_dyn hashing_dyn (x) unknown(&Dynamic).triple(x);
    ArcSwap "arc-swap": latency_swap throughput_swap hashing_swap (x, swap = &*SWAPPED) (**swap.load())(x);
}
