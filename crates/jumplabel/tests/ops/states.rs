//! The contents that the code around an open arm has in the processor's components (x87, SSE, AVX, AVX-512) are there after the call, whatever is
//! in use before it and whatever the backend writes: the images of `xsave` (or `fxsave`) before and after are compared byte by byte.

use std::arch::asm;
use std::arch::x86_64::__cpuid_count;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use jumplabel::ops;
use jumplabel_testing::scenario::passes;

ops! {
    /// A table of one operation whose backend writes the components that it is told to.
    static WRITTEN: WriteReport = { Native, Called };

    fn operate(at: u64) -> u64 {
        Native => native, x86_64 unsafe { "{{disp32}} lea {ret}, [{at} + 0]" };
        Called => backend;
    }
}

extern "C" fn native(at: u64) -> u64 {
    at
}

/// Numbers of components, and all of them: x87, SSE, AVX, opmask, upper halves of zmm0 to zmm15, zmm16 to zmm31.
const X87: u32 = 1;
const SSE: u32 = 1 << 1;
const AVX: u32 = 1 << 2;
const OPMASK: u32 = 1 << 5;
const UPPER: u32 = 1 << 6;
const HIGH: u32 = 1 << 7;
const ALL: u32 = X87 | SSE | AVX | OPMASK | UPPER | HIGH;

/// The components that the backend writes.
static WRITES: AtomicU32 = AtomicU32::new(0);
/// The components that `xsave` says it has saved, as the backend finds them: none, if the registers were kept by hand.
static SAVED: AtomicU64 = AtomicU64::new(0);

/// A naked function: nobody else writes registers. It leaves another rounding mode, and values in x87, which a compiler's function does not.
#[unsafe(naked)]
extern "C" fn backend(_: u64) -> u64 {
    std::arch::naked_asm!(
        "mov rax, [rsp + 8 + 512]", "mov [rip + {saved}], rax", "mov eax, [rip + {writes}]",
        "test eax, {x87}", "jz 2f", "fldpi", "fldl2e", "fldpi", "push 0x0c7f", "fldcw [rsp]", "pop rcx",
        "2: test eax, {sse}", "jz 2f",
        ".irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\npcmpeqd xmm\\i, xmm\\i\n.endr",
        "push 0x5fa1", "ldmxcsr [rsp]", "pop rcx",
        "2: test eax, {avx}", "jz 2f",
        ".irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\nvinsertf128 ymm\\i, ymm\\i, [rip + {ones}], 1\n.endr",
        "2: test eax, {opmask}", "jz 2f", ".irp i,0,1,2,3,4,5,6,7\nkxnorw k\\i, k\\i, k\\i\n.endr",
        "2: test eax, {upper}", "jz 2f",
        ".irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\nvinsertf64x4 zmm\\i, zmm\\i, [rip + {ones}], 1\n.endr",
        "2: test eax, {high}", "jz 2f",
        ".irp i,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\nvpternlogd zmm\\i, zmm\\i, zmm\\i, 255\n.endr",
        "2: lea rax, [rdi + 1]", "ret",
        saved = sym SAVED, writes = sym WRITES, ones = sym ONES,
        x87 = const X87, sse = const SSE, avx = const AVX, opmask = const OPMASK, upper = const UPPER, high = const HIGH,
    )
}

static ONES: [u8; 32] = [0xff; 32];

/// A function with nothing but the operation.
#[inline(never)]
extern "C" fn operation(at: u64) -> u64 {
    operate(at)
}

/// An area of `xsave`.
#[repr(C, align(64))]
#[derive(Clone)]
struct Image([u8; 4096]);

/// The facts about this processor and system.
struct Machine {
    components: u32,
    /// Whether `xsave` is there and enabled; else `fxsave` makes images of x87 and SSE.
    has_xsave: bool,
    /// The place of each component in an image. SSE has MXCSR, too.
    places: Vec<(u32, std::ops::Range<usize>)>,
    /// Whether XINUSE can be read.
    tells: bool,
    /// Whether opmask registers can be moved whole.
    moves: bool,
}

impl Machine {
    #[allow(unused_unsafe)] // `cpuid` is safe in newer compilers.
    fn this() -> Self {
        // SAFETY: every x86-64 has the instruction, and none of these leaves but has a meaning where it is asked for.
        let leaf = |leaf, sub| unsafe { __cpuid_count(leaf, sub) };
        let has_xsave = leaf(1, 0).ecx >> 27 & 1 != 0;
        let components = if has_xsave { enabled() & ALL } else { X87 | SSE };
        let mut places = vec![(X87, 0..24), (X87, 32..160), (SSE, 24..28), (SSE, 160..416)];
        for component in [2, 5, 6, 7].into_iter().filter(|at| components >> at & 1 != 0) {
            let found = leaf(0xd, component);
            places.push((1 << component, found.ebx as usize..(found.ebx + found.eax) as usize));
        }
        assert!(places.iter().all(|(_, place)| place.end <= size_of::<Image>()));
        let moves = components & OPMASK == 0 || leaf(7, 0).ebx >> 30 & 1 != 0;
        Self { components, places, has_xsave, tells: has_xsave && leaf(0xd, 1).eax >> 2 & 1 != 0, moves }
    }

    /// The components of `state` with values that are not initial, and the others initial. MXCSR is never initial.
    fn image(&self, state: u32) -> Image {
        let mut image = Image([0; 4096]);
        for (component, place) in &self.places {
            if component & state != 0 {
                place.clone().for_each(|at| image.0[at] = (at * 7 + 1) as u8);
            }
        }
        // Rounds to zero, a flag is set; x87: 53 bits, eight values.
        image.0[24..28].copy_from_slice(&0x7f81u32.to_le_bytes());
        image.0[..24].fill(0);
        image.0[..5].copy_from_slice(&[0x7f, 2, 0, 0, 0xff]);
        image.0[512..516].copy_from_slice(&(state & self.components).to_le_bytes());
        image
    }

    /// Components that differ.
    fn differ(&self, [one, other]: &[Image; 2]) -> u32 {
        let differs = |place: &std::ops::Range<usize>| one.0[place.clone()] != other.0[place.clone()];
        self.places.iter().filter(|(_, place)| differs(place)).fold(0, |found, (component, _)| found | component)
    }

    /// Whether the components in use may be kept by hand, together with protection keys, which nobody writes here.
    fn by_hand(&self, in_use: u32) -> bool {
        const KEYS: u32 = 1 << 9;
        self.tells && self.moves && in_use & !(SSE | OPMASK | HIGH | KEYS) == 0
    }
}

/// The components that the system has enabled: XCR0.
fn enabled() -> u32 {
    let low: u32;
    // SAFETY: allowed where OSXSAVE is set.
    unsafe { asm!("xgetbv", in("ecx") 0, out("eax") low, out("edx") _, options(nomem, nostack)) };
    low
}

/// Calls a function with `image` in the components. Returns the components before and after the call, and which were in use before. The stack below
/// is full of ones, which `xrstor` refuses.
#[inline(never)]
fn around(image: &Image, called: extern "C" fn(u64) -> u64, machine: &Machine) -> ([Image; 2], u32) {
    let mut own = Image([0; 4096]);
    let mut seen = [own.clone(), own.clone()];
    let (result, in_use): (u64, u64);
    macro_rules! with {
        ($save:literal, $restore:literal) => {
            asm!(
                "push rbx", "push rbp", "mov rbx, {called}", "mov rbp, rsp", "and rsp, -64", "sub rsp, 64", "mov [rsp], {own}",
                "lea rdi, [rsp - 4096]", "mov ecx, 512", "mov rax, -1", "rep stosq",
                "mov eax, 0xe7", "xor edx, edx", "mov rcx, [rsp]", concat!($save, "[rcx]"), concat!($restore, "[r13]"), concat!($save, "[r14]"),
                "xor eax, eax", "test r12d, r12d", "jz 2f", "mov ecx, 1", "xgetbv", "2: mov r12d, eax",
                "mov edi, 6", "call rbx", "mov r13, rax",
                "mov eax, 0xe7", "xor edx, edx", concat!($save, "[r15]"), "mov rcx, [rsp]", concat!($restore, "[rcx]"),
                "mov rsp, rbp", "pop rbp", "pop rbx",
                called = in(reg) called,
                own = in(reg) &raw mut own,
                inout("r12") u64::from(machine.tells) => in_use,
                inout("r13") &raw const *image => result,
                in("r14") &raw mut seen[0],
                in("r15") &raw mut seen[1],
                clobber_abi("C"),
            )
        };
    }
    // SAFETY: what was in the components before is there again at the end; the stack is as a function wants it.
    unsafe {
        if machine.has_xsave {
            with!("xsave64 ", "xrstor64 ");
        } else {
            with!("fxsave64 ", "fxrstor64 ");
        }
    }
    assert_eq!(result, 7);
    (seen, in_use as u32)
}

/// Visits all pairs of a state and of the components that the backend writes.
fn each(mut body: impl FnMut(&Machine, u32, u32)) {
    let machine = Machine::this();
    let single = (0..8).map(|at| 1 << at).filter(|component| ALL & component != 0);
    let written: Vec<u32> = single.chain([0, ALL]).filter(|component| component & !machine.components == 0).collect();
    assert!(written.len() >= 3);
    for state in [0, SSE, SSE | OPMASK | HIGH, SSE | AVX, SSE | AVX | UPPER, SSE | X87, ALL] {
        if state & !machine.components == 0 {
            written.iter().for_each(|&writes| {
                WRITES.store(writes, Ordering::Relaxed);
                body(&machine, state, writes);
            });
        }
    }
}

#[test]
fn kept() {
    passes(|| {
        WRITTEN.set(WriteReport::Called).unwrap();
        each(|machine, state, writes| {
            let (seen, in_use) = around(&machine.image(state), operation, machine);
            assert!(!machine.tells || in_use & state == state, "{state:#x} is not in use: {in_use:#x}");
            assert_eq!(machine.differ(&seen), 0, "{state:#x}, and {writes:#x} is written");
        });
    });
}

/// The broken twin: without the code that keeps components, each written component is found out.
#[test]
fn broken_twin_keeps_nothing() {
    passes(|| {
        each(|machine, state, writes| {
            let (seen, _) = around(&machine.image(state), backend, machine);
            assert_eq!(machine.differ(&seen) & writes, writes, "{state:#x}");
        });
    });
}

/// Components are kept by hand if few are in use, and by `xsave` otherwise. A processor may say for a moment that more are in use than really are.
#[test]
fn by_hand() {
    passes(|| {
        WRITTEN.set(WriteReport::Called).unwrap();
        each(|machine, state, writes| {
            let as_expected = (0..100).any(|_| {
                let (_, in_use) = around(&machine.image(state), operation, machine);
                let by_hand = SAVED.load(Ordering::Relaxed) == 0;
                assert!(!by_hand || machine.by_hand(state), "{state:#x} is in use, and {writes:#x} is written");
                by_hand == machine.by_hand(in_use)
            });
            assert!(as_expected, "{state:#x}, and {writes:#x} is written");
        });
    });
}
