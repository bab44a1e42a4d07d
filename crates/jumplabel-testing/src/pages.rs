//! Sites at chosen places: functions with one site each, on pages of their own.
//!
//! ```text
//!   function 0    site of KEYS[0]              each function is a nop and "return 0", followed by the
//!   ...                                        jump's target, "return 1", so that a test can compare
//!   function 1    site of KEYS[1]              what the processor does with the table and the key
//!   ...
//!   function n    site of KEYS[n % keys]
//! ```

use jumplabel::arch::Native;
use jumplabel::{RawKey, StaticKeyFalse};
use jumplabel_format::Arch;

/// The largest page size of this instruction set, in bytes. Functions at multiples of this size are on different pages whatever size the system uses.
pub const PAGE: usize = if cfg!(any(target_arch = "aarch64", target_arch = "powerpc64", target_arch = "loongarch64")) {
    65536
} else {
    4096
};

/// The alignment of a site, in bytes.
pub const ALIGN: usize = if Native::SINGLE_STORE {
    4
} else if cfg!(target_arch = "s390x") {
    2
} else {
    1
};

#[cfg(not(target_arch = "riscv64"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __fixed_asm {
    ($begin_or_end:ident) => {
        ""
    };
}
#[cfg(target_arch = "riscv64")]
#[doc(hidden)]
#[macro_export]
macro_rules! __fixed_asm {
    (begin) => {
        ".option push\n.option norelax"
    };
    (end) => {
        ".option pop"
    };
}
/// Wraps code whose length the linker must not change: on RISC-V, it would shorten some instructions.
pub use __fixed_asm as fixed_asm;

/// The assembler lines that differ between object formats: the section for code, the section of an entry, and the directive for a symbol that only
/// its own object uses.
#[cfg(not(windows))]
#[doc(hidden)]
#[macro_export]
macro_rules! __format_asm {
    (code $name:expr) => {
        concat!(".pushsection ", $name, ", \"ax\", %progbits")
    };
    (function $name:expr) => {
        concat!(".type ", $name, ", %function\n.hidden ", $name)
    };
    (entry) => {
        ".pushsection __jump_table, \"aR\", %progbits"
    };
    (hidden $name:expr) => {
        concat!(".hidden ", $name)
    };
}
#[cfg(windows)]
#[doc(hidden)]
#[macro_export]
macro_rules! __format_asm {
    (code $name:expr) => {
        concat!(".pushsection ", $name, ",\"xr\"")
    };
    (function $name:expr) => {
        ""
    };
    (entry) => {
        ".pushsection .rsrc_jt$m,\"dr\""
    };
    (hidden $name:expr) => {
        ""
    };
}
pub use __format_asm as format_asm;

/// Keys, and functions with their sites.
#[derive(Clone, Copy)]
pub struct Pages {
    /// All keys.
    pub keys: &'static [StaticKeyFalse],
    /// The address of the first function.
    pub code: usize,
    /// The number of functions.
    pub count: usize,
    /// The distance between two functions, in bytes.
    pub stride: usize,
}

impl Pages {
    /// The address of a site, which is the beginning of its function.
    pub fn site(&self, number: usize) -> usize {
        assert!(number < self.count);
        self.code + number * self.stride
    }

    /// Executes the check of a function.
    pub fn check(&self, number: usize) -> bool {
        // SAFETY: the address is that of one of the functions below, and each state of its site is a whole instruction.
        let function: extern "C" fn() -> u32 = unsafe { std::mem::transmute(self.site(number)) };
        function() != 0
    }

    /// Executes all checks. True if each agrees with its key.
    pub fn agree(&self) -> bool {
        (0..self.count).all(|number| self.check(number) == self.keys[number % self.keys.len()].is_enabled())
    }

    /// Executes all checks. True if each says `on`.
    pub fn all(&self, on: bool) -> bool {
        (0..self.count).all(|number| self.check(number) == on)
    }

    /// Flips all keys in one batch.
    pub fn set(&self, on: bool) -> Result<jumplabel::Outcome, jumplabel::Error> {
        self.keys.iter().fold(jumplabel::Batch::new(), |batch, key| batch.set(key, on)).commit()
    }

    /// Turns all keys off, and puts their sites back into the pristine state.
    pub fn restore_pristine(&self) {
        self.set(false).unwrap();
        for key in self.keys {
            jumplabel::restore_pristine(key).unwrap();
        }
    }

    /// The keys, without their types.
    pub fn raw(&self) -> impl Iterator<Item = &'static RawKey> + use<> {
        self.keys.iter().map(|key| -> &RawKey { key })
    }
}

#[doc(hidden)]
#[macro_export]
macro_rules! __pages {
    ($(#[$attr:meta])* $name:ident: $keys:literal keys, $count:literal sites, every $pages:literal pages, at $at:literal) => {
        $(#[$attr])*
        fn $name() -> $crate::pages::Pages {
            mod $name {
                jumplabel::static_key! { pub static KEYS: [false; $keys]; }
                std::arch::global_asm!(
                    $crate::pages::format_asm!(code concat!(".text.pages.", stringify!($name))),
                    $crate::pages::fixed_asm!(begin),
                    ".balign {page}",
                    $crate::pages::format_asm!(function concat!("\"", module_path!(), "\"")),
                    concat!(".globl \"", module_path!(), "\""),
                    ".skip {at}",
                    concat!("\"", module_path!(), "\":"),
                    ".set .Lsite, 0",
                    ".rept {count}",
                    jumplabel::__nop_asm!("2:", "3f"),
                    jumplabel::__return_asm!("0"),
                    "3:",
                    jumplabel::__return_asm!("1"),
                    ".skip {stride} - (. - 2b)",
                    $crate::pages::format_asm!(entry),
                    ".balign 4",
                    ".long 2b - .",
                    ".long 3b - .",
                    ".long {keys} + 8 * (.Lsite % {number}) - .",
                    ".long 0",
                    ".popsection",
                    ".set .Lsite, .Lsite + 1",
                    ".endr",
                    $crate::pages::fixed_asm!(end),
                    ".popsection",
                    keys = sym KEYS,
                    number = const $keys,
                    count = const $count,
                    stride = const $pages * $crate::pages::PAGE,
                    page = const $crate::pages::PAGE,
                    at = const $at / $crate::pages::ALIGN * $crate::pages::ALIGN,
                );
                unsafe extern "C" {
                    #[link_name = module_path!()]
                    pub fn code();
                }
            }
            let stride = $pages * $crate::pages::PAGE;
            $crate::pages::Pages { keys: &$name::KEYS, code: $name::code as *const () as usize, count: $count, stride }
        }
    };
}
/// Declares `fn $name() -> Pages`, with `$keys` keys and `$count` sites. There is a site every `$pages` pages, `$at` bytes after the start of its
/// page.
pub use __pages as pages;
