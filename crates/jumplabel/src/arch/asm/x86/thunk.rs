//! The code that keeps registers for the backend of an open arm on x86-64.
//!
//! A C function may write x87, SSE, AVX and AVX-512. `xsave` and `xrstor` keep all of that, and take some hundred cycles; to move as
//! many registers by ordinary instructions takes a tenth. `xgetbv` with ecx = 1 tells which components are in use (XINUSE); a component
//! that is not holds its initial values (Intel SDM volume 1, 13.6; AMD64 APM volume 2, 11.5).
//!
//! ```text
//!  in use before the call          kept by                  after the call
//!  SSE                             movups                   ┐ what else is in use now becomes initial again by xrstor,
//!  SSE, opmask, zmm16 to zmm31     movups, vmovups, kmovq   ┘ which is skipped if nothing is
//!  x87, upper halves, any other    xsave                    xrstor
//!  (a processor without xsave)     fxsave                   fxrstor
//! ```
//!
//! * Opmask and zmm16 to zmm31 have a row of their own because C libraries use them in `strlen` and the like, and `vzeroupper` does not
//!   clear them: with AVX-512 a program has them in use from its first function on.
//! * Upper halves of ymm and zmm0 to zmm15 go to `xsave`. They are seldom in use at a call: compilers put `vzeroupper` in
//!   front of calls and returns.
//! * A processor may say "in use" of a component that is initial. That is slower, and as correct. Components that we do not know (AMX,
//!   later ones) go to `xsave`, too, which does not keep them.
//! * SSE, with MXCSR, is always kept, whatever XINUSE says: that takes less time than to ask.
//! * XINUSE may change between the two looks, if the system switches threads or a signal comes; the values do not, and only they count.
//!
//! The area on the stack, of at most 2,688 bytes for these components (SDM volume 1, 13.5). By hand only MXCSR and the header are where
//! `xrstor` looks for them: it loads MXCSR with AVX, too, and with a header of zeros it reads nothing else.
//!
//! ```text
//!  0          24      160            512      576          640                1664
//!  | (x87)    | MXCSR | xmm0 to 15   | header | k0 to 7    | zmm16 to 31      |          by hand
//! ```

use core::sync::atomic::AtomicU32;

/// The components that are kept (0xe7), of those that the system has enabled, and [`BY_HAND`]; or [`NONE`]. 0 until the first call, of each
/// instance of the library. Asked once: a hypervisor answers slowly.
static KEPT: AtomicU32 = AtomicU32::new(0);

/// A sign: the processor has no `xsave`.
const NONE: u32 = 1 << 31;

/// The number of the bit that is set if XINUSE can be read, and all of [`MOVED`] moved. To `xsave` it says nothing.
const BY_HAND: u32 = 30;

/// Opmask, and zmm16 to zmm31.
const WIDE: u32 = 1 << 5 | 1 << 7;

/// What may be in use if registers are kept by hand: SSE, `WIDE`, and the protection keys (bit 9), which no function writes by the way.
const MOVED: u32 = 1 << 1 | WIDE | 1 << 9;

/// What is kept by hand, as ebx says it: what must be initial after the call.
const NARROW: u32 = 1 << BY_HAND | 0xe7 & !(1 << 1);

/// The line for each `i`: of the opmask registers; of xmm0 to xmm15; of zmm16 to zmm31.
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

/// Calls the function in rax with what lies behind the return address and a word more, up to six words, and puts what it returns into the
/// first of them. Keeps all registers but rax and the flags. During the call ebx says how: as [`KEPT`] without `BY_HAND`, or as [`NARROW`]
/// with or without `WIDE`.
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
        // Not by hand: before the call, and after it.
        "61: mov eax,ebx\nxor edx,edx\nxsave64 [rsp]\njmp 4b\n62: fxsave64 [rsp]\njmp 4b",
        "71: mov eax,ebx\nxor edx,edx\nxrstor64 [rsp]\njmp 5b\n72: fxrstor64 [rsp]\njmp 5b",
        // The first call: whether the system has enabled `xsave` (OSXSAVE), and for what; XGETBV1; for kmovq, AVX-512BW.
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
