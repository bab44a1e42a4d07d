//! Decides whether this build patches code (`cfg(jumplabel_sites)`) or uses the fallback: load, test, jump; and whether it
//! has the platform of Linux user space (`cfg(jumplabel_linux)`) or of Windows (`cfg(jumplabel_windows)`).

use std::env::var;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(fuzzing)");
    println!("cargo::rustc-check-cfg=cfg(jumplabel_sites)");
    println!("cargo::rustc-check-cfg=cfg(jumplabel_linux)");
    println!("cargo::rustc-check-cfg=cfg(jumplabel_windows)");
    println!("cargo::rustc-check-cfg=cfg(jumplabel_user_space)");
    println!("cargo::rustc-check-cfg=cfg(jumplabel_in_place)");
    println!("cargo::rustc-check-cfg=cfg(jumplabel_threads)");
    println!("cargo::rustc-check-cfg=cfg(jumplabel_thread_variable)");
    println!("cargo::rustc-check-cfg=cfg(jumplabel_trampolines)");
    println!("cargo::rustc-check-cfg=cfg(jumplabel_prefixes)");
    println!("cargo::rustc-check-cfg=cfg(jumplabel_no_site_prefix)");
    println!("cargo::rustc-check-cfg=cfg(jumplabel_site_prefix)");
    println!("cargo::rustc-check-cfg=cfg(jumplabel_alternatives)");
    println!("cargo::rustc-check-cfg=cfg(jumplabel_fallback)");
    println!("cargo::rustc-check-cfg=cfg(jumplabel_dylib)");
    println!("cargo::rustc-check-cfg=cfg(jumplabel_unproven)");
    println!("cargo::rustc-check-cfg=cfg(jumplabel_usdt)");
    println!("cargo::rustc-check-cfg=cfg(jumplabel_no_usdt)");
    println!("cargo::rustc-check-cfg=cfg(jumplabel_short)");
    println!("cargo::rustc-check-cfg=cfg(jumplabel_short_sites)");
    println!("cargo::rustc-check-cfg=cfg(jumplabel_short_kind)");
    println!("cargo::rustc-check-cfg=cfg(jumplabel_short_engine)");

    let cfg = |name: &str| var(format!("CARGO_CFG_{name}")).unwrap_or_default();
    let (arch, os) = (cfg("TARGET_ARCH"), cfg("TARGET_OS"));
    let (width, endian) = (cfg("TARGET_POINTER_WIDTH"), cfg("TARGET_ENDIAN"));

    // An arch file exists, for this data model, and stable inline assembly is understood (POWER: since 1.95).
    let has_arch_file = match &*arch {
        // Not Thumb (thumbv7...), nor what has no nop (arm-..., armv5te-...). Features that would say so are unstable.
        "arm" => {
            var("TARGET").is_ok_and(|target| ["armv7-", "armv7a-none-"].iter().any(|name| target.starts_with(name)))
        }
        "powerpc64" => is_at_least(95) && endian == "little",
        "s390x" => true,
        "x86" => width == "32",
        // Kernels only: nobody has run a program of user space.
        "riscv32" => os == "none",
        "x86_64" | "aarch64" | "riscv64" | "loongarch64" => (&*width, &*endian) == ("64", "little"),
        _ => false,
    };
    let asked_for_short = var("CARGO_CFG_JUMPLABEL_SHORT").is_ok();
    let knows_short = asked_for_short || var("CARGO_FEATURE_SHORT_SITES").is_ok();
    // Everywhere, for tools that look at files of another instruction set.
    if knows_short {
        println!("cargo::rustc-cfg=jumplabel_short_kind");
    }
    let is_elf = os == "linux" || os == "none";
    let miri = var("CARGO_CFG_MIRI").is_ok();
    // The targets that were run. Others have an object format of the same family, but other linkers, or another assembler file.
    let were_run = ["x86_64-pc-windows-gnu", "x86_64-pc-windows-gnullvm"];
    let is_proven = var("TARGET").is_ok_and(|target| were_run.contains(&&*target));
    // For MSVC: `make elsewhere` looks at what a compiler makes of sites, and `make wine` runs what lld-link makes of that.
    let is_tried = arch == "x86_64" && os == "windows" && var("CARGO_CFG_JUMPLABEL_UNPROVEN").is_ok();
    let has_windows = (is_proven || is_tried) && !miri && var("CARGO_FEATURE_WINDOWS").is_ok();
    let is_pe = has_windows && var("CARGO_CFG_JUMPLABEL_DYLIB").is_err();
    // A word that leads to a GOT slot is known for one instruction set.
    let finds_keys = var("CARGO_CFG_JUMPLABEL_DYLIB").is_err() || arch == "x86_64";
    // What needs threads of the library's own and a variable of each thread: std has both. Without it the C library starts threads, and the
    // variable takes assembler.
    let has_std = var("CARGO_FEATURE_STD").is_ok();
    let has_variable = matches!((&*arch, &*width), ("x86_64" | "aarch64" | "riscv64", "64")) && os == "linux" && !miri;
    let has_threads = has_std || (has_variable && var("CARGO_FEATURE_ALLOC").is_ok());
    if has_variable {
        println!("cargo::rustc-cfg=jumplabel_thread_variable");
    }
    if has_threads {
        println!("cargo::rustc-cfg=jumplabel_threads");
    }
    if has_std {
        println!("cargo::metadata=std=1"); // DEP_JUMPLABEL_STD
    }
    let asked_for_fallback = var("CARGO_CFG_JUMPLABEL_FALLBACK").is_ok() || miri;
    if has_arch_file && (is_elf || is_pe) && finds_keys && !asked_for_fallback {
        println!("cargo::rustc-cfg=jumplabel_sites");
        // On POWER a function of another object leaves its own table of contents behind, which only a call by pointer puts right.
        if arch != "powerpc64" {
            println!("cargo::rustc-cfg=jumplabel_trampolines");
        }
        if is_elf && arch.starts_with("x86") {
            println!("cargo::rustc-cfg=jumplabel_prefixes");
            println!("cargo::metadata=prefixes=1");
            if var("CARGO_CFG_JUMPLABEL_NO_SITE_PREFIX").is_err() {
                println!("cargo::rustc-cfg=jumplabel_site_prefix");
            }
        }
        if is_elf && arch == "x86_64" {
            println!("cargo::rustc-cfg=jumplabel_alternatives");
        }
        if is_elf && matches!(&*arch, "x86_64" | "aarch64" | "riscv64") {
            println!("cargo::rustc-cfg=jumplabel_in_place");
        }
        // Tracepoints carry notes for tracers.
        let has_notes = matches!(&*arch, "x86_64" | "aarch64" | "riscv64");
        let is_asked_for = has_threads && var("CARGO_CFG_JUMPLABEL_NO_USDT").is_err();
        if has_notes && os == "linux" && is_asked_for {
            println!("cargo::rustc-cfg=jumplabel_usdt");
        }
        // Where somebody runs constructors, which bring sites to their first state that nobody has brought there before.
        if arch.starts_with("x86") && os == "linux" && var("CARGO_FEATURE_LINUX").is_ok() {
            if asked_for_short {
                println!("cargo::rustc-cfg=jumplabel_short_sites");
            }
            if knows_short {
                println!("cargo::rustc-cfg=jumplabel_short_engine");
            }
        }
        println!("cargo::metadata=sites=1"); // for crates that are built on this one: DEP_JUMPLABEL_SITES
    }
    let has_linux = os == "linux" && !miri && var("CARGO_FEATURE_LINUX").is_ok();
    for (name, is_there) in [("linux", has_linux), ("windows", has_windows), ("user_space", has_linux || has_windows)] {
        if is_there {
            println!("cargo::rustc-cfg=jumplabel_{name}");
        }
    }
}

/// Whether the compiler is 1.`minor` or later.
fn is_at_least(minor: u32) -> bool {
    let output = std::process::Command::new(var("RUSTC").unwrap_or_default()).arg("--version").output();
    let version = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    version.split('.').nth(1).and_then(|number| number.parse().ok()).is_some_and(|number: u32| number >= minor)
}
