//! The instruction sets that are tested besides the machine's own, as data: the needs of each, with reasons.

/// An instruction set.
pub struct Target {
    pub name: &'static str,
    /// The name of the target for rustc.
    pub rust: &'static str,
    pub goal: Goal,
    pub compiler: Compiler,
    /// The emulator of programs, or `None` if an x86-64 machine can run them itself.
    pub emulator: Option<&'static str>,
    /// The sets of tests that run in addition to the core's unit tests.
    pub sets: &'static [&'static str],
    /// The options for C. `None` if the headers for C have no sites there.
    pub c: Option<C>,
    /// Whether jumplabel-bench supports the instruction set, and is tested there.
    pub measures: bool,
    pub guest: Option<Guest>,
}

/// The goal of the Makefile that tests the instruction set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Goal {
    TestAll,
    ReleaseCheck,
    /// The machine's own instruction set: it is tested only under another kernel.
    Guests,
}

/// The compiler and linker of C.
pub enum Compiler {
    /// A cross compiler of Debian's: the beginning of its command (before `-gcc`), and Debian's name of the architecture.
    Gcc(&'static str, &'static str),
    /// Zig, which brings a C library (musl), for a target that Debian has no compiler for. The first text is zig's options. The standard library of
    /// Rust is built from source, with the second text as options of rustc.
    Zig(&'static str, &'static str),
}

/// Further options for the C compilers.
pub struct C {
    pub gcc: &'static str,
    pub clang: Option<&'static str>,
    /// Clang's options for link-time optimisation. `None` if clang cannot do it there.
    pub clang_lto: Option<&'static str>,
}

/// A machine in qemu-system, and Debian's kernel for it.
pub struct Guest {
    pub machine: &'static str,
    pub packages: &'static [&'static str],
    /// The package of the program in Debian's backports. It is installed if the machine's own program is older than version 10.
    pub backport: &'static str,
    pub kernel: &'static str,
    /// The Debian release of the kernel. `None` if the machine's own release has the kernel.
    pub release: Option<&'static str>,
    pub console: &'static str,
    /// `single` runs both processors in one host thread: with several threads, qemu can leave a processor on old code for ever.
    pub threads: &'static str,
}

const PORTABLE: &str =
    "reach keys naked records lists or_load calls switches tracepoints ops up alternatives plan threads";

/// Tests that qemu-user cannot run. They need a thread in the child of a fork (qemu-user aborts), a raw clone, timers faster than an emulated flip, a
/// list of mappings without the emulator's own, or a set of signals that is not the emulator's.
pub const NOT_EMULATED: &str = "forks:: children_of_fork the_first_thread timer_signals mappings_of \
                                broken_twin_does_not_prime _handler";

/// The sets of tests that run in a guest: they need a kernel of its instruction set.
pub const OF_GUESTS: &str = "reach keys naked records lists or_load calls switches tracepoints ops up alternatives plan threads \
                             process refusals objects usdt";

const GUEST: Guest =
    Guest { machine: "", packages: &[], backport: "", kernel: "", release: None, console: "", threads: "single" };

pub const TARGETS: &[Target] = &[
    Target {
        name: "aarch64",
        rust: "aarch64-unknown-linux-gnu",
        goal: Goal::TestAll,
        compiler: Compiler::Gcc("aarch64-linux-gnu", "arm64"),
        emulator: Some("qemu-aarch64"),
        sets: &[PORTABLE, "process retargets usdt"],
        c: Some(C { gcc: "", clang: Some("-fuse-ld=lld-16"), clang_lto: Some("") }),
        measures: true,
        guest: Some(Guest {
            machine: "qemu-system-aarch64 -M virt -cpu cortex-a57",
            packages: &["qemu-system-arm"],
            backport: "qemu-system-arm",
            kernel: "linux-image-arm64",
            console: "ttyAMA0",
            ..GUEST
        }),
    },
    Target {
        name: "riscv64",
        rust: "riscv64gc-unknown-linux-gnu",
        goal: Goal::TestAll,
        compiler: Compiler::Gcc("riscv64-linux-gnu", "riscv64"),
        emulator: Some("qemu-riscv64"),
        sets: &[PORTABLE, "process retargets usdt"],
        // After link-time optimisation, lld still relaxes (shortens) instructions whose sizes clang took for final.
        c: Some(C { gcc: "", clang: Some("-fuse-ld=lld-16"), clang_lto: Some("-mno-relax") }),
        measures: false, // The bench supports it, but takes two minutes to build.
        guest: Some(Guest {
            machine: "qemu-system-riscv64 -M virt",
            packages: &["qemu-system-misc", "opensbi"],
            backport: "qemu-system-riscv",
            kernel: "linux-image-riscv64",
            release: Some("trixie"),
            console: "ttyS0",
            ..GUEST
        }),
    },
    Target {
        name: "i686",
        rust: "i686-unknown-linux-gnu",
        goal: Goal::ReleaseCheck,
        compiler: Compiler::Gcc("i686-linux-gnu", "i386"),
        emulator: None,
        // Its sites are those of x86-64, and so are the arrays of sites that torture flips.
        sets: &[PORTABLE, "process refusals instant torture objects"],
        c: Some(C { gcc: "", clang: Some(""), clang_lto: Some("-fuse-ld=lld-16") }),
        measures: false,
        guest: None,
    },
    Target {
        name: "armv7",
        rust: "armv7-unknown-linux-gnueabihf",
        goal: Goal::ReleaseCheck,
        compiler: Compiler::Gcc("arm-linux-gnueabihf", "armhf"),
        emulator: Some("qemu-arm"),
        sets: &[PORTABLE, "process"],
        c: Some(C {
            gcc: "-marm -march=armv7-a+fp -fno-pie -no-pie",
            clang: Some("-fuse-ld=lld-16 -marm -march=armv7-a+fp"),
            clang_lto: None, // Lld takes A32 code for Thumb.
        }),
        measures: false,
        guest: Some(Guest {
            machine: "qemu-system-arm -M virt,highmem=off",
            packages: &["qemu-system-arm"],
            backport: "qemu-system-arm",
            kernel: "linux-image-armmp",
            console: "ttyAMA0",
            threads: "multi", // With a single thread, this guest's kernel hangs.
            ..GUEST
        }),
    },
    Target {
        name: "s390x",
        rust: "s390x-unknown-linux-gnu",
        goal: Goal::ReleaseCheck,
        compiler: Compiler::Gcc("s390x-linux-gnu", "s390x"),
        emulator: Some("qemu-s390x"),
        sets: &[PORTABLE, "process"],
        c: Some(C {
            gcc: "-fno-pie -no-pie",
            clang: Some(""),
            clang_lto: None, // Lld does not support it.
        }),
        measures: false,
        guest: Some(Guest {
            machine: "qemu-system-s390x -M s390-ccw-virtio",
            packages: &["qemu-system-misc"],
            backport: "qemu-system-s390x",
            kernel: "linux-image-s390x",
            console: "ttysclp0",
            ..GUEST
        }),
    },
    Target {
        name: "powerpc64le",
        rust: "powerpc64le-unknown-linux-gnu",
        goal: Goal::ReleaseCheck,
        compiler: Compiler::Gcc("powerpc64le-linux-gnu", "ppc64el"),
        emulator: Some("qemu-ppc64le"),
        sets: &[PORTABLE, "process"],
        c: Some(C { gcc: "", clang: Some("-fuse-ld=lld-16"), clang_lto: Some("") }),
        measures: false,
        guest: Some(Guest {
            machine: "qemu-system-ppc64 -M pseries -cpu power8 -vga none",
            packages: &["qemu-system-ppc"],
            backport: "qemu-system-ppc",
            kernel: "linux-image-powerpc64le",
            console: "hvc0",
            ..GUEST
        }),
    },
    Target {
        name: "loongarch64",
        rust: "loongarch64-unknown-linux-musl",
        goal: Goal::ReleaseCheck,
        // Compilers and rustup's standard library assume this processor's vector instructions (LSX), which the emulator (7.2) does not support.
        compiler: Compiler::Zig(
            "-target loongarch64-linux-musl -mcpu=baseline-lsx",
            "-Ctarget-feature=-lsx -Clink-self-contained=no -Alinker_messages",
        ),
        emulator: Some("qemu-loongarch64"),
        sets: &[PORTABLE, "process"],
        c: Some(C { gcc: "-lunwind", clang: None, clang_lto: None }),
        measures: false,
        guest: None, // Debian has no kernel for it.
    },
    Target {
        name: "powerpc64",
        rust: "powerpc64-unknown-linux-gnu",
        goal: Goal::ReleaseCheck,
        compiler: Compiler::Gcc("powerpc64-linux-gnu", "ppc64"),
        emulator: Some("qemu-ppc64"),
        // The library has no sites for big-endian powerpc64. So this tests the fallback, with big-endian words.
        sets: &["keys naked records lists or_load switches ops up plan threads"],
        c: None,
        measures: false,
        guest: None,
    },
    Target {
        name: "x86_64",
        rust: "x86_64-unknown-linux-gnu",
        goal: Goal::Guests, // The machine's own kernel may be newer than the guest's.
        compiler: Compiler::Gcc("x86_64-linux-gnu", "amd64"),
        emulator: None,
        sets: &[PORTABLE, "process"],
        c: Some(C { gcc: "", clang: Some(""), clang_lto: Some("-fuse-ld=lld-16") }),
        measures: false,
        guest: Some(Guest {
            machine: "qemu-system-x86_64 -M q35 -cpu max",
            packages: &["qemu-system-x86"],
            backport: "qemu-system-x86",
            kernel: "linux-image-amd64",
            console: "ttyS0",
            ..GUEST
        }),
    },
];

impl Guest {
    /// The emulator's command.
    pub fn program(&self) -> &'static str {
        self.machine.split(' ').next().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
