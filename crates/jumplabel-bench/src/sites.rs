//! Functions with one site each, by the thousand: as the compiler would emit them, but written in assembler, so that their
//! number and their distance are chosen.
//!
//! ```text
//!   SYMBOL + n * apart:   site        5 bytes, first state as given
//!                         xor eax, eax; ret       falls through: 0
//!                         mov eax, 1; ret         jumps: 1
//! ```
//!
//! With a key, each site has an entry in `__jump_table`, tied to the code by link order as the library's own are. The
//! first page of the functions, and the page behind the last, hold nothing else.

/// Emits `$count` functions, `$apart` bytes from one to the next, under the symbol `$symbol`. Site number n belongs to the
/// key `$keys_apart * n` bytes into `$key`; without a key there are no entries.
macro_rules! site_functions {
    ($symbol:literal, $count:literal, $apart:literal, nop $(, $key:path, $keys_apart:literal)?) => {
        $crate::sites::site_functions!(@ $symbol, $count, $apart, ".byte 0x0f, 0x1f, 0x44, 0, 0" $(, $key, $keys_apart)?);
    };
    ($symbol:literal, $count:literal, $apart:literal, test) => {
        $crate::sites::site_functions!(@ $symbol, $count, $apart, ".byte 0xa9\n.long 2f - . - 4");
    };
    // Checks of a naked key in the place of sites: calls of its function.
    ($symbol:literal, $count:literal, $apart:literal, naked $function:literal) => {
        $crate::sites::site_functions!(@ $symbol, $count, $apart, concat!("call ", $function, "\ntest eax, eax\njne 2f"));
    };
    (@ $symbol:literal, $count:literal, $apart:literal, $first:expr $(, $key:path, $keys_apart:literal)?) => {
        core::arch::global_asm!(
            concat!(".pushsection .text.", $symbol, ", \"ax\", @progbits"),
            ".balign 4096",
            concat!(".globl ", $symbol),
            concat!(".hidden ", $symbol),
            concat!($symbol, ":"),
            concat!(".set .Lnumber_", $symbol, ", 0"),
            concat!(".rept ", $count),
            concat!(".balign ", $apart, ", 0xcc"),
            "1:",
            $first,
            "xor eax, eax",
            "ret",
            "2:",
            "mov eax, 1",
            "ret",
            $(
                concat!(".pushsection __jump_table, \"ao\", @progbits, ", $symbol),
                ".balign 4",
                ".long 1b - .",
                ".long 2b - .",
                concat!(".long {key} + ", $keys_apart, " * .Lnumber_", $symbol, " - ."),
                ".long 0",
                ".popsection",
            )?
            concat!(".set .Lnumber_", $symbol, ", .Lnumber_", $symbol, " + 1"),
            ".endr",
            ".balign 4096, 0xcc",
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
    /// Runs number `at`: whether its site jumped.
    #[inline]
    pub fn call(&self, at: usize) -> bool {
        assert!(at < self.count);
        // SAFETY: one of the functions that the macro emits, which touch nothing but eax and the flags.
        let function: extern "C" fn() -> u32 = unsafe { std::mem::transmute(self.first + at * self.apart) };
        function() != 0
    }
}

/// What the programs that `startup` measures do: run one site, and, where there is an argument, wait for the end of their
/// input so that they can be looked at.
#[allow(dead_code)] // Used by them only.
pub fn run_one_and_wait(sites: &Functions) -> std::process::ExitCode {
    let jumped = sites.call(sites.count / 2);
    if std::env::args_os().len() > 1 {
        println!("ready");
        let _ = std::io::stdin().read_line(&mut String::new());
    }
    if jumped { std::process::ExitCode::FAILURE } else { std::process::ExitCode::SUCCESS }
}
