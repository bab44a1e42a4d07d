//! `pipe` and `sqlite`. The programs are compiled; takes half a minute the first time.

use serde_json::{Value, json};

use crate::{ensure, smoke};

#[test]
#[cfg_attr(any(miri, jumplabel_fallback), ignore = "no sites")]
fn pipe() {
    fn check(answer: &Value) -> Result<(), String> {
        let rows = answer["rows"].as_array().ok_or("no rows")?;
        ensure(rows.len() == 11 && rows[1]["row"] == "task-clock, us", "the document's rows")?;
        // The clocks are everywhere, counters are not.
        for row in [0, 10] {
            ensure(rows[row]["fallback"].as_f64().zip(rows[row]["keys"].as_f64()).is_some(), "clocks")?;
        }
        ensure(answer["sites"] == 13, "sites")?;
        let simulated = answer["simulated"].as_array().ok_or("no simulated rows")?;
        let of = |row: usize, way: &str| simulated[row][way].as_f64();
        ensure(simulated[0]["row"] == "instructions" && simulated[3]["row"] == "branches", "simulated rows")?;
        // 2,000 switches with 13 checks: one instruction each, or at least two, of which one is a branch. Without callgrind, nothing.
        let [without, fallback, keys] = ["without", "fallback", "keys"].map(|way| of(0, way).zip(of(3, way)));
        if let (Some(without), Some(fallback), Some(keys)) = (without, fallback, keys) {
            ensure(fallback.1 - keys.1 >= 2_000.0 * 12.0, "a site is no branch")?;
            ensure(without.0 < keys.0 && keys.0 < fallback.0, "instructions")?;
        }
        Ok(())
    }
    let lies = [
        ("/rows/0/keys", Value::Null),
        ("/rows/1/row", json!("cycles")),
        ("/sites", json!(12)),
        ("/simulated/3/keys", json!(1e9)),
    ];
    smoke("pipe", check, &lies);
}

#[test]
#[cfg_attr(any(miri, jumplabel_fallback), ignore = "no sites")]
fn sqlite() {
    fn check(answer: &Value) -> Result<(), String> {
        let ways = answer["ways"].as_array().ok_or("no ways")?;
        let names = ["constant", "site", "relaxed load", "site, on", "site, off again", "relaxed load, on"];
        ensure(ways.iter().map(|way| way["way"].as_str().unwrap_or_default()).eq(names), "ways")?;
        ensure(ways.iter().all(|way| way["ratio"].as_f64() > Some(0.0)), "ratios")?;
        ensure(answer["sites"].as_u64() > Some(5_000), "sites")?;
        let of = |row: usize| ways[row]["simulated"]["instructions"].as_f64();
        if let (Some(off), Some(on)) = (of(1), of(3)) {
            // All assertions are executed, and thousands of sites are one instruction each.
            ensure(on > off + 0.2 && off > 1.0, "instructions")?;
        }
        ensure(ways[0]["text"].as_u64() < ways[1]["text"].as_u64(), "text")
    }
    let lies = [
        ("/ways/1/way", json!("constant")),
        ("/ways/4/ratio", Value::Null),
        ("/sites", json!(13)),
        ("/ways/3/simulated/instructions", json!(1.0)),
        ("/ways/0/text", json!(1e12 as u64)),
    ];
    smoke("sqlite", check, &lies);
}
