//! `scaling`.

use serde_json::{Value, json};

use crate::{ensure, smoke};

#[test]
#[cfg_attr(any(miri, jumplabel_fallback), ignore = "no sites")]
fn scaling() {
    fn check(answer: &Value) -> Result<(), String> {
        let [sites, threads] = ["sites", "threads"].map(|rows| answer[rows].as_array().ok_or(rows));
        let (sites, threads) = (sites?, threads?);
        let numbers = |rows: &[Value], what: &str| rows.iter().filter_map(|row| row[what].as_u64()).collect::<Vec<_>>();
        ensure(numbers(sites, "sites") == [1, 10, 100, 255, 256, 257, 1000, 10_000, 100_000], "numbers of sites")?;
        ensure(numbers(threads, "threads") == [0, 1, 2, 4, 8, 16, 32, 64], "numbers of threads")?;
        let is_timed = |row: &Value| ["p10_us", "p50_us", "p90_us"].iter().all(|time| row[time].as_f64() > Some(0.0));
        ensure(sites.iter().chain(threads).all(is_timed), "times")?;
        ensure(sites.iter().all(|row| row["first_us"].as_f64() > Some(0.0)), "first flips")?;
        let objects = answer["objects"].as_array().ok_or("objects")?;
        ensure(numbers(objects, "objects") == [1, 2, 5, 10, 20, 50, 100], "numbers of objects")?;
        ensure(objects.iter().all(|row| is_timed(row) && row["first_us"].as_f64() > Some(0.0)), "times of objects")?;
        let step = answer["step"]["figure"].as_f64();
        ensure(answer["step"]["limit"] == 1.1 && step > Some(0.0) && answer["slope_ns"].is_number(), "step and slope")?;
        ensure(threads[7]["target"]["limit"] == 2.0 && sites[0]["target"].is_null(), "targets")
    }
    let lies = [
        ("/sites/5/sites", json!(10)),
        ("/step/limit", json!(2.0)),
        ("/sites/0/first_us", Value::Null),
        ("/threads/7/target", Value::Null),
        ("/threads/0/p50_us", json!(0.0)),
        ("/threads/3/threads", json!(3)),
        ("/objects/6/objects", json!(50)),
        ("/objects/0/p10_us", Value::Null),
    ];
    smoke("scaling", check, &lies);
}
