//! `layers`.

use serde_json::{Value, json};

use crate::{ensure, smoke};

#[test]
#[cfg_attr(any(miri, jumplabel_fallback), ignore = "no sites")]
fn layers() {
    fn check(answer: &Value) -> Result<(), String> {
        for shape in ["latency_bound", "alu_saturated"] {
            let rows = answer[shape]["guards"].as_array().ok_or(shape)?;
            ensure(rows.len() == 16 && answer[shape]["rounds"].as_u64() > Some(0), "rows")?;
            ensure(rows.iter().all(|row| row["ns"].is_number()), "ns")?;
            ensure(
                rows.iter().all(|row| row["ns_interval"].as_array().is_some_and(|ends| ends.len() == 2)),
                "interval",
            )?;
            if answer["optimised"] != true {
                continue;
            }
            for row in rows {
                let is_site = ["static key", "jumplabel-fail, no fail point", "jumplabel-fail, another fail point"]
                    .iter()
                    .any(|site| row["guard"] == *site);
                let wanted = if is_site { 1.0..=1.0 } else { 2.0..=1000.0 };
                // Where tracing is not allowed there is nothing to compare.
                ensure(row["instructions"].as_f64().is_none_or(|count| wanted.contains(&count)), "instructions")?;
            }
        }
        ensure(answer["latency_bound"]["guards"][0]["guard"] == "static key", "no key")
    }
    let mut lies = vec![
        ("/latency_bound/guards", json!([])),
        ("/alu_saturated/guards/3/ns", Value::Null),
        ("/alu_saturated/guards/4/ns_interval", json!([1.0])),
        ("/latency_bound/rounds", json!(0)),
        ("/latency_bound/guards/0/guard", json!("log, off")),
    ];
    if !cfg!(debug_assertions) {
        // Rows 12 and 13 are those of jumplabel-fail that have one instruction.
        lies.extend([
            ("/latency_bound/guards/12/instructions", json!(2.0)),
            ("/alu_saturated/guards/13/instructions", json!(49.0)),
            ("/latency_bound/guards/14/instructions", json!(1.0)),
        ]);
    }
    smoke("layers", check, &lies);
}
