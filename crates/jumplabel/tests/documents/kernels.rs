//! The kernels of docs/kernels.md, and what the README shows of one.

use std::path::Path;

use jumplabel_testing::breadth::{some_of, tests_all};

use crate::desk::{block, printed, repository, scratch, write};

/// The README's lines are lines of the kernel, in their order.
pub fn part_of_the_tiny_kernel(lines: &str) {
    let kernel = block("docs/kernels.md", "impl Machine for Hart").text;
    let mut rest = kernel.lines().map(str::trim);
    for line in lines.lines() {
        let code = line.split(" //").next().unwrap();
        assert!(rest.any(|other| other == code), "docs/kernels.md has no {code}, or not there");
    }
}

/// The kernel of docs/kernels.md: built of its blocks, and booted.
pub fn tiny_kernel(program: &str) {
    let text = |words| block("docs/kernels.md", words).text;
    // This is not beside the README's crates, because the target directory has another name there.
    let directory = scratch("kernel-of-documents");
    // The checkout lies in the kernel's directory: cargo hashes what lies in the workspace by its path from there, so the kernel's size does
    // not depend on where the checkout really is.
    link_to_repository(&directory.join("jumplabel"));
    let manifest = text("jumplabel-kernel = {").replace("../jumplabel/", "jumplabel/");
    write(&directory.join("Cargo.toml"), &(manifest + "\n[workspace]\nexclude = [\"jumplabel\"]\n"));
    write(&directory.join(".cargo/config.toml"), &text("[build]"));
    write(&directory.join("src/main.rs"), program);
    build_and_boot(&text("cargo build --release\nqemu"), &directory);
    let crates = printed("cargo tree --edges normal --prefix none 2>/dev/null | sed 's/ .*//' | sort -u", &directory);
    assert_eq!(crates, "jumplabel\njumplabel-format\njumplabel-kernel\ntiny\n");
    let bytes = section("target/riscv64imac-unknown-none-elf/release/tiny", ".text", &directory);
    // 20,450 before flips looked at what is there and asked whether it can be read; 22,100 before checks that can load were a kind of their
    // own, which lead to two places; 23,300 before messages were told piece by piece, which saves a kernel in C 2,700; 23,400 before flips took
    // half as much stack; 24,000 before functions could be called after flips; 24,400 before aliases were compared with the text; 24,700 before
    // code went that RISC-V never runs.
    assert!(bytes <= 22_200, "more code than before: {bytes}");
    is_documented("Its code has SIZE kB", bytes);
    is_documented("| SIZE | `\"s\"` | `true` |", bytes);
    // The rows of the document's table.
    let others = [("3", true, 24_200), ("\"s\"", false, 26_000), ("3", false, 26_000)];
    for &(level, lto, most) in some_of(0, &others) {
        // How much LLVM joins depends on how the compiler divides a crate, and that on hashes: 29,500 or 33,300 bytes.
        let whole =
            if lto { "" } else { "--config 'build.rustflags=[\"-Cllvm-args=-riscv-enable-global-merge=false\"]'" };
        let options =
            format!("--config 'profile.release.opt-level={level}' --config profile.release.lto={lto} {whole}");
        printed(&format!("cargo build --release {options}"), &directory);
        let bytes = section("target/riscv64imac-unknown-none-elf/release/tiny", ".text", &directory);
        println!("tiny kernel, {options}: {bytes} bytes");
        assert!(bytes <= most, "more code than before, with {options}: {bytes}");
        is_documented(&format!("| SIZE | `{level}` | `{lto}` |"), bytes);
    }
}

/// docs/kernels.md has the size in a row or a sentence that contains `words`, with `SIZE` for the figure in kB.
fn is_documented(words: &str, bytes: usize) {
    let (before, after) = words.split_once("SIZE").unwrap();
    let document = std::fs::read_to_string(repository("docs/kernels.md")).unwrap();
    let figures = document.match_indices(before).filter_map(|(at, _)| {
        let (figure, rest) = document[at + before.len()..].split_at_checked(4)?;
        rest.starts_with(after).then(|| figure.parse::<f64>().unwrap())
    });
    let figures: Vec<_> = figures.collect();
    let [figure] = figures[..] else { panic!("docs/kernels.md has {figures:?} for {words}") };
    // Another compiler may make less.
    let kilobytes = bytes as f64 / 1000.0;
    assert!(
        (-1.5..0.15).contains(&(kilobytes - figure)),
        "docs/kernels.md has {figure} kB instead of {kilobytes}: {words}"
    );
}

/// Links to the checkout, where the documents have it.
fn link_to_repository(link: &Path) {
    // Not one that an older checkout has left.
    let _ = std::fs::remove_file(link);
    std::os::unix::fs::symlink(repository("."), link).unwrap();
}

/// The bytes of a file's section.
fn section(file: &str, name: &str, directory: &Path) -> usize {
    let sections = printed(&format!("size -A {file}"), directory);
    let mut words =
        sections.lines().map(str::split_whitespace).find(|words| words.clone().next() == Some(name)).unwrap();
    words.nth(1).unwrap().parse().unwrap()
}

/// The one in C, which lies beside the repository; and its bytes, as the document has them. Beside what it may have, twins that have more.
pub fn tiny_kernel_in_c(program: &str) {
    let directory = scratch("kernel-in-c-of-documents").join("tiny");
    write(&directory.join("tiny.c"), program);
    link_to_repository(&directory.with_file_name("jumplabel"));
    let commands = block("docs/kernels.md", "--features kernel-alone").text;
    build_and_boot(&commands, &directory);
    let [library, kernel, boot] = commands.lines().collect::<Vec<_>>()[..] else { panic!("{commands}") };
    let constant = || [".text", ".rodata"].map(|name| section("tiny", name, &directory)).iter().sum::<usize>();
    let plain = constant();
    let with = |instead: &str| {
        write(&directory.join("tiny.c"), &program.replace("error = jumplabel_enable(&trace.key)", instead));
        printed(kernel, &directory);
        constant()
    };
    let linux = with("static_branch_enable(&trace)");
    let hook = with("jumplabel_set_warn((jumplabel_warn_fn)run, NULL), static_branch_enable(&trace)");
    // These flip only after the library has answered as kernel.h says.
    for checks in [SECOND_START, MODULES] {
        with(&format!("error = {checks} ? 1 : jumplabel_enable(&trace.key)"));
        let said = printed(&format!("timeout 60 {boot}"), &directory).replace('\r', "");
        assert!(said.ends_with("off\non\n"), "{said}\n{checks}");
    }
    println!("tiny kernel in C: {plain} bytes; by Linux's names {linux}; with a hook {hook}");
    // 37,900, 51,700 and 51,900 before LLVM left statics alone, and only the hook referred to the texts; 29,100, 29,200 and 46,100 before
    // functions could be called after flips; 250 bytes less before aliases were compared with the text; 29,900, 30,100 and 43,000 before code went
    // that RISC-V never runs.
    assert!(plain <= 26_000 && linux <= 26_100 && hook <= 40_000, "more code than before: {plain}, {linux}, {hook}");
    assert!(plain < linux && linux + 10_000 < hook, "the program was not changed");
    is_documented("| SIZE | `jumplabel_enable` |", plain);
    is_documented("| SIZE | `static_branch_enable`", linux);
    is_documented("| SIZE | the same, with a hook", hook);

    // The pages and the stack; 13,000 before pages could begin between pages; 2,000 before there was a table of functions that hear of flips.
    const PAGE: usize = 4096;
    let writable = |pages| section("tiny", ".bss", &directory) - pages * PAGE - 0x10000;
    let beside = writable(16);
    assert!(beside <= 4_100, "more memory than before: {beside}");
    printed(&format!("JUMPLABEL_KERNEL_PAGES=4 {library}"), &directory);
    printed(kernel, &directory);
    assert_eq!(writable(4), beside);

    if tests_all() {
        write(&directory.join("tiny.c"), program);
        let relaxed = library.replace("-Cllvm-args=-riscv", "-Ctarget-feature=+relax -Cllvm-args=-riscv");
        printed(&relaxed, &directory);
        printed(kernel, &directory);
        is_documented("| SIZE | as in the first row", constant());
        let said = printed(&format!("timeout 60 {boot}"), &directory).replace('\r', "");
        assert!(said.ends_with("off\non\n"), "{said}");

        // With registers of floating point in the calling convention.
        write(&directory.join("tiny.c"), program);
        let commands = commands.replace("riscv64imac", "riscv64gc").replace("rv64imac_", "rv64gc_");
        let commands = commands.replace("-mabi=lp64 ", "-mabi=lp64d ");
        let said: Vec<_> = commands.lines().map(|line| printed(&format!("timeout 500 {line}"), &directory)).collect();
        assert!(said[2].replace('\r', "").ends_with("off\non\n"), "{said:?}");
        let header = printed("readelf -h tiny", &directory);
        assert!(header.contains("double-float ABI"), "{header}");
    }
}

/// True if a second start is not refused. The flip that follows it needs the first bounds and functions.
const SECOND_START: &str = "jumplabel_kernel_start(&(const struct jumplabel_machine){ JUMPLABEL_RISCV_MACHINE, .cpu = jumplabel_riscv_tp, \
    .interrupt = jumplabel_riscv_sbi, .map = (int (*)(uintptr_t, uintptr_t *))run }, &(const struct jumplabel_bounds){ 0, 1, 0, 1 }) != -16";

/// True if `jumplabel_kernel_load` takes what overlaps or is no module, does not take 16 modules, takes a 17th, or does not take one for another.
const MODULES: &str = "({ struct jumplabel_bounds at = { 4096, 8192, 4096, 8192 }, first = at; \
    int bad = jumplabel_kernel_load(NULL) != -22 || jumplabel_kernel_load(&bounds) != -22; \
    bad |= jumplabel_kernel_load(&(const struct jumplabel_bounds){ 1, 1, 0, 2 }) != -22; \
    for (; at.start <= 16 * 4096; at.code += 4096, at.code_end += 4096, at.start += 4096, at.end += 4096) \
        bad |= jumplabel_kernel_load(&at) != 0 || jumplabel_kernel_load(&at) != -22; \
    bad |= jumplabel_kernel_load(&at) != -12; \
    jumplabel_kernel_unload(&first); \
    bad |= jumplabel_kernel_load(&at) != 0 || jumplabel_kernel_load(&first) != -12; \
    bad; })";

/// The last command boots. Before the kernel of the document, builds and boots two others. Without the library's lines in the linker's
/// script, it flips, too. If the script puts the table into a section of another name, the flip is refused.
fn build_and_boot(commands: &str, directory: &Path) {
    let (build, boot) = commands.trim_end().rsplit_once('\n').expect("commands");
    let script = block("docs/kernels.md", "ENTRY(start)").text;
    let without: String = script.split_inclusive('\n').filter(|line| !line.contains("__jump_")).collect();
    let joined = without.replace("*(.rodata ", "KEEP(*(__jump_table)) *(.rodata ");
    assert!(script.lines().count() == without.lines().count() + 4 && joined != without, "{script}");
    for (script, end, status) in [(&without, "off\non\n", 0), (&joined, "off\n", 1), (&script, "off\non\n", 0)] {
        write(&directory.join("link.ld"), script);
        // Cargo does not know of the script.
        printed("touch -c src/main.rs", directory);
        build.lines().for_each(|line| drop(printed(line, directory)));
        let said = printed(&format!("timeout 60 {boot} || test $? = {status}"), directory).replace('\r', "");
        assert!(said.ends_with(end), "{said}\n{script}");
    }
}

/// Boots the glue with test-crates/kernel-in-c. A twin without its interrupts between harts and one without its window are found out.
fn boot_glue(glue: &str) {
    let directory = scratch("kernel-in-c-of-documents").join("tiny");
    link_to_repository(&directory.with_file_name("jumplabel"));
    let commands = block("docs/kernels.md", "--features kernel-alone").text;
    let [library, kernel, boot] = commands.lines().collect::<Vec<_>>()[..] else { panic!("{commands}") };
    let script = block("docs/kernels.md", "ENTRY(start)").text;
    let moved = script.replace("0x80200000", "0x80000000");
    assert_ne!(script, moved);
    write(&directory.join("link.ld"), &moved);
    printed(library, &directory);
    let kernel = kernel.replace(" tiny.c ", " boot.c glue.c ").replace("-std=", "-Wall -Wextra -Werror -std=");
    let boot = boot.replace("-bios default", "-bios none -smp 4");
    let program = std::fs::read_to_string(repository("test-crates/kernel-in-c/boot.c")).unwrap();
    write(&directory.join("boot.c"), &program);
    let not_mapped = "static int map(uintptr_t at, uintptr_t *alias) { *alias = at; return 0; }\nstatic const";
    let twins = [
        glue.replace("jumplabel_riscv_clint", "jumplabel_riscv_sbi"),
        glue.replace("JUMPLABEL_RISCV_WINDOW", ".map = map").replacen("static const", not_mapped, 1),
    ];
    for (glue, status, said) in
        [(glue, 0, "flipped beside three harts\n"), (&twins[0], 1, "a trap\n"), (&twins[1], 1, "a trap\n")]
    {
        // A busy host may give an emulated hart no time for seconds.
        let patient = glue.replace("JUMPLABEL_RISCV_WINDOW", ".patience = 100000000000, JUMPLABEL_RISCV_WINDOW");
        write(&directory.join("glue.c"), &patient.replace(".map = map", ".patience = 100000000000, .map = map"));
        printed(&kernel, &directory);
        let all = printed(&format!("timeout 500 {boot} || test $? = {status}"), &directory).replace('\r', "");
        assert!(all.ends_with(said), "{all}\n{glue}");
    }
}

/// The lines follow each other in a file of the kernels that boot.
pub fn part_of_a_kernel(lines: &str) {
    let folder = repository("kernels/bare/src");
    let sources =
        std::fs::read_dir(&folder).unwrap().map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap());
    assert!(sources.into_iter().any(|source| source.contains(lines)), "no file of {} has\n{lines}", folder.display());
}

/// What a kernel in C gives without firmware: it compiles, refers to what the library has, and boots. (kernels/bare boots with the same in Rust.)
pub fn glue_in_c(program: &str) {
    let directory = scratch("glue-in-c-of-documents");
    write(&directory.join("glue.c"), program);
    let include = repository("crates/jumplabel-capi/include");
    let flags = "-std=gnu11 -Wall -Wextra -Werror -Os -march=rv64gc -mabi=lp64d -mcmodel=medany -ffreestanding";
    printed(&format!("riscv64-linux-gnu-gcc {flags} -c -I {} glue.c", include.display()), &directory);
    let names = printed("riscv64-linux-gnu-nm glue.o", &directory);
    assert!(names.contains(" T jumplabel_riscv_entry\n") && names.contains(" U timer_entry\n"), "{names}");
    let library = std::fs::read_to_string(repository("crates/jumplabel-capi/src/riscv.rs")).unwrap();
    for name in names.lines().filter_map(|line| line.trim().strip_prefix("U jumplabel_riscv_")) {
        let is_there = name == "ticked_" || library.contains(&format!("fn jumplabel_riscv_{name}("));
        assert!(is_there, "the library has no jumplabel_riscv_{name}");
    }
    boot_glue(program);
    // The handler in machine mode has the same instructions in both languages. Rust has it for 32 bits, too: there the names of two differ.
    let handler = |file: &str| -> Vec<String> {
        let text = std::fs::read_to_string(repository(file)).unwrap();
        let of = |what: &str| format!("concat!($crate::__register_asm!({what}), \"");
        let text = text.replace(&of("load"), "\"ld").replace(&of("store"), "\"sd");
        let lines = text.lines().filter_map(|line| line.split('"').nth(1).map(|line| line.replace("\\n", "")));
        lines.skip_while(|line| !line.starts_with("csrrw")).take_while(|line| line != "j ").collect()
    };
    let [rust, c] =
        [handler("crates/jumplabel-kernel/src/riscv.rs"), handler("crates/jumplabel-capi/include/jumplabel/riscv.h")];
    assert!(rust == c && rust.len() == 32, "{rust:#?}\n{c:#?}");
}
