//! `cache`.

use serde_json::{Value, json};

use crate::{ensure, smoke};

const WAYS: [&str; 7] = ["constant", "naked key", "site", "plain load", "relaxed load", "acquire load", "SeqCst load"];

fn rows<'a>(of: &'a Value, what: &str) -> Result<&'a Vec<Value>, String> {
    of.as_array().ok_or(format!("no {what}"))
}

fn check(answer: &Value) -> Result<(), String> {
    let shapes = [("single", 20), ("concentrated", 10_000), ("scattered", 100)];
    let several = answer["machine"]["cpus"].as_u64() > Some(1);
    for (phase, is_there) in [("one_processor", true), ("all_processors", several)] {
        let phase = &answer[phase];
        if !is_there {
            ensure(phase.is_null(), "one processor alone")?;
            continue;
        }
        ensure(phase["rounds"].as_u64() > Some(0) && phase["fill_bytes"] == 2 << 20, "rounds and fills")?;
        let found = rows(&phase["ways"], "ways")?;
        ensure(found.len() == 2 * shapes.len() * WAYS.len(), "ways")?;
        for (at, row) in found.iter().enumerate() {
            let (program, rest) = (at / 21, at % 21);
            ensure(row["program"] == ["one_place", "places"][program] && row["way"] == WAYS[rest / 3], "order")?;
            let (shape, checks) = shapes[rest % 3];
            ensure(row["loop"] == shape && row["checks"] == checks, "checks")?;
            ensure(row["ns"].is_number() && row["ns_of_all"].as_f64() > Some(0.0), "ns")?;
        }
    }
    ensure(several || answer["written"].is_null(), "nobody writes")?;
    ensure(!several || rows(&answer["written"]["ways"], "written line")?.len() == 5, "written line")?;
    let orders = rows(&answer["orders"], "orders")?;
    let published = orders.iter().map(|row| row["published_percent"].as_f64().unwrap_or_default());
    ensure(published.eq([13.85, 13.85, 3.8, 3.8, 21.13, 21.13]), "published figures")?;
    for row in orders {
        let [naked, atomic] = ["naked_ns", "atomic_ns"].map(|name| row[name].as_f64());
        ensure(naked > Some(0.0) && atomic > Some(0.0) && row["saved_percent"].is_number(), "orders")?;
    }
    code(answer)?;
    riscv(answer)
}

/// What was decoded, on this machine.
fn code(answer: &Value) -> Result<(), String> {
    let code = rows(&answer["code"], "code")?;
    // And a flag on a line that another thread writes.
    ensure(code.len() == if answer["optimised"] == true { 2 * WAYS.len() + 1 } else { 0 }, "code")?;
    for row in code {
        let way = row["way"].as_str().unwrap_or_default();
        ensure(row["loads"] == u64::from(way.contains("load")), "loads")?;
        ensure(way != "site" || row["instructions"] == 1, "a site is one instruction")?;
        ensure(way != "constant" || row["instructions"] == 0, "a constant is none")?;
    }
    Ok(())
}

/// The note's instruction set, if its target is installed.
fn riscv(answer: &Value) -> Result<(), String> {
    if !jumplabel_testing::cargo::has_target(None, "riscv64imac-unknown-none-elf") {
        println!("skipped: rustup target add riscv64imac-unknown-none-elf");
        return ensure(answer["riscv64"].is_null(), "a table without a compiler");
    }
    let riscv = rows(&answer["riscv64"], "RISC-V")?;
    let counts = |name: &str| riscv.iter().map(|row| row[name].as_i64().unwrap_or(-1)).collect::<Vec<_>>();
    ensure(counts("loads") == [0, 0, 0, 1, 1, 1, 1], "loads on RISC-V")?;
    ensure(counts("fences") == [0, 0, 0, 0, 0, 1, 2], "fences on RISC-V")?;
    let instructions = counts("instructions");
    // A call takes one or two, which is the linker's choice.
    ensure(
        instructions[0] == 0 && instructions[2] == 1 && (4..=5).contains(&instructions[1]),
        "instructions on RISC-V",
    )?;
    ensure(instructions[4] + 1 == instructions[5] && instructions[5] + 1 == instructions[6], "fences are instructions")
}

#[test]
#[cfg_attr(any(miri, jumplabel_fallback), ignore = "no sites")]
fn cache() {
    let lies = [
        ("/one_processor/ways", json!([])),
        ("/one_processor/fill_bytes", json!(1 << 20)),
        ("/one_processor/ways/22/checks", json!(1)),
        ("/orders/4/published_percent", json!(12.9)),
        ("/orders/0/naked_ns", Value::Null),
        ("/code", json!([{}])),
        ("/written", json!({ "ways": [] })),
    ];
    smoke("cache", check, &lies);
}
