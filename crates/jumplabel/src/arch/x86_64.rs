//! x86-64: five bytes; the first one alone decides (Intel SDM volume 2, `JMP`, `TEST`, `NOP`; volume 3, 9.1.3,
//! "Handling self- and cross-modifying code").
//!
//! ```text
//!  pristine   0f 1f 44 00 00   nop                what the compiler emits where the first state falls through
//!  primed     a9 rel32         test eax, imm32    falls through; the displacement sits in the immediate
//!  jump       e9 rel32         jmp rel32
//! ```
//!
//! primed <-> jump is one byte: it cannot tear. From and to pristine, everything passes through `a9`, under which the
//! four bytes behind it are an immediate that nobody uses, so that they may change one by one:
//!
//! ```text
//!  step 0   opcode := a9       unless it is a9
//!  step 1   tail   := new      unless the tail stays
//!  step 2   opcode := new      unless it is a9
//! ```

use super::Piece;

/// Bytes of a site.
pub const SITE_SIZE: usize = 5;

/// What a site can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum State {
    /// A nop as the compiler emitted it. Falls through.
    Pristine,
    /// `test eax, imm32`. Falls through, and one byte away from a jump.
    Primed,
    /// Between the two, with some bytes of each tail: left behind where a process was copied in mid-flip, or where core
    /// sync was refused in mid-flip. Falls through.
    Priming,
    /// `jmp rel32`.
    Jump,
}

impl State {
    /// Whether execution goes on behind the site.
    #[must_use]
    pub const fn falls_through(self) -> bool {
        !matches!(self, State::Jump)
    }

    /// The state to go to: `self` where it already does what is wanted.
    #[must_use]
    pub const fn toward(self, jump: bool) -> State {
        match (jump, self) {
            (true, _) => State::Jump,
            (false, State::Jump) => State::Primed,
            (false, state) => state,
        }
    }

    /// A word for listings.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            State::Pristine => "nop",
            State::Primed => "test",
            State::Priming => "priming",
            State::Jump => "jmp",
        }
    }

    const fn opcode(self) -> u8 {
        match self {
            State::Pristine => 0x0f,
            State::Primed | State::Priming => TEST,
            State::Jump => 0xe9,
        }
    }

    const fn tail(self, displacement: i32) -> [u8; 4] {
        match self {
            State::Pristine | State::Priming => NOP_TAIL,
            State::Primed | State::Jump => displacement.to_le_bytes(),
        }
    }
}

const TEST: u8 = 0xa9;
const NOP_TAIL: [u8; 4] = [0x1f, 0x44, 0x00, 0x00];

/// The displacement from the site at `address` to `target`, `None` where `jmp rel32` does not reach (2 GiB).
#[must_use]
pub fn displacement(address: usize, target: usize) -> Option<i32> {
    i32::try_from((target as i64).wrapping_sub((address as i64).wrapping_add(SITE_SIZE as i64))).ok()
}

/// The bytes of a site in `state`.
#[must_use]
pub fn encode(state: State, displacement: i32) -> [u8; SITE_SIZE] {
    let tail = state.tail(displacement);
    [state.opcode(), tail[0], tail[1], tail[2], tail[3]]
}

/// The state that `bytes` are, `None` where they are none of ours.
#[must_use]
pub fn decode(bytes: [u8; SITE_SIZE], displacement: i32) -> Option<State> {
    let own = displacement.to_le_bytes();
    match bytes {
        [0x0f, tail @ ..] if tail == NOP_TAIL => Some(State::Pristine),
        [TEST, tail @ ..] if tail == own => Some(State::Primed),
        [TEST, tail @ ..] if (0..4).all(|at| tail[at] == own[at] || tail[at] == NOP_TAIL[at]) => Some(State::Priming),
        [0xe9, tail @ ..] if tail == own => Some(State::Jump),
        _ => None,
    }
}

/// How many steps a change has at most; a core sync follows each.
pub const STEPS: u8 = 3;

/// What step number `step` writes on the way `from` -> `to`, `None` where it has nothing to do.
#[must_use]
#[inline]
pub fn step(step: u8, from: State, to: State, displacement: i32) -> Option<Piece> {
    match step {
        0 if from.opcode() != TEST => Some(opcode(TEST)),
        // Which bytes of a mixed tail are old is not known.
        1 if from == State::Priming || from.tail(displacement) != to.tail(displacement) => Some(tail(to, displacement)),
        2 if to.opcode() != TEST => Some(opcode(to.opcode())),
        _ => None,
    }
}

/// What takes step number `step` back.
#[must_use]
#[inline]
pub fn undo(number: u8, from: State, to: State, displacement: i32) -> Option<Piece> {
    step(number, from, to, displacement).map(|_| match number {
        0 => opcode(from.opcode()),
        1 => tail(from, displacement),
        _ => opcode(TEST),
    })
}

const fn opcode(byte: u8) -> Piece {
    Piece { offset: 0, len: 1, bytes: [byte, 0, 0, 0] }
}

const fn tail(state: State, displacement: i32) -> Piece {
    Piece { offset: 1, len: 4, bytes: state.tail(displacement) }
}

core::arch::global_asm!(
    ".pushsection .text.__jumplabel_canary,\"ax\",@progbits",
    ".balign 16",
    ".globl __jumplabel_canary",
    ".hidden __jumplabel_canary",
    ".type __jumplabel_canary,@function",
    "__jumplabel_canary:",
    ".byte 0x0f, 0x1f, 0x44, 0x00, 0x00",
    "xor eax, eax",
    "ret",
    "mov eax, 1",
    "ret",
    ".size __jumplabel_canary, . - __jumplabel_canary",
    ".popsection",
);

unsafe extern "C" {
    fn __jumplabel_canary() -> u32;
}

/// Runs the canary: whether its site jumped.
#[must_use]
pub(crate) fn canary() -> bool {
    // SAFETY: the function above touches nothing but eax and the flags, in each state of its site.
    unsafe { __jumplabel_canary() != 0 }
}

/// Address of the canary's site.
#[must_use]
pub(crate) fn canary_code() -> usize {
    __jumplabel_canary as *const () as usize
}

/// Address that the canary's site jumps to: behind `xor eax, eax; ret`.
#[must_use]
pub(crate) fn canary_target() -> usize {
    canary_code() + SITE_SIZE + 3
}

/// A site: one instruction, one table entry. `$arm` is what the check yields when execution falls through (likely:
/// true), `$sym` the static that `$place` is or lies in. The site's first instruction is a jump where the key's default
/// differs from `$arm`.
#[doc(hidden)]
#[macro_export]
macro_rules! __site_asm {
    ($arm:expr, $sym:path, $($place:tt)*) => { 'site: {
        // Outside of the unsafe block: the place is the caller's.
        const { let _ = $crate::key::default_of(&$($place)*); }
        #[allow(named_asm_labels, clippy::undocumented_unsafe_blocks)]
        // SAFETY: falls through or jumps to the label; writes nothing but flags.
        unsafe {
            ::core::arch::asm!(
                // Once in each assembler file: the object's record, and a macro for the site and the beginning of its entry,
                // whose section is tied (link order) to the site's by a label that a counter makes unique. The macro also
                // keeps `{target}` to one mention: each would be a label of its own, and an instrumented build (coverage)
                // gives each its own block, so that the jump and the table would name different places.
                ".ifndef .Ljumplabel_sites",
                ".set .Ljumplabel_sites, 0",
                ".macro jumplabel_site number, jump, target",
                ".Ljumplabel_site_\\number\\():",
                ".if \\jump",
                ".byte 0xe9",
                ".long \\target - . - 4",
                ".else",
                ".byte 0x0f, 0x1f, 0x44, 0x00, 0x00",
                ".endif",
                ".pushsection __jump_table,\"ao?\",@progbits,.Ljumplabel_site_\\number",
                ".balign 4",
                ".long .Ljumplabel_site_\\number - .",
                ".long \\target - .",
                ".endm",
                $crate::__object_asm!(),
                $crate::__foreign_asm!(),
                ".endif",
                ".set .Ljumplabel_sites, .Ljumplabel_sites + 1",
                ".altmacro",
                "jumplabel_site %.Ljumplabel_sites, {jump}, {target}",
                ".noaltmacro",
                $crate::__key_word_asm!(),
                ".long {meta}",
                ".popsection",
                target = label { break 'site !$arm },
                key = sym $sym,
                offset = const $crate::site::key_offset(&$($place)*, &$sym),
                jump = const ($crate::key::default_of(&$($place)*) != $arm) as u32,
                meta = const $crate::site::meta($arm, $crate::site::key_offset(&$($place)*, &$sym)),
                options(nostack, nomem),
            );
        }
        $arm
    } };
}

/// The table entry's word for the key: relative to itself, or, for keys in another object, by way of the GOT.
#[cfg(not(jumplabel_dylib))]
#[doc(hidden)]
#[macro_export]
macro_rules! __key_word_asm {
    () => {
        ".long {key} + {offset} - ."
    };
}

/// The key record's word for the key, as in a table entry.
#[cfg(not(jumplabel_dylib))]
#[doc(hidden)]
#[macro_export]
macro_rules! __key_record_word_asm {
    () => {
        ".long {key} - ."
    };
}

/// The key record's word for the key: in a `dylib`, another object's symbol may take precedence.
#[cfg(jumplabel_dylib)]
#[doc(hidden)]
#[macro_export]
macro_rules! __key_record_word_asm {
    () => {
        ".long {key}@GOTPCREL"
    };
}

/// The table entry's word for the key, by way of the GOT: the offset is in the entry's meta word.
#[cfg(jumplabel_dylib)]
#[doc(hidden)]
#[macro_export]
macro_rules! __key_word_asm {
    () => {
        ".long {key}@GOTPCREL + {offset} * 0"
    };
}

/// Marks an object that has keys in other objects: its sites are looked at when it is loaded.
#[cfg(not(jumplabel_dylib))]
#[doc(hidden)]
#[macro_export]
macro_rules! __foreign_asm {
    () => {
        ""
    };
}

/// The mark: a word in a section of its own.
#[cfg(jumplabel_dylib)]
#[doc(hidden)]
#[macro_export]
macro_rules! __foreign_asm {
    () => {
        ".pushsection __jump_foreign, \"aR\", @progbits\n.balign 4\n.long 0\n.popsection"
    };
}

/// Each object calls the copy of this library that is linked into it, whatever other objects export.
#[cfg(not(jumplabel_dylib))]
#[doc(hidden)]
#[macro_export]
macro_rules! __runtime_asm {
    () => {
        ".hidden __jumplabel_register_object\n.hidden __jumplabel_unregister_object\n"
    };
}

/// The copy of this library may be in a Rust `dylib`.
#[cfg(jumplabel_dylib)]
#[doc(hidden)]
#[macro_export]
macro_rules! __runtime_asm {
    () => {
        ""
    };
}

/// The object's record, its constructor and destructor: one of each in an object, whatever the number of files.
#[doc(hidden)]
#[macro_export]
macro_rules! __object_asm {
    () => {
        concat!(
            ".ifndef .Ljumplabel_object\n",
            ".set .Ljumplabel_object, 1\n",
            ".pushsection .text.__jumplabel_object, \"axG\", @progbits, __jumplabel_object, comdat\n",
            ".weak __jumplabel_object_init\n",
            ".hidden __jumplabel_object_init\n",
            $crate::__runtime_asm!(),
            ".type __jumplabel_object_init, @function\n",
            "__jumplabel_object_init:\n",
            "lea rdi, [rip + __jumplabel_object]\n",
            "jmp __jumplabel_register_object@PLT\n",
            ".weak __jumplabel_object_fini\n",
            ".hidden __jumplabel_object_fini\n",
            ".type __jumplabel_object_fini, @function\n",
            "__jumplabel_object_fini:\n",
            "lea rdi, [rip + __jumplabel_object]\n",
            "jmp __jumplabel_unregister_object@PLT\n",
            ".popsection\n",
            ".pushsection .data.__jumplabel_object, \"awG\", @progbits, __jumplabel_object, comdat\n",
            ".weak __jumplabel_object\n",
            ".hidden __jumplabel_object\n",
            ".type __jumplabel_object, @object\n",
            ".weak __start___jump_table\n",
            ".hidden __start___jump_table\n",
            ".weak __stop___jump_table\n",
            ".hidden __stop___jump_table\n",
            ".weak __start___jump_keys\n",
            ".hidden __start___jump_keys\n",
            ".weak __stop___jump_keys\n",
            ".hidden __stop___jump_keys\n",
            ".weak __start___jump_foreign\n",
            ".hidden __start___jump_foreign\n",
            ".weak __stop___jump_foreign\n",
            ".hidden __stop___jump_foreign\n",
            // gold cannot link the bounds of a section that does not exist.
            ".pushsection __jump_keys, \"aR\", @progbits\n",
            ".popsection\n",
            ".pushsection __jump_foreign, \"aR\", @progbits\n",
            ".popsection\n",
            ".weak __ehdr_start\n",
            ".hidden __ehdr_start\n",
            ".balign 8\n",
            "__jumplabel_object:\n",
            ".quad 0, 0, 0, 0\n",
            ".long __start___jump_table - .\n",
            ".long __stop___jump_table - .\n",
            ".long __start___jump_keys - .\n",
            ".long __stop___jump_keys - .\n",
            ".long __start___jump_foreign - .\n",
            ".long __stop___jump_foreign - .\n",
            ".long __ehdr_start - .\n",
            ".long 1\n",
            ".size __jumplabel_object, . - __jumplabel_object\n",
            ".popsection\n",
            ".pushsection .init_array.00000, \"aGwR\", @init_array, __jumplabel_object, comdat\n",
            ".balign 8\n",
            ".quad __jumplabel_object_init\n",
            ".popsection\n",
            ".pushsection .fini_array.00000, \"aGwR\", @fini_array, __jumplabel_object, comdat\n",
            ".balign 8\n",
            ".quad __jumplabel_object_fini\n",
            ".popsection\n",
            ".endif",
        )
    };
}
