//! Changes under threads.

use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

use jumplabel_testing::cargo::{self, Build};

use super::busy::{BACK, Busy, THERE, busy_site, program, tool};

/// 200 changes, beside threads that compare counts with sites, threads that come and go, flips of the program's own, and signals of which none
/// may be lost.
#[test]
fn under_threads() {
    let mut busy = Busy::start();
    assert_eq!(busy.ask("spawn"), "done");
    for round in 0..100 {
        if round == 50 {
            assert_eq!(busy.ask("shake"), "done");
        }
        for items in [THERE, BACK] {
            for signal in [libc::SIGUSR1, libc::SIGRTMIN() + 3] {
                // SAFETY: a signal that the program counts.
                assert_eq!(unsafe { libc::kill(busy.pid.cast_signed(), signal) }, 0);
            }
            busy.set(&items).done();
        }
    }
    let [looks, wrong, usual, real_time] = busy.report().unwrap();
    assert!(looks > 1000 && wrong == 0, "{wrong} of {looks} looks");
    // Of one that comes again before it is taken, one is lost; not of those in real time.
    assert!(usual > 0 && real_time == 200, "{usual} and {real_time} signals");
    busy.check().done();
    assert_eq!(busy.ask("agree"), "yes yes");
}

/// The twin: nobody stops the threads, and they see sites that differ from their counts.
#[test]
fn without_a_stop() {
    let mut busy = Busy::start();
    for _ in 0..1000 {
        for items in [THERE, BACK] {
            busy.set(&[&["--worker", "--runs"], &items[..]].concat());
        }
        if busy.report().is_none_or(|[_, wrong, ..]| wrong > 0) {
            return;
        }
    }
    panic!("it made no difference");
}

#[test]
fn what_it_says() {
    let busy = Busy::start();
    let listed = tool(&["list", "--force"], busy.pid, &["busy.*"], None).done();
    let rows: Vec<Vec<_>> = listed.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["KEY", "STATE", "COUNT", "SITES", "NOTE"]);
    assert_eq!(rows[1], ["busy.cold", "off", "0", "3", "-"]);
    assert_eq!(rows[2], ["busy.hot", "on", "1", "3", "-"]);
    assert_eq!(rows[3][..5], ["busy.loads", "off", "0", "3", "3"]);
    assert!(listed.contains(" 3 of 3 sites load\n"), "{listed}");
    let dry = busy.set(&["--dry-run", "busy.cold=on"]).done();
    assert!(dry.contains("nothing was changed; the undo would be: jumplabel set --force"), "{dry}");
    busy.check().done();
    tool(&["check", "--force"], busy.pid, &["busy.cold=off", "busy.hot=on"], None).done();

    let set = busy.set(&["busy.cold=on", "busy.hot=off"]).done();
    let undo = format!("undo: jumplabel set --force {} busy.cold=off busy.hot=on", busy.pid);
    assert_eq!(set.lines().last(), Some(&*undo), "{set}");
    let differs = tool(&["check", "--force"], busy.pid, &["busy.cold=off"], None);
    assert_eq!((differs.code, &*differs.out), (Some(1), "busy.cold is on, not off\n"));
    assert_eq!(busy.set(&["busy.cold=on"]).done(), "nothing to change\n");
    let sites = tool(&["sites"], busy.pid, &["busy.cold", "busy.hot"], None).done();
    let states: Vec<_> = sites.lines().skip(1).filter_map(|line| line.split_whitespace().nth(2)).collect();
    assert!(states == ["jump"; 6] && !sites.contains("e900000000"), "{sites}");
    let disasm = tool(&["disasm"], busy.pid, &["busy.hot", "--site", "0"], None).done();
    assert!(
        disasm.contains("; off") && disasm.lines().last().is_some_and(|line| line.contains("test eax")),
        "{disasm}"
    );

    let more = busy.set(&["--json", "busy.cold+1"]).done();
    assert!(more.contains(r#""from":"on/1","to":"on/2""#) && more.contains(r#""undo":"busy.cold-1""#), "{more}");
    busy.set(&["busy.cold=off"]).refused(4, "busy.cold: ");
    busy.set(&["busy.cold-1"]).done();
    busy.set(&["busy.cold=off", "file:main.rs=on", "busy.sealed=off", "busy.cold=off"]).done();
    let printed = tool(&["check", "--force"], busy.pid, &["busy.cold=off", "busy.other=on"], None).done();
    assert_eq!(printed, "");
}

/// Something gave a site of a key that is on the bytes of the file back: a change to on finds that out.
#[test]
fn strayed() {
    let busy = Busy::start();
    busy.set(&["busy.cold=on"]).done();
    // SAFETY: stops our child, so that nobody runs into it.
    unsafe { libc::kill(busy.pid.cast_signed(), libc::SIGSTOP) };
    let memory = std::fs::OpenOptions::new().write(true).open(format!("/proc/{}/mem", busy.pid)).unwrap();
    memory.write_all_at(&[0x0f, 0x1f, 0x44, 0, 0], busy_site(&busy)).unwrap();
    assert_eq!(busy.check().code, Some(4));
    busy.set(&["busy.cold+1"]).done();
    assert_eq!(busy.check().code, Some(4), "a user more brings nothing back");
    busy.set(&["busy.cold-1"]).done();
    let told = busy.set(&["busy.cold=on"]).done();
    assert!(told.starts_with("nothing to change\nnote: 1 sites did something else"), "{told}");
    busy.check().done();
}

/// A process that is stopped stays so; its keys are changed all the same.
#[test]
fn stopped() {
    let mut busy = Busy::start();
    let signal = |number| {
        // SAFETY: stops or continues our child.
        assert_eq!(unsafe { libc::kill(busy.pid.cast_signed(), number) }, 0);
    };
    signal(libc::SIGSTOP);
    // It may take that signal before the tool comes or behind it, and goes back to that state when the tool lets it go.
    let wait = || {
        while !std::fs::read_to_string(format!("/proc/{}/stat", busy.pid)).unwrap().contains(") T ") {
            std::thread::yield_now();
        }
    };
    wait();
    busy.set(&THERE).done();
    wait();
    signal(libc::SIGCONT);
    assert_eq!(busy.ask("agree"), "yes yes");
    assert_eq!(busy.report().unwrap()[1], 0);
}

/// The first thread has ended; its number is the process's all the same.
#[test]
fn without_the_first_thread() {
    let mut busy = Busy::run(Command::new(program()).args(["2", "leaves"]));
    while !jumplabel_testing::programs::first_thread_has_ended(busy.pid) {
        std::thread::yield_now();
    }
    busy.set(&THERE).done();
    busy.check().done();
    assert_eq!(busy.ask("agree"), "yes yes");
    assert_eq!(busy.report().unwrap()[1], 0);
}

/// The file of the program is gone, or another one is in its place.
#[test]
fn deleted() {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("busy-{}", std::process::id()));
    jumplabel_testing::programs::copy(program(), &path).unwrap();
    let mut busy = Busy::run(&mut Command::new(&path));
    std::fs::remove_file(&path).unwrap();
    busy.set(&THERE).done();
    jumplabel_testing::programs::copy(std::path::Path::new("/bin/true"), &path).unwrap();
    busy.set(&BACK).done();
    busy.set(&THERE).done();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(busy.ask("agree"), "yes yes");
}

/// A process with another number and another root inside.
#[test]
fn in_a_container() {
    let mut command = Command::new("unshare");
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("in-a-container");
    std::fs::create_dir_all(&root).unwrap();
    let inside = format!("mount -t tmpfs none '{}' && exec {} 2", root.display(), program().display());
    command.args(["--mount", "--pid", "--fork", "--kill-child", "sh", "-c", &inside]);
    // SAFETY: asks for a number.
    if unsafe { libc::geteuid() } != 0 {
        return eprintln!("skipped: only root may make namespaces");
    }
    let mut busy = Busy::run(&mut command);
    let children = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", busy.pid)).unwrap();
    busy.pid = children.trim().parse().unwrap();
    busy.set(&THERE).done();
    assert_eq!(busy.ask("agree"), "yes yes");
    assert_eq!(busy.report().unwrap()[1], 0);
}

/// Keys of a library, with sites in it, in the program and in a library that came later.
#[test]
fn keys_in_another_object() {
    let libraries = Command::new("rustc").args(["--print", "target-libdir"]).output().unwrap().stdout;
    let build = Build::of("dylib").args(&["--workspace"]).env("RUSTFLAGS", "--cfg jumplabel_dylib -Cprefer-dynamic");
    let results = build.results_in("force", &["dylib", "libshared.so", "liblate.so"]);
    let path = format!("{}:{}", results[0].parent().unwrap().display(), String::from_utf8_lossy(&libraries).trim());
    let mut busy = Busy::run(Command::new(&results[0]).arg("serve").env("LD_LIBRARY_PATH", path));
    let listed = tool(&["list", "--force"], busy.pid, &["shared::PLAIN"], None).done();
    assert!(listed.lines().any(|line| line.split_whitespace().eq(["shared::PLAIN", "off", "0", "7", "-"])), "{listed}");
    assert_eq!(busy.ask("look"), "[false, true, true, false] 0");
    for _ in 0..3 {
        busy.set(&["shared::PLAIN=on", "dylib::PROGRAM=on"]).done();
        assert_eq!(busy.ask("look"), "[true, true, true, true] 1");
        busy.set(&["obj:dylib=off", "shared::PLAIN=off"]).done();
        assert_eq!(busy.ask("look"), "[false, true, true, false] 0");
    }
    busy.check().done();
    drop(busy);
    cargo::discard(&results);
}
