//! `micro`.

use serde_json::{Value, json};

use crate::{ensure, smoke};

/// Twelve, and what an optimised one consists of: instructions (at least, at most) and loads.
const CASES: [(&str, [f64; 2], f64); 12] = [
    ("nop", [1.0, 1.0], 0.0),
    ("unconditional branch", [1.0, 1.0], 0.0),
    ("bnez, not taken", [2.0, 2.0], 0.0),
    ("beqz, taken", [2.0, 2.0], 0.0),
    ("load and bnez, warm", [2.0, 2.0], 1.0),
    ("load and bnez, a cache miss", [2.0, 2.0], 1.0),
    ("branch miss", [2.0, 2.0], 0.0),
    ("cache miss and branch miss", [2.0, 2.0], 1.0),
    ("site, off", [1.0, 1.0], 0.0),
    ("site, on", [2.0, 3.0], 0.0),
    ("static call", [5.0, 9.0], 0.0),
    ("N-way switch", [2.0, 3.0], 0.0),
];

#[test]
#[cfg_attr(any(miri, jumplabel_fallback), ignore = "no sites")]
fn micro() {
    fn check(answer: &Value) -> Result<(), String> {
        let rows = answer["cases"].as_array().ok_or("no cases")?;
        ensure(rows.len() == CASES.len() && answer["rounds"].as_u64() >= Some(8), "twelve, in eight placements")?;
        for (row, (name, [least, most], loads)) in rows.iter().zip(CASES) {
            ensure(row["case"] == name && row["ns"].is_number(), name)?;
            let ends = row["ns_interval"].as_array().ok_or("no interval")?;
            ensure(ends.len() == 2 && ends[0].as_f64() <= ends[1].as_f64(), "interval")?;
            if answer["optimised"] == true {
                ensure(row["instructions"].as_f64().is_some_and(|count| (least..=most).contains(&count)), name)?;
                ensure(row["loads"] == loads, "loads")?;
            }
        }
        Ok(())
    }
    let lies = [
        ("/cases/0/case", json!("site, off")),
        ("/cases/5/ns", Value::Null),
        ("/cases/8/ns_interval", json!([2.0, 1.0])),
        ("/rounds", json!(7)),
    ];
    smoke("micro", check, &lies);
}
