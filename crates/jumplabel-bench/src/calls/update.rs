//! Times an update of a static call while another thread calls it. The floor of `flips` and a bare core sync are timed in the same rounds.

use std::time::{Duration, Instant};

use jumplabel::static_call;
use serde_json::json;

use crate::Result;
use crate::flips::{Executor, floor_of_one, open_floor, store_floor};
use crate::membarrier::{PRIVATE_EXPEDITED_SYNC_CORE, membarrier};
use crate::report::{Report, Table, Target, figure};
use crate::samples::Samples;
use crate::sites::Functions;
use crate::step::{self, Counted};

type Answer = extern "C" fn() -> u32;

extern "C" fn no() -> u32 {
    0
}

extern "C" fn yes() -> u32 {
    1
}

static_call! { static ANSWER: Answer = no; }

/// The work that is timed.
#[derive(Clone, Copy, PartialEq)]
enum Work {
    Floor,
    CoreSync,
    Update,
}

/// Counts the instructions, system calls and core syncs of one update, in a process with one thread. `None` if counting is not allowed.
pub fn counted() -> Option<Counted> {
    ANSWER.update(yes).and_then(|_| ANSWER.update(no)).ok()?;
    let nothing = step::count(|| ()).ok()?;
    let all = step::count(|| _ = std::hint::black_box(ANSWER.update(yes))).ok()?;
    Some(Counted { instructions: all.instructions - nothing.instructions, ..all })
}

/// The number of bytes of code that an update changes. It depends on the linker. On x86, one byte needs one core sync, and more bytes need three.
fn changed_bytes() -> Result<usize> {
    let code = |target| -> Result<[u8; 16]> {
        ANSWER.update(target)?;
        // SAFETY: the bytes are those of the trampoline and of what follows in the same section. Nobody writes there now.
        Ok(unsafe { (*ANSWER as *const [u8; 16]).read_volatile() })
    };
    let [old, new] = [code(no)?, code(yes)?];
    ANSWER.update(no)?;
    Ok(old.iter().zip(new).filter(|(old, new)| *old != new).count())
}

pub fn run(report: &mut Report, counted: Option<Counted>, quick: bool) -> Result<()> {
    if let Err(error) = open_floor() {
        report.note(format!("an update is not measured here, for want of a floor beside it: {error}"));
        return Ok(());
    }
    let call = Functions { first: *ANSWER as *const () as usize, count: 1, apart: 0 };
    let changed_bytes = changed_bytes()?;
    let executor = Executor::start(vec![floor_of_one(), call]);
    let mut rows = [Work::Floor, Work::CoreSync, Work::Update].map(|work| (work, Samples::default()));
    let (start, budget) = (Instant::now(), Duration::from_secs(if quick { 2 } else { 10 }));
    let (mut round, mut writer) = (0_u32, None);
    while start.elapsed() < budget {
        round += 1;
        fastrand::shuffle(&mut rows);
        let on = round.is_multiple_of(2);
        for (work, samples) in &mut rows {
            let mut outcome = Ok(Default::default());
            let sample = match work {
                Work::Floor => executor.time(0, || store_floor(on)),
                Work::CoreSync => {
                    executor.time(1, || membarrier(PRIVATE_EXPEDITED_SYNC_CORE).expect("it worked before"))
                }
                Work::Update => executor.time(1, || outcome = ANSWER.update(if on { yes } else { no })),
            };
            writer = outcome?.writer.or(writer);
            if sample.overlapped {
                samples.push(sample.nanoseconds);
            }
        }
        assert_eq!(call.call(0), on, "a call does not lead where it was told");
    }
    let p10 = |wanted| {
        let row = rows.iter().find(|(work, _)| *work == wanted).expect("all are in the list");
        row.1.quantile(0.1) / 1e3
    };
    let [floor, sync, update] = [Work::Floor, Work::CoreSync, Work::Update].map(p10);
    let target = Target { figure: update / (1.3 * floor + 2.0 * sync), limit: 1.0 };
    let title = format!("one update while another thread calls, p10 in us, {round} rounds");
    let mut table = Table::new(title, &["", "us", "core syncs", "x (1.3 floors + 2 core syncs)", "target", ""]);
    let plain = |name: &str, us, syncs: &str| [name.to_owned(), figure(us, 1), syncs.to_owned()];
    table.row(plain("floor", floor, "1"));
    table.row(plain("a core sync", sync, "1"));
    let syncs = counted.map_or("n/a".to_owned(), |counted| counted.core_syncs.to_string());
    let [ratio, limit, verdict] = target.cells();
    report.judged(
        "an update of a static call while another thread calls: p10, times 1.3 floors and 2 core syncs",
        &ratio,
        &limit,
        &verdict,
    );
    table.row(plain("update", update, &syncs).into_iter().chain([ratio, limit, verdict]));
    report.table(table);
    report.fact(
        "update",
        json!({
            "rounds": round,
            "floor_us": floor,
            "core_sync_us": sync,
            "update_us": update,
            "core_syncs": counted.map(|counted| counted.core_syncs),
            "changed_bytes": changed_bytes,
            "instructions": counted.map(|counted| counted.instructions),
            "writer": writer.map(|writer| writer.name()),
            "target": target.json(),
        }),
    );
    Ok(())
}
