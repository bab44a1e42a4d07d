//! Lists of static calls, modes and keys: tests/c/listing.c.

use std::process::Command;

use crate::compiler::{Compiler, Language};
use crate::prefix::{printed, scratch, succeeds};

/// The compiler and the linker may not drop records, although nothing refers to them. Without sites, only keys have records, but not naked keys.
#[test]
fn calls_modes_and_keys() {
    let program = scratch("listing").join("program");
    for compiler in Compiler::ALL {
        for language in [Language::C, Language::Cxx] {
            for (flags, said) in [
                ("-O0", "ok 6 6 7\n"),
                ("-O2 -fPIC", "ok 6 6 7\n"),
                ("-O2 -flto -static", "ok 6 6 7\n"),
                ("-O2 -ffunction-sections -fdata-sections -Wl,--gc-sections", "ok 6 6 7\n"),
                ("-O2 -ffunction-sections -fdata-sections -Wl,--gc-sections -fuse-ld=lld", "ok 6 6 7\n"),
                ("-O2 -fuse-ld=mold", "ok 6 6 7\n"),
                ("-O2 -fuse-ld=gold -DJUMPLABEL_PRECISE_TABLE", "ok 6 6 7\n"),
                ("-O2 -DJUMPLABEL_FALLBACK", "ok 0 0 6\n"),
                ("-O0 -DJUMPLABEL_FALLBACK -fPIC -DJUMPLABEL_SHORT", "ok 0 0 6\n"),
                ("-O2 -DJUMPLABEL_FALLBACK -ffunction-sections -Wl,--gc-sections -static", "ok 0 0 6\n"),
            ] {
                compiler.build(language, flags, &["listing.c"], "-ljumplabel", &program);
                assert_eq!(printed(&succeeds(&mut Command::new(&program))), said, "{compiler:?} {language:?} {flags}");
            }
        }
    }
}
