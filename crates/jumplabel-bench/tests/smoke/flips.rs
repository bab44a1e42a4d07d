//! `flips`.

use std::process::Command;

use serde_json::{Value, json};

use super::{ensure, smoke};

#[test]
#[cfg_attr(any(miri, jumplabel_fallback), ignore = "no sites")]
fn flips() {
    fn check(answer: &Value) -> Result<(), String> {
        let rows = answer["latency"].as_array().ok_or("no rows")?;
        for (sites, pages) in [(1, 1), (100, 4), (10_000, 313)] {
            for variant in ["floor", "bare procmem", "bare mprotect", "automatic", "procmem", "mprotect"] {
                let row = rows.iter().find(|row| row["sites"] == sites && row["variant"] == variant);
                let row = row.ok_or(format!("no {variant} for {sites}"))?;
                ensure(row["pages"] == pages, "pages")?;
                ensure(row["overlap"].as_f64().is_some_and(|part| (0.0..=1.0).contains(&part)), "overlap")?;
                ensure(variant == "floor" || row["writer"].is_string(), "writer")?;
                ensure((variant == "automatic") == row["target"]["limit"].is_number(), "target")?;
                let target = &row["target"];
                // Nothing is said of what was not measured.
                ensure(target["figure"].is_null() == target["ok"].is_null(), "verdict")?;
                ensure(row["samples"] != 0 || target["ok"].is_null(), "verdict without samples")?;
            }
        }
        ensure(answer["first"].as_array().is_some_and(|rows| rows.len() == 3), "first flips")?;
        ensure(answer["crossover"]["sizes"].as_array().is_some_and(|sizes| sizes.len() == 7), "crossover")?;
        let naked = answer["naked"].as_array().ok_or("no naked keys")?;
        for (row, (is_naked, checks)) in naked.iter().zip([(true, 1), (true, 10_000), (false, 1), (false, 10_000)]) {
            let measured = row["samples"] == 0 || row["p10_us"].is_number();
            ensure(row["naked"] == is_naked && row["sites"] == checks && measured, "naked keys")?;
        }
        ensure(naked.len() == 4 && naked[1]["target"]["limit"].is_number(), "naked keys")?;
        let memory = &answer["memory"];
        ensure(memory["sites"].as_u64() > Some(10_400), "sites")?;
        ensure(memory["table_bytes_a_site"] == 16.0, "16 bytes a site")?;
        ensure(memory["index_bytes_a_site"]["figure"].as_f64().is_some_and(|bytes| bytes <= 8.0), "index")?;
        let mappings = &answer["mappings"];
        let (before, after) = (mappings["before"].as_u64(), mappings["after"].as_u64());
        // The index, the list of changes, the lock's two pages, and the text's mapping where it was split: not one a flip.
        ensure(mappings["flips"].as_u64() >= Some(10_000), "flips")?;
        ensure(before.zip(after).is_some_and(|(before, after)| after <= before + 12), "mappings")
    }
    smoke(
        "flips",
        check,
        &[
            ("/memory/table_bytes_a_site", json!(16.002)),
            ("/memory/index_bytes_a_site/figure", json!(8.5)),
            ("/mappings/after", json!(425)),
            ("/latency/0/pages", json!(7)),
            ("/naked/1/sites", json!(1)),
        ],
    );
}

/// On one processor the executing thread is never beside a flip: most rows have no samples, and no row says that a target was
/// missed by something that is not a number.
#[test]
#[cfg_attr(any(miri, jumplabel_fallback), ignore = "no sites")]
fn flips_on_one_processor() {
    use std::os::unix::process::CommandExt;

    let mut command = Command::new(env!("CARGO_BIN_EXE_jumplabel-bench"));
    command.args(["flips", "--quick"]);
    // SAFETY: one system call between fork and exec: the process keeps the processor that it is on.
    unsafe {
        command.pre_exec(|| {
            let mut one: libc::cpu_set_t = std::mem::zeroed();
            libc::CPU_SET(libc::sched_getcpu() as usize, &mut one);
            match libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const one) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        });
    }
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && !text.to_lowercase().contains("nan"), "{text}");
    let verdicts = text.lines().filter(|line| line.contains(" <= ") && line.contains(" 0 %"));
    let (mut rows, mut silent) = (0, 0);
    for line in verdicts {
        rows += 1;
        silent += i32::from(line.ends_with("not measured"));
    }
    assert!(rows == silent, "a row without samples has a verdict: {text}");
}
