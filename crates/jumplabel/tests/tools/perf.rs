//! perf names the code that runs, and finds the caller of a call through a trampoline.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use jumplabel::set_writer;
use jumplabel_testing::scenario::passes;

use super::{WRITERS, need};

/// The samples that perf prints of this process while `work` runs. `None`, with a message, if perf cannot sample.
fn sampled(flags: &[&str], fields: &str, mut work: impl FnMut()) -> Option<String> {
    need("perf");
    let data = std::env::temp_dir().join(format!("jumplabel-perf-{}", std::process::id()));
    // On a busy machine perf may be ready only when the work is done.
    for _ in 0..3 {
        let mut perf = Command::new("perf");
        perf.args(["record", "-q", "-e", "cpu-clock", "-F", "500"]).args(flags).arg("-o").arg(&data);
        perf.args(["-p", &std::process::id().to_string()]).stdout(Stdio::null()).stderr(Stdio::null());
        let mut perf = perf.spawn().unwrap();
        while !is_watching(&perf) && perf.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(5));
        }
        work();
        // SAFETY: asks a child of ours to end.
        unsafe { libc::kill(perf.id() as i32, libc::SIGINT) };
        perf.wait().unwrap();
        let script = Command::new("perf").args(["script", "-F", fields, "-i"]).arg(&data).output().unwrap();
        let _ = std::fs::remove_file(&data);
        let script = String::from_utf8_lossy(&script.stdout).into_owned();
        if !script.trim().is_empty() {
            return Some(script);
        }
    }
    println!("skipped: perf cannot sample here");
    None
}

/// Whether perf has its counter.
fn is_watching(perf: &Child) -> bool {
    let Ok(files) = std::fs::read_dir(format!("/proc/{}/fd", perf.id())) else { return false };
    let links = files.filter_map(|file| file.ok()?.path().read_link().ok());
    links.into_iter().any(|link| link.to_string_lossy().contains("perf_event"))
}

/// Until this thread has run for so long.
fn for_a_while(mut work: impl FnMut()) {
    let ran = || {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: writes the time.
        unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    };
    let end = ran() + Duration::from_millis(300);
    while ran() < end {
        work();
    }
}

/// The function that perf is to find.
#[inline(never)]
fn the_hot_loop() {
    let mut on = 0;
    for _ in 0..10_000 {
        on += usize::from(jumplabel::static_branch_unlikely!(HOT));
        std::hint::black_box(&mut on);
    }
}

jumplabel::static_key! { static HOT: false; }

#[test]
fn perf_names_what_runs() {
    passes(|| {
        for writer in WRITERS {
            set_writer(writer);
            HOT.enable().unwrap();
            HOT.disable().unwrap();
            HOT.enable().unwrap();
            let Some(script) = sampled(&[], "ip,sym", || for_a_while(the_hot_loop)) else { break };
            let samples = script.lines().count();
            let named = script.lines().filter(|line| line.contains("the_hot_loop")).count();
            let unknown = script.lines().filter(|line| line.contains("[unknown]")).count();
            println!("{writer:?}: {samples} samples, {named} in the loop, {unknown} unknown");
            HOT.disable().unwrap();
            assert!(named > 0 && unknown * 10 < samples, "the names are gone after {writer:?}:\n{script}");
        }
    });
}

jumplabel::static_call! { static WORK: extern "C" fn(u32) -> u32 = work_at_first; }

extern "C" fn work_at_first(x: u32) -> u32 {
    x
}

#[inline(never)]
extern "C" fn work_of_now(x: u32) -> u32 {
    (0..8).fold(x, |sum, number| std::hint::black_box(sum ^ number))
}

#[inline(never)]
fn who_has_work_done() {
    for number in 0..10_000 {
        std::hint::black_box(WORK(number));
    }
}

/// Samples in the target of a call, and those in its trampoline, lead to the caller: the trampoline has unwind information as any
/// function has, and leaves no frame.
#[test]
#[cfg(jumplabel_trampolines)]
fn perf_finds_the_caller_through_a_trampoline() {
    passes(|| {
        WORK.update(work_of_now).unwrap();
        let flags = ["--call-graph", "dwarf,4096"];
        let Some(script) = sampled(&flags, "ip,sym", || for_a_while(who_has_work_done)) else { return };
        // A sample is a paragraph, the innermost function first.
        let samples = script.split("\n\n").map(|sample| sample.trim().lines().collect::<Vec<_>>());
        let samples: Vec<_> = samples.filter(|sample| !sample.is_empty()).collect();
        let mut met = [0; 2];
        for sample in samples {
            for (met, name) in met.iter_mut().zip(["work_of_now", "__trampoline"]) {
                let Some(at) = sample.iter().position(|frame| frame.ends_with(name)) else { continue };
                *met += 1;
                let is_found = sample.get(at + 1).is_some_and(|caller| caller.ends_with("who_has_work_done"));
                assert!(is_found, "the caller is not found: {sample:#?}");
            }
        }
        println!("{} samples in the target, {} in the trampoline", met[0], met[1]);
        assert!(met[0] > 0, "{script}");
    });
}
