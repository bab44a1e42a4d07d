//! `up`.

use serde_json::{Value, json};

use crate::{ensure, smoke};

#[test]
#[cfg_attr(any(miri, jumplabel_fallback), ignore = "no sites")]
fn up() {
    fn check(answer: &Value) -> Result<(), String> {
        let rows = answer["variants"].as_array().ok_or("no variants")?;
        let names = ["lock, constant", "lock, put in", "UP mode", "no lock, constant"];
        let tickets = ["ticket lock, put in", "ticket lock, UP mode", "no clearing, put in", "no clearing, UP mode"];
        let all = || names.iter().chain(&tickets).copied();
        ensure(rows.iter().map(|row| row["variant"].as_str().unwrap_or_default()).eq(all()), "variants")?;
        ensure(rows.iter().all(|row| row["ns"].is_number() && row["percent"].is_number()), "figures")?;
        // A prefix is no instruction. Where tracing is not allowed there is nothing to compare.
        for same in [&rows[..4], &rows[4..6], &rows[6..]] {
            ensure(same.iter().all(|row| row["instructions"] == same[0]["instructions"]), "instructions")?;
        }
        for target in [&answer["target"], &answer["target_of_ticket"]] {
            let met = target["figure"].as_f64().map(|figure| figure <= 60.0);
            ensure(target["limit"] == 60.0 && met.is_some() && target["ok"].as_bool() == met, "target")?;
        }
        Ok(())
    }
    let lies = [
        ("/variants", json!([])),
        ("/variants/2/instructions", json!(1)),
        ("/variants/5/instructions", json!(1)),
        ("/variants/1/ns", Value::Null),
        ("/target/figure", Value::Null),
        ("/target/limit", json!(61.0)),
        ("/target_of_ticket/ok", Value::Null),
    ];
    smoke("up", check, &lies);
}
