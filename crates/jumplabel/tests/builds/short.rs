//! Sites that are built as plain jumps (`--cfg jumplabel_short`), of two bytes or five as the assembler chose (test-crates/short), and never
//! linked: the object's constructor brings them to their first state, or the process ends.

use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Command, Output};

use jumplabel_testing::cargo::{self, Build};
use object::{Object as _, ObjectSection as _};

use crate::binary::Binary;
use crate::{LTO, OPT_LEVEL, RUSTFLAGS};

/// The place to which builds with profiles write these, build scripts included.
const PROFILE: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/profile");
const FLAGS: &str = "--cfg jumplabel_short";

/// Runs the program, and returns the numbers of sites of two and of five bytes that it counts.
fn counts(program: &Path) -> [usize; 2] {
    let printed = cargo::run(Command::new(program).env("LLVM_PROFILE_FILE", "/dev/null"));
    assert!(printed.ends_with("ok\n"), "{printed}");
    ["short ", "long "].map(|word| printed.lines().find_map(|line| line.strip_prefix(word)?.parse().ok()).unwrap())
}

#[test]
fn short_sites() {
    let optimised = || Build::of("short").env(RUSTFLAGS, FLAGS);
    for build in [
        optimised(),
        optimised().env(LTO, "fat").env(OPT_LEVEL, "s"),
        // Instrumented builds split the edges of a site.
        Build::of("short").env(RUSTFLAGS, format!("{FLAGS} --cfg jumplabel_dylib -Cprofile-generate={PROFILE}")),
    ] {
        let results = build.results(&["short"]);
        let [short, long] = counts(&results[0]);
        assert!(short > 10 && long > 1, "{build:?}: {short} {long}");
        if !format!("{build:?}").contains("dylib") {
            let data = std::fs::read(&results[0]).unwrap();
            let contents = Binary::parse(&data).check().unwrap_or_else(|error| panic!("{build:?}: {error}"));
            assert!(contents.short >= short && contents.unlinked > contents.sites / 2, "{build:?}: {contents:?}");
        }
        println!("{short} {long} {build:?}");
        cargo::discard(&results);
    }
}

/// The system lets nobody write code.
fn refused(program: &Path) -> Output {
    let mut command = Command::new(program);
    command.env("JUMPLABEL_WRITER", "mprotect");
    // SAFETY: system calls only.
    unsafe { command.pre_exec(refuse_code) };
    command.output().unwrap()
}

/// From now on, `mprotect` refuses to make memory executable (EPERM), as MDWE does, on every kernel.
fn refuse_code() -> std::io::Result<()> {
    let statement = |code: u32, k: u32, jt: u8, jf: u8| libc::sock_filter { code: code as u16, jt, jf, k };
    let mut filter = [
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, libc::SYS_mprotect as u32, 0, 3),
        // The third argument.
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 32, 0, 0),
        statement(libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K, libc::PROT_EXEC as u32, 0, 1),
        statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32, 0, 0),
        statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW, 0, 0),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: a whole program, which the kernel reads during the call.
    let result = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program)
    };
    if result == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// No process takes a wrong arm in silence.
#[test]
fn short_sites_that_cannot_be_written() {
    let results = Build::of("short").env(RUSTFLAGS, FLAGS).results(&["short"]);
    let output = refused(&results[0]);
    let printed = cargo::printed(&output);
    assert_eq!(output.status.signal(), Some(libc::SIGABRT), "{printed}");
    assert!(printed.starts_with("jumplabel: ") && printed.lines().count() == 1, "{printed}");
    for part in ["jumplabel link", "short", "mprotect"] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    // The broken twin: a file that claims to be linked, and is not. It takes wrong arms.
    let mut data = std::fs::read(&results[0]).unwrap();
    let parsed = object::read::elf::ElfFile64::<object::Endianness>::parse(&*data).unwrap();
    let (start, size) = parsed.section_by_name("__jump_foreign").unwrap().file_range().unwrap();
    assert!(size >= 4);
    data[start as usize..(start + size) as usize].chunks_exact_mut(4).for_each(|word| word[0] = 2);
    std::fs::remove_file(&results[0]).unwrap();
    std::fs::write(&results[0], data).unwrap();
    std::fs::set_permissions(&results[0], std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    for output in [refused(&results[0]), Command::new(&results[0]).output().unwrap()] {
        let printed = cargo::printed(&output);
        assert!(!output.status.success() && printed.contains("a constructor took a wrong arm"), "{printed}");
    }
    cargo::discard(&results);
}
