//! `up`.

use serde_json::{Value, json};

use crate::{ensure, smoke};

#[test]
#[cfg_attr(any(miri, jumplabel_fallback), ignore = "no sites")]
fn up() {
    fn check(answer: &Value) -> Result<(), String> {
        let rows = answer["variants"].as_array().ok_or("no variants")?;
        let names = ["lock, constant", "lock, put in", "UP mode", "no lock, constant"];
        ensure(rows.iter().map(|row| row["variant"].as_str().unwrap_or_default()).eq(names), "variants")?;
        ensure(rows.iter().all(|row| row["ns"].is_number() && row["percent"].is_number()), "figures")?;
        // A prefix is no instruction. Where tracing is not allowed there is nothing to compare.
        ensure(rows.iter().all(|row| row["instructions"] == rows[0]["instructions"]), "instructions")?;
        let target = &answer["target"];
        let met = target["figure"].as_f64().map(|figure| figure <= 60.0);
        ensure(target["limit"] == 60.0 && met.is_some() && target["ok"].as_bool() == met, "target")
    }
    let lies = [
        ("/variants", json!([])),
        ("/variants/2/instructions", json!(1)),
        ("/variants/1/ns", Value::Null),
        ("/target/figure", Value::Null),
        ("/target/limit", json!(61.0)),
    ];
    smoke("up", check, &lies);
}
