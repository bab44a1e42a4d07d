//! Functions that are called after flips: tests/c/on_change.c, with each compiler; with a library that is closed; in a build without sites.

use std::process::Command;

use crate::compiler::{Compiler, Language};
use crate::prefix::{printed, scratch, succeeds};

#[test]
fn on_change() {
    let directory = scratch("on-change");
    let [program, plugin] = ["program", "libheard.so"].map(|name| directory.join(name));
    for compiler in Compiler::ALL {
        for language in [Language::C, Language::Cxx] {
            for flags in ["-O2", "-O0 -fPIE -pie", "-O2 -static", "-O2 -DJUMPLABEL_FALLBACK"] {
                compiler.build(language, flags, &["on_change.c"], "-ljumplabel -lpthread", &program);
                assert_eq!(
                    printed(&succeeds(&mut Command::new(&program))),
                    "ok\n",
                    "{compiler:?} {language:?} {flags}"
                );
            }
        }
        compiler.build(Language::C, "-O2", &["on_change.c"], "-ljumplabel -lpthread -ldl", &program);
        compiler.build(Language::C, "-O2 -fPIC -shared", &["on_change_plugin.c"], "-ljumplabel", &plugin);
        assert_eq!(printed(&succeeds(Command::new(&program).arg(&plugin))), "ok\n", "{compiler:?}");
    }
}
