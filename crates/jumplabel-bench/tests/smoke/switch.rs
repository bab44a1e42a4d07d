//! `switch`.

use serde_json::{Value, json};

use crate::{ensure, smoke};

#[test]
#[cfg_attr(any(miri, jumplabel_fallback), ignore = "no sites")]
fn switch() {
    fn check(answer: &Value) -> Result<(), String> {
        let optimised = answer["optimised"] == true;
        for shape in ["latency_bound", "alu_saturated"] {
            let rows = answer[shape]["choices"].as_array().ok_or(shape)?;
            ensure(rows.len() == 10 && answer[shape]["rounds"].as_u64() > Some(0), "rows")?;
            ensure(rows.iter().all(|row| row["ns"].is_number()), "ns")?;
            let instructions = |name: &str, arm: usize| {
                let row = rows.iter().find(|row| row["choice"] == name && row["arm"] == arm);
                row.map(|row| row["instructions"].as_f64()).ok_or(format!("no {name}, arm {arm}"))
            };
            let constant = instructions("constant", 0)?;
            for arm in 0..3 {
                let [switch, by_match, table] = ["static_switch", "match on a relaxed load", "table of functions"]
                    .map(|name| instructions(name, arm));
                let (switch, by_match, table) = (switch?, by_match?, table?);
                // Where tracing is not allowed there is nothing to compare.
                let Some(constant) = constant.filter(|_| optimised) else { continue };
                ensure(constant == 1.0, "a constant is its arm")?;
                // The jump to the arm, and at most one back.
                ensure(switch.is_some_and(|count| (2.0..=3.0).contains(&count)), "constant + 2 instructions")?;
                ensure(switch < by_match && switch < table, "fewer than a load and its branches")?;
            }
        }
        let targets = answer["targets"].as_array().ok_or("no targets")?;
        ensure(targets.len() == 4, "targets")?;
        for (row, limit) in targets.iter().zip([2.0, 2.0, -1.0, -1.0]) {
            let target = &row["target"];
            ensure(target["limit"] == limit, "limit")?;
            let met = target["figure"].as_f64().map(|figure| figure <= limit);
            ensure(target["ok"].as_bool() == met, "a verdict that the figure does not bear out")?;
            ensure(!optimised || met != Some(false), "missed")?;
        }
        Ok(())
    }
    smoke(
        "switch",
        check,
        &[
            ("/latency_bound/choices", json!([])),
            ("/alu_saturated/choices/1/choice", json!("constant")),
            ("/alu_saturated/choices/3/ns", Value::Null),
            ("/latency_bound/rounds", json!(0)),
            ("/targets/0/target/limit", json!(3.0)),
            ("/targets/1/target/figure", Value::Null),
            ("/targets/2/target/ok", Value::Null),
        ],
    );
}
