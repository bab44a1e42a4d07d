//! `peers`.

use serde_json::{Value, json};

use crate::{ensure, smoke};

#[test]
#[cfg_attr(any(miri, jumplabel_fallback), ignore = "no sites")]
fn peers() {
    fn check(answer: &Value) -> Result<(), String> {
        let rows = answer["flips"].as_array().ok_or("no flips")?;
        let sites: Vec<_> = rows.iter().filter_map(|row| row["sites"].as_u64()).collect();
        ensure(sites == [1, 100, 10_000], "sites")?;
        let times = ["jumplabel_us", "static_keys_us", "static_key_us"];
        ensure(rows.iter().all(|row| times.iter().all(|time| row[time].as_f64() > Some(0.0))), "times")?;
        // Four system calls a site against some for all.
        ensure(rows[2]["static_keys_over_ours"].as_f64() > Some(10.0), "static-keys is slower by orders of magnitude")?;
        let shown = answer["shown"].as_array().ok_or("nothing shown")?;
        ensure(shown.len() == 3 && shown[0]["library"] == "jumplabel", "libraries")?;
        ensure(shown[0]["mdwe"] == true && shown[0]["beside"] == true, "ours flips everywhere")?;
        ensure(shown.iter().all(|row| row["mdwe_says"].is_string() && row["beside_says"].is_string()), "words")
    }
    let lies = [
        ("/flips/1/sites", json!(1)),
        ("/flips/0/static_key_us", Value::Null),
        ("/flips/2/static_keys_over_ours", json!(2.0)),
        ("/shown/0/mdwe", json!(false)),
        ("/shown/2/beside_says", Value::Null),
    ];
    smoke("peers", check, &lies);
}
