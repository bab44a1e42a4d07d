//! Makes thousands of functions with one site each. The functions are like compiled code, but they are written in assembler, so that their number and
//! their distance can be chosen.
//!
//! ```text
//!   SYMBOL + n * apart:   site            first state as given
//!                         return 0        falls through
//!                         return 1        jumps
//! ```
//!
//! With a key, each site has an entry in `__jump_table`. The entries have the link order of the code, as the library's own entries have. The pages of
//! the functions contain nothing else.

/// The instructions of such a function on this instruction set. On x86-64, a primed site that is off is a `test`; on others it is a nop.
#[cfg(target_arch = "x86_64")]
macro_rules! site_code {
    (nop) => {
        ".byte 0x0f, 0x1f, 0x44, 0, 0"
    };
    (test) => {
        ".byte 0xa9\n.long 2f - . - 4"
    };
    (returns) => {
        "xor eax, eax\nret\n2:\nmov eax, 1\nret"
    };
}
#[cfg(target_arch = "aarch64")]
macro_rules! site_code {
    (nop) => {
        "nop"
    };
    (test) => {
        "nop"
    };
    (returns) => {
        "mov w0, #0\nret\n2:\nmov w0, #1\nret"
    };
}
#[cfg(target_arch = "riscv64")]
macro_rules! site_code {
    (nop) => {
        ".option push\n.option norvc\nnop\n.option pop"
    };
    (test) => {
        $crate::sites::site_code!(nop)
    };
    (returns) => {
        ".option push\n.option norvc\nli a0, 0\nret\n2:\nli a0, 1\nret\n.option pop"
    };
}
pub(crate) use site_code;

/// Emits `$count` functions under the symbol `$symbol`. The distance from one to the next is `$apart` bytes, but at least [`Functions::DENSE`]. Site
/// number n belongs to the key that is `$keys_apart * n` bytes after `$key`. Without a key, there are no entries in the table.
macro_rules! site_functions {
    ($symbol:literal, $count:literal, $apart:literal, nop $(, $key:path, $keys_apart:literal)?) => {
        $crate::sites::site_functions!(@ $symbol, $count, $apart, $crate::sites::site_code!(nop) $(, $key, $keys_apart)?);
    };
    ($symbol:literal, $count:literal, $apart:literal, test) => {
        $crate::sites::site_functions!(@ $symbol, $count, $apart, $crate::sites::site_code!(test));
    };
    // The functions have checks of a naked key instead of sites: calls of its function.
    ($symbol:literal, $count:literal, $apart:literal, naked $function:literal) => {
        $crate::sites::site_functions!(@ $symbol, $count, $apart, concat!("call ", $function, "\ntest eax, eax\njne 2f"));
    };
    (@ $symbol:literal, $count:literal, $apart:literal, $first:expr $(, $key:path, $keys_apart:literal)?) => {
        core::arch::global_asm!(
            concat!(".pushsection .text.", $symbol, ", \"ax\", %progbits"),
            ".balign 4096",
            concat!(".globl ", $symbol),
            concat!(".hidden ", $symbol),
            concat!($symbol, ":"),
            concat!(".set .Lnumber_", $symbol, ", 0"),
            concat!(".rept ", $count),
            concat!(".balign ", $apart),
            "1:",
            $first,
            $crate::sites::site_code!(returns),
            $(
                concat!(".pushsection __jump_table, \"ao\", %progbits, ", $symbol),
                ".balign 4",
                ".long 1b - .",
                ".long 2b - .",
                concat!(".long {key} + ", $keys_apart, " * .Lnumber_", $symbol, " - ."),
                ".long 0",
                ".popsection",
            )?
            concat!(".set .Lnumber_", $symbol, ", .Lnumber_", $symbol, " + 1"),
            ".endr",
            ".balign 4096",
            ".popsection",
            $(key = sym $key,)?
        );
    };
}
pub(crate) use site_functions;

/// The functions under one symbol.
#[derive(Clone, Copy)]
pub struct Functions {
    pub first: usize,
    pub count: usize,
    pub apart: usize,
}

impl Functions {
    /// The least number of bytes from one function to the next. With `$apart` 16, the functions have this distance.
    #[allow(dead_code)] // Only one program uses it.
    pub const DENSE: usize = if cfg!(target_arch = "x86_64") { 16 } else { 32 };

    /// Runs function number `at`. Returns whether its site jumped.
    #[inline]
    pub fn call(&self, at: usize) -> bool {
        assert!(at < self.count);
        // SAFETY: the address is that of a function that the macro emits. Such a function changes only the result and the flags.
        let function: extern "C" fn() -> u32 = unsafe { std::mem::transmute(self.first + at * self.apart) };
        function() != 0
    }
}

/// The work of the two programs that `startup` measures. They run one site. With an argument, they then wait for the end of their input, so that
/// their memory can be read.
#[allow(dead_code)] // Only these programs use it.
pub fn run_one_and_wait(sites: &Functions) -> std::process::ExitCode {
    let jumped = sites.call(sites.count / 2);
    if std::env::args_os().len() > 1 {
        println!("ready");
        let _ = std::io::stdin().read_line(&mut String::new());
    }
    if jumped { std::process::ExitCode::FAILURE } else { std::process::ExitCode::SUCCESS }
}
