//! The stack that a flip takes in a program that uses the installed library, which is built for size and as one unit: tests/c/stack.c.

use std::process::Command;

use crate::compiler::{GCC, Language};
use crate::prefix::{scratch, succeeds};

/// The limits in docs/safety.md ("Signals").
const MOST: usize = 2048;
const MOST_BY_REMAP: usize = 6144;

#[test]
fn of_a_flip_in_a_handler() {
    for (name, library) in [("shared", "-ljumplabel"), ("static", "-Wl,-Bstatic -ljumplabel -Wl,-Bdynamic")] {
        let program = scratch("stack").join(name);
        // With lazy binding, the dynamic loader would take 3 KiB of the same stack when it looks up functions.
        let program = GCC.build(Language::C, "-O2 -Wl,-z,now", &["stack.c"], library, &program);
        for (writer, most) in [("auto", MOST), ("procmem", MOST), ("mprotect", MOST), ("remap", MOST_BY_REMAP)] {
            let output = succeeds(Command::new(&program).env("JUMPLABEL_WRITER", writer)).stdout;
            let took: Vec<usize> = str::from_utf8(&output).unwrap().split_whitespace().flat_map(str::parse).collect();
            println!("{name}, {writer}: {took:?} bytes of stack, the first flip and the second");
            assert!(took.len() == 2 && took[1] <= most, "{name}, {writer}: {took:?}, and {most} is the most");
        }
    }
}
