//! `calls`.

use serde_json::{Value, json};

use super::{ensure, smoke};

#[test]
#[cfg_attr(any(miri, jumplabel_fallback), ignore = "no sites")]
fn calls() {
    fn check(answer: &Value) -> Result<(), String> {
        for shape in ["latency_bound", "throughput_bound", "beside_a_hash"] {
            let rows = answer[shape]["calls"].as_array().ok_or(shape)?;
            ensure(rows.len() == 12 && answer[shape]["rounds"].as_u64() > Some(0), "rows")?;
            ensure(rows.iter().all(|row| row["ns"].as_f64() > Some(0.0)), "ns")?;
            let instructions = |name: &str| {
                let row = rows.iter().find(|row| row["call"] == name).ok_or(name.to_owned());
                row.map(|row| row["instructions"].as_f64())
            };
            let direct = instructions("direct call")?;
            // Where tracing is not allowed there is nothing to compare.
            if let (true, Some(direct)) = (answer["optimised"] == true, direct) {
                // The trampoline's `endbr64` and its jump; and a jump by the slot.
                for (name, more) in [("static call", 2.0), ("static call, out of reach", 3.0)] {
                    ensure(instructions(name)? == Some(direct + more), name)?;
                }
                let listed = instructions("static call, at its site")?;
                if shape == "beside_a_hash" {
                    // Some displacements lie across eight aligned bytes: those calls go to the trampoline.
                    ensure(listed >= Some(direct) && listed <= Some(direct + 2.0), "at its site")?;
                } else {
                    ensure(instructions("inlined")? == Some(direct - 3.0) && listed == Some(direct), "at its site")?;
                }
                ensure(answer["listed"]["calls"] == 192 && answer["listed"]["straight"].as_u64() > Some(64), "listed")?;
            }
        }
        let targets = answer["targets"].as_array().ok_or("no targets")?;
        ensure(targets.len() == 25 && targets.iter().all(|row| row["target"]["limit"].is_number()), "targets")?;
        let update = &answer["update"];
        ensure(update["writer"].is_string() && update["rounds"].as_u64() > Some(0), "update")?;
        // The byte that passes, what is behind it, the byte; or the one byte that changes.
        let core_syncs = if update["changed_bytes"] == 1 { 1 } else { 3 };
        ensure(update["core_syncs"].is_null() || update["core_syncs"] == core_syncs, "core syncs")?;
        ensure(update["target"]["figure"].is_null() == update["target"]["ok"].is_null(), "verdict")
    }
    smoke(
        "calls",
        check,
        &[
            ("/latency_bound/calls", json!([])),
            ("/throughput_bound/calls/3/ns", json!(0)),
            ("/targets/0/target/limit", Value::Null),
            ("/update/core_syncs", json!(4)),
            ("/update/writer", Value::Null),
        ],
    );
}
