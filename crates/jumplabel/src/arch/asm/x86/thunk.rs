//! The code that preserves registers on x86-64 when an open arm calls its backend's function.
//!
//! A C function may write x87, SSE, AVX and AVX-512. `xsave` and `xrstor` preserve all of these, and take some hundred cycles. Ordinary instructions
//! take a tenth of that time for the same number of registers. `xgetbv` with ecx = 1 says which components (groups of registers) are in use (XINUSE).
//! A component that is not in use holds its initial values (Intel SDM volume 1, 13.6; AMD64 APM volume 2, 11.5).
//!
//! ```text
//!  in use before the call          kept by                  after the call
//!  SSE                             movups                   ┐ xrstor makes all other components initial again
//!  SSE, opmask, zmm16 to zmm31     movups, vmovups, kmovq   ┘ that are in use now; skipped if none is
//!  x87, upper halves, any other    xsave                    xrstor
//!  (a processor without xsave)     fxsave                   fxrstor
//! ```
//!
//! * Opmask and zmm16 to zmm31 have a row of their own because C libraries use them in functions like `strlen`, and `vzeroupper` does not clear them.
//!   So on a processor with AVX-512, these registers are in use from the program's first function on.
//! * The upper halves of ymm, and of zmm0 to zmm15, are kept by `xsave`. These halves are seldom in use at a call, because compilers put `vzeroupper`
//!   in front of calls and returns.
//! * A processor may report "in use" for a component that holds its initial values. The code is then slower, but still correct. If a component that
//!   this code does not know is in use (AMX, later ones), the code also uses `xsave`, but does not keep that component.
//! * SSE, with MXCSR, is always kept, whatever XINUSE says: keeping SSE takes less time than asking.
//! * XINUSE may change between the read before the call and the read after it, if the system switches threads or a signal comes. The values do
//!   not change, and only the values count.
//!
//! The area on the stack has at most 2,688 bytes for these components (SDM volume 1, 13.5). If ordinary instructions keep the registers ("by hand"),
//! only MXCSR and the header are where `xrstor` looks for them. That is enough: if the header is all zeros, `xrstor` reads nothing else, but loads
//! MXCSR for AVX, too.
//!
//! ```text
//!  0          24      160            512      576          640                1664
//!  | (x87)    | MXCSR | xmm0 to 15   | header | k0 to 7    | zmm16 to 31      |          by hand
//! ```

use core::sync::atomic::AtomicU32;

/// The way in which `__op_thunk` keeps registers: the bits of the components that the system has enabled, as far as they are in 0xe7, and possibly
/// the bit [`BY_HAND`]; or only [`NONE`]. 0 until the first call in this instance of the library. The code asks the processor only once, because a
/// hypervisor answers slowly.
static KEPT: AtomicU32 = AtomicU32::new(0);

/// A value of [`KEPT`]: the processor has no `xsave`.
const NONE: u32 = 1 << 31;

/// The number of a bit of [`KEPT`]. The bit is set if XINUSE can be read, and ordinary instructions can save all registers in [`MOVED`]. `xsave`
/// ignores this bit.
const BY_HAND: u32 = 30;

/// The components opmask and zmm16 to zmm31.
const WIDE: u32 = 1 << 5 | 1 << 7;

/// The components that can be in use if registers are kept by hand: SSE, `WIDE`, and the protection keys (bit 9), which no ordinary function
/// writes.
const MOVED: u32 = 1 << 1 | WIDE | 1 << 9;

/// The value in ebx if registers are kept by hand: the bit `BY_HAND`, and the components that must be in their initial state after the
/// call.
const NARROW: u32 = 1 << BY_HAND | 0xe7 & !(1 << 1);

/// Each of these macros repeats `$line` for each `i`: the first for the opmask registers, the next for xmm0 to xmm15, the last for zmm16 to
/// zmm31.
macro_rules! each_mask {
    ($line:literal) => {
        concat!(".irp i,0,1,2,3,4,5,6,7\n", $line, "\n.endr")
    };
}
macro_rules! each_low {
    ($line:literal) => {
        concat!(".irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n", $line, "\n.endr")
    };
}
macro_rules! each_high {
    ($line:literal) => {
        concat!(".irp i,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n", $line, "\n.endr")
    };
}

/// Calls the function whose address is in rax. The stack holds the return address, one more word, and above these the arguments of the function, up
/// to six words. Stores the function's result in the word of the first argument. Keeps all registers except rax and the flags. During the call, ebx
/// says how registers are kept: it is [`KEPT`] without `BY_HAND`, or [`NARROW`] with or without `WIDE`.
#[doc(hidden)]
#[unsafe(naked)]
pub unsafe extern "C" fn __op_thunk() {
    core::arch::naked_asm!(
        ".cfi_startproc\npush rbp\n.cfi_def_cfa_offset 16\n.cfi_offset rbp,-16\nmov rbp,rsp\n.cfi_def_cfa_register rbp",
        "push rcx\npush rdx\npush rsi\npush rdi\npush r8\npush r9\npush r10\npush r11\npush rbx\n.cfi_offset rbx,-88",
        "mov r11,rax\nsub rsp,2688\nand rsp,-64",
        "mov ebx,dword ptr [rip+{kept}]\n2: test ebx,ebx\njz 8f\njs 62f",
        "xor edx,edx",
        "mov [rsp+512],rdx\nmov [rsp+520],rdx\nmov [rsp+528],rdx\nmov [rsp+536],rdx",
        "mov [rsp+544],rdx\nmov [rsp+552],rdx\nmov [rsp+560],rdx\nmov [rsp+568],rdx",
        "btr ebx,{by_hand}\njnc 61f\nmov ecx,1\nxgetbv\ntest eax,{not_moved}\njnz 61f",
        "mov ebx,{narrow}\ntest eax,{wide}\njz 3f",
        concat!("and ebx,{not_wide}\nlea rax,[rsp+640]\n", each_high!("vmovups [rax+64*(\\i-16)],zmm\\i")),
        each_mask!("kmovq [rax+8*\\i-64],k\\i"),
        concat!("3: stmxcsr [rsp+24]\nlea rax,[rsp+288]\n", each_low!("movups [rax+16*\\i-128],xmm\\i")),
        "4: mov rdi,[rbp+24]\nmov rsi,[rbp+32]\nmov rdx,[rbp+40]\nmov rcx,[rbp+48]\nmov r8,[rbp+56]\nmov r9,[rbp+64]",
        "call r11\nmov [rbp+24],rax",
        "test ebx,ebx\njs 72f\nbt ebx,{by_hand}\njnc 71f\nmov ecx,1\nxgetbv",
        "and eax,ebx\njz 3f\nxor edx,edx\nxrstor64 [rsp]\n3: test ebx,{wide}\njnz 3f",
        concat!("lea rax,[rsp+640]\n", each_high!("vmovups zmm\\i,[rax+64*(\\i-16)]")),
        each_mask!("kmovq k\\i,[rax+8*\\i-64]"),
        concat!("3: ldmxcsr [rsp+24]\nlea rax,[rsp+288]\n", each_low!("movups xmm\\i,[rax+16*\\i-128]")),
        "5: lea rsp,[rbp-72]",
        "pop rbx\npop r11\npop r10\npop r9\npop r8\npop rdi\npop rsi\npop rdx\npop rcx",
        ".cfi_remember_state\npop rbp\n.cfi_def_cfa rsp,8\nret\n.cfi_restore_state",
        // If registers are not kept by hand: before the call (labels 61, 62), and after the call (71, 72).
        "61: mov eax,ebx\nxor edx,edx\nxsave64 [rsp]\njmp 4b\n62: fxsave64 [rsp]\njmp 4b",
        "71: mov eax,ebx\nxor edx,edx\nxrstor64 [rsp]\njmp 5b\n72: fxrstor64 [rsp]\njmp 5b",
        // The first call asks the processor three things: whether the system has enabled `xsave` (OSXSAVE), and for which components; whether
        // there is XGETBV1; and, for kmovq, whether there is AVX-512BW.
        "8: mov eax,1\ncpuid\nmov r8d,{none}\nbt ecx,27\njnc 3f",
        "xor ecx,ecx\nxgetbv\nmov r8d,eax\nand r8d,0xe7",
        "xor eax,eax\ncpuid\ncmp eax,0xd\njb 3f\nmov eax,0xd\nmov ecx,1\ncpuid\nbt eax,2\njnc 3f",
        "test r8d,{wide}\njz 9f\nmov eax,7\nxor ecx,ecx\ncpuid\nbt ebx,30\njnc 3f\n9: bts r8d,{by_hand}",
        "3: mov ebx,r8d\nmov dword ptr [rip+{kept}],ebx\njmp 2b\n.cfi_endproc",
        kept = sym KEPT,
        none = const NONE,
        by_hand = const BY_HAND,
        narrow = const NARROW,
        wide = const WIDE,
        not_wide = const !WIDE,
        not_moved = const !MOVED,
    )
}
