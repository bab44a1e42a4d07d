//! `ops`.

use serde_json::{Value, json};

use crate::{ensure, smoke};

#[test]
#[cfg_attr(any(miri, jumplabel_fallback), ignore = "no sites")]
fn ops() {
    fn check(answer: &Value) -> Result<(), String> {
        let optimised = answer["optimised"] == true;
        ensure(answer["layouts"].as_u64() >= Some(8) && answer["rounds"].as_u64() > Some(0), "layouts")?;
        let columns = answer["columns"].as_array().ok_or("no columns")?;
        let find = |load: &str, name: &str, backend: &str| {
            let is_it = |row: &&Value| row["load"] == load && row["column"] == name && row["backend"] == backend;
            columns.iter().find(is_it).ok_or(format!("no {name}, {backend}: {load}"))
        };
        let ways = [
            "no table",
            "all but lock ops",
            "direct calls",
            "table indirect",
            "static call",
            "native in place",
            "UP mode",
        ];
        for load in ["lock-dense, out of line", "lock-dense, inlined", "sparse, out of line"] {
            for way in ways {
                let row = find(load, way, "Native")?;
                ensure(row["cycles"].as_f64() > Some(0.0) && row["text"][0].as_u64() > Some(0), "cycles and bytes")?;
                let rows = row["rows"].as_array().ok_or("no rows")?;
                let is_full = rows.iter().all(Value::is_number) || answer["counter"].is_null();
                ensure(rows.len() == 10 && rows[0].is_number() && rows[9].is_number() && is_full, "ten rows")?;
            }
            ensure(find(load, "no table", "Native")?["cycles"] == 100.0, "what 100 is")?;
            // Where there is no callgrind, and where tracing is not allowed, nothing is compared.
            let instructions = |way: &str| find(load, way, "Native").map(|row| row["rows"][1].as_f64());
            let (plain, in_place) = (instructions(ways[0])?, instructions(ways[5])?);
            ensure(!optimised || plain == in_place, "in place, an instruction for an instruction")?;
            for way in &ways[1..5] {
                ensure(!optimised || plain.is_none() || instructions(way)? > plain, "calls cost instructions")?;
            }
        }
        for load in ["lock-dense, out of line", "lock-dense, inlined"] {
            for (name, backend) in [("table indirect", "Closed"), ("closed arms", "Closed"), ("open arms", "Open")] {
                ensure(find(load, name, backend)?["of_table"].is_number(), "backends beside the table")?;
            }
            ensure(find(load, "lock: UP mode left", "Locked")?["cycles"].is_number(), "UP mode left")?;
            for part in ["lock", "unlock"] {
                for way in &ways[2..6] {
                    let way = way.trim_end_matches('s');
                    ensure(find(load, &format!("{part}: {way}"), "Native")?["cycles"].is_number(), "parts")?;
                }
            }
        }
        // The bytes in memory; the command looks at them before it measures, too, each time.
        for (backend, byte) in [("Native", 0x3e), ("Closed", 0x3e), ("Open", 0x3e), ("Locked", 0xf0)] {
            let layouts = usize::try_from(answer["layouts"].as_u64().unwrap_or_default()).unwrap_or_default();
            ensure(answer["prefixes"][backend] == json!(vec![byte; layouts]), "prefixes")?;
        }
        let sites = &answer["call_sites"];
        ensure(
            sites["number"].as_u64() > Some(0) && sites["before"][0] == 0xff && sites["before"][1] == 0x15,
            "before",
        )?;
        ensure(sites["after"][0] == 0xe8 && sites["after"][5] == 0x90, "after")?;
        ensure(answer["switch_us"]["sites"] == 4 && answer["switch_us"]["p50"].is_number(), "switch")?;
        let targets = answer["targets"].as_array().ok_or("no targets")?;
        ensure(targets.len() == 14, "targets")?;
        for row in targets.iter().filter(|row| !row["target"]["limit"].is_null()) {
            let target = &row["target"];
            let met = target["figure"].as_f64().zip(target["limit"].as_f64()).map(|(figure, limit)| figure <= limit);
            ensure(target["ok"].as_bool() == met, "a verdict that the figure does not bear out")?;
        }
        Ok(())
    }
    smoke(
        "ops",
        check,
        &[
            ("/layouts", json!(7)),
            ("/rounds", json!(0)),
            ("/prefixes/Native/3", json!(0xf0)),
            ("/prefixes/Locked/0", json!(0x3e)),
            ("/columns/0/cycles", json!(99.0)),
            ("/columns/1/rows", json!([1, 2])),
            ("/columns/1/rows/0", Value::Null),
            ("/columns/2/text/0", json!(0)),
            ("/columns/5/column", json!("static call")),
            ("/columns/21/of_table", Value::Null),
            ("/call_sites/before/1", json!(0x14)),
            ("/call_sites/after/5", json!(0x66)),
            ("/switch_us/sites", json!(8)),
            ("/targets/1/target/ok", Value::Null),
        ],
    );
}
