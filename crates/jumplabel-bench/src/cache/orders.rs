//! Times whole loops in the note's two orders, and compares them with the figures that the note published.

use serde_json::json;

use jumplabel_testing::clock::move_to;

use super::fill::Fill;
use super::loops::{self, LOOPS, Loop};
use super::ways::{Program, Way};
use crate::report::{Report, Table, figure};
use crate::samples::Samples;

/// The share of the atomic load's time that a naked key saves according to the note, in per cent.
fn published(shape: Loop) -> f64 {
    match shape {
        Loop::Single => 13.85,
        Loop::Concentrated => 3.8,
        Loop::Scattered => 21.13,
    }
}

/// The two orders. A naked key and a SeqCst load are measured alternately; the orders differ in which of the two is first.
const ORDERS: [(&str, [Way; 2]); 2] =
    [("naked key first", [Way::Naked, Way::SeqCst]), ("atomic first", [Way::SeqCst, Way::Naked])];

pub fn run(report: &mut Report, processor: usize, quick: bool) {
    let rows = std::thread::scope(|scope| {
        let measured = scope.spawn(|| {
            move_to(&[processor]);
            measure(quick)
        });
        measured.join().expect("a thread that measures does not panic")
    });
    let head =
        ["", "naked key, us", "atomic, us", "saved, %", "from", "to", "naked key, ns", "atomic, ns", "published, %"];
    let title = "whole loops in two orders; saved: of the atomic's time; ns: of a check, less a loop with a constant in its place";
    let mut table = Table::new(title, &head);
    let mut facts = Vec::new();
    for Pair { shape, order, naked, atomic, constant } in &rows {
        let saved = atomic.minus(naked).over(atomic).times(100.0);
        let of_check = |samples: &Samples| samples.minus(constant).median() / shape.checks(quick) as f64;
        let [from, to] = saved.interval();
        let microseconds = |samples: &Samples| figure(samples.median() / 1000.0, 1);
        table.row([
            format!("{}, {order}", shape.name()),
            microseconds(naked),
            microseconds(atomic),
            figure(saved.median(), 2),
            figure(from, 2),
            figure(to, 2),
            figure(of_check(naked), 1),
            figure(of_check(atomic), 1),
            figure(published(*shape), 2),
        ]);
        facts.push(json!({
            "loop": shape.name(),
            "shape": shape.shape(quick),
            "order": order,
            "naked_ns": naked.median(),
            "atomic_ns": atomic.median(),
            "constant_ns": constant.median(),
            "saved_percent": saved.median(),
            "saved_percent_interval": [from, to],
            "published_percent": published(*shape),
        }));
    }
    report.table(table);
    report.fact("orders", facts.into());
    for note in [
        "published: on a RISC-V board. The note does not say how often its single loop runs, gives one figure twice, and its `is_false`",
        "returns 1. Its scattered loops take 430 us for each check, which is no miss of a cache: they say what a fill takes, and what else",
        "ran. Within one order the scattered loop saved 12.9 % or 0.1 %, so 21.13 % is mostly the order. What these figures support: a",
        "naked key misses no cache for data. What they do not: how much of that a program sees",
    ] {
        report.note(note);
    }
}

/// The times of one loop in one order.
struct Pair {
    shape: Loop,
    order: &'static str,
    naked: Samples,
    atomic: Samples,
    constant: Samples,
}

fn measure(quick: bool) -> Vec<Pair> {
    let (fill, nanoseconds) = (Fill::new(), loops::nanoseconds());
    let mut rows = Vec::new();
    for shape in LOOPS {
        for (order, ways) in ORDERS {
            let [naked, atomic, constant] = [const { Samples::new() }; 3];
            let mut pair = Pair { shape, order, naked, atomic, constant };
            for _ in 0..if quick { 3 } else { 10 } {
                for way in ways.into_iter().chain([Way::Constant]) {
                    let Some(run) = Program::OnePlace.run(way) else { continue };
                    let sample = shape.run(run, &fill, quick).whole as f64 * nanoseconds;
                    match way {
                        Way::Naked => pair.naked.push(sample),
                        Way::SeqCst => pair.atomic.push(sample),
                        _ => pair.constant.push(sample),
                    }
                }
            }
            rows.push(pair);
        }
    }
    rows
}
