//! `jumplabel link` on any bytes, and on a program that the linker made and that was changed here and there: it never panics, and it calls nothing
//! damaged that it made itself.
#![no_main]

use std::process::Command;
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;

/// Calls of each form of a trampoline, its table, and an object's record (docs/table-format.md).
const SOURCE: &str = "
    .text
    .balign 16
    trampoline: endbr64
    1: .byte 0xe9
    .long default - . - 4
    jmp *call(%rip)
    .type trampoline, @function
    .size trampoline, . - trampoline
    default: lea 1(%rdi), %eax
    ret
    .type calls, @function
    calls: push %rbx
    call trampoline
    call *trampoline@GOTPCREL(%rip)
    test %eax, %eax
    je trampoline
    mov trampoline@GOTPCREL(%rip), %rbx
    call *%rbx
    call trampoline
    pop %rbx
    jmp *trampoline@GOTPCREL(%rip)
    jmp trampoline
    .size calls, . - calls
    .section __jump_table, \"a\", @progbits
    .long 1b - ., default - ., call - ., 8
    .data
    .balign 8
    call: .zero 32
    record: .zero 56
    .hidden __start___jump_table, __stop___jump_table
    .long __start___jump_table - ., __stop___jump_table - ., 0, -4, 0, -4, 0, -4, 0, 1
";

fn program() -> &'static [u8] {
    static PROGRAM: OnceLock<Vec<u8>> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let [source, program] =
            ["s", "so"].map(|end| std::env::temp_dir().join(format!("fuzz-link-{}.{end}", std::process::id())));
        std::fs::write(&source, SOURCE).unwrap();
        let mut cc = Command::new("cc");
        cc.args(["-pie", "-nostdlib", "-Wl,--emit-relocs,--build-id,-e,calls"]).arg(&source).arg("-o").arg(&program);
        assert!(cc.status().unwrap().success());
        let bytes = std::fs::read(&program).unwrap();
        for file in [source, program] {
            std::fs::remove_file(file).unwrap();
        }
        let linked = jumplabel_cli::link(bytes.clone()).unwrap().unwrap();
        assert_eq!(jumplabel_cli::link(linked), Ok(None));
        bytes
    })
}

fn try_it(bytes: Vec<u8>) {
    if let Ok(Some(linked)) = jumplabel_cli::link(bytes) {
        let again = jumplabel_cli::link(linked);
        assert!(again.as_ref().is_ok_and(Option::is_none), "{:?}", again.map(|_| "changed again"));
    }
}

fuzz_target!(|data: &[u8]| {
    let (words, rest) = data.as_chunks::<6>();
    try_it(data.to_vec());
    let mut bytes = program().to_vec();
    let length = bytes.len();
    for &[a, b, c, place, value, how] in words {
        // Anywhere, or, more often, in the headers at the beginning and at the end.
        let at = usize::from(u16::from_le_bytes([place, a]));
        let at = match how % 4 {
            0 => at % length,
            1 => at % 1024,
            _ => length - 1 - at % 4096.min(length),
        };
        match how / 4 % 3 {
            0 => bytes[at] = value,
            1 => bytes[at] ^= 1 << (value % 8),
            _ => bytes[at..].iter_mut().zip([value, b, c, 0]).for_each(|(byte, new)| *byte = new),
        }
    }
    bytes
        .truncate(length - usize::from(rest.first().copied().unwrap_or_default() & 1) * usize::from(rest.len() as u16));
    try_it(bytes);
});
