//! `listing`.

use serde_json::{Value, json};

use crate::{ensure, smoke};

#[test]
#[cfg_attr(any(miri, jumplabel_fallback), ignore = "no sites")]
fn listing() {
    fn check(answer: &Value) -> Result<(), String> {
        let rows = answer["functions"].as_array().ok_or("no functions")?;
        let names = ["without a check", "static key", "short site after `link`", "relaxed load (the fallback)"];
        ensure(rows.iter().map(|row| row["function"].as_str().unwrap_or_default()).eq(names), "functions")?;
        let of = |row: usize, what: &str| rows[row][what].as_i64().unwrap_or(-1);
        ensure((0..4).all(|row| of(row, "bytes") >= of(row, "bytes_passed") && of(row, "instructions") > 0), "bytes")?;
        if answer["optimised"] == true {
            ensure(
                of(1, "instructions_of_check") == 1 && of(1, "bytes_of_check") == 6,
                "a site is one instruction of 6 bytes",
            )?;
            ensure(
                of(2, "instructions_of_check") == 1 && of(2, "bytes_of_check") == 3,
                "a short site is one instruction of 3 bytes",
            )?;
            ensure(of(3, "instructions_of_check") > 1, "a load is more")?;
        }
        let compilers = answer["compilers"].as_array().ok_or("no compilers")?;
        // Without clang, or without rustc's target, two are left; optimised they are always.
        ensure(compilers.len() >= 6 && compilers.len() % 3 == 0, "compilers")?;
        for three in compilers.chunks_exact(3) {
            let checks = three.iter().map(|row| row["check"].as_str().unwrap_or_default());
            ensure(checks.eq(["without a check", "static key", "relaxed load"]), "checks")?;
            let [none, key, load] = [0, 1, 2].map(|row| three[row]["instructions"].as_i64());
            ensure(none == Some(0) && key == Some(1) && load >= Some(2), "a site is one instruction")?;
        }
        ensure(of(0, "instructions_of_check") == 0 && of(0, "bytes_of_check") == 0, "none is none")
    }
    let lies = [
        ("/functions/1/function", json!("key")),
        ("/functions/3/bytes", json!(1)),
        ("/functions/0/bytes_of_check", json!(1)),
        ("/functions/1/instructions", Value::Null),
        ("/compilers/1/instructions", json!(2)),
        ("/compilers/4/check", json!("constant")),
    ];
    smoke("listing", check, &lies);
}
