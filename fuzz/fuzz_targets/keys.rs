//! Sequences of changes of keys against the reference model of tests/plan.rs; with sites, and, by
//! `--cfg jumplabel_fallback`, without. The address sanitizer watches the engine meanwhile.
#![no_main]

#[path = "../../crates/jumplabel/tests/plan/model.rs"]
mod model;

use libfuzzer_sys::arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use model::{CAPACITY, Case, KEYS, Op, Rules};

fn op(bytes: &mut Unstructured) -> Result<Op> {
    let key = bytes.choose_index(KEYS)?;
    Ok(match bytes.int_in_range(0..=9u8)? {
        0 => Op::Enable(key),
        1 => Op::Disable(key),
        2 => Op::Inc(key),
        3 => Op::Dec(key),
        4 => Op::FastInc(key),
        5 => Op::RestorePristine(key),
        6 => Op::Seal(key),
        _ => {
            let len = bytes.int_in_range(0..=CAPACITY + 1)?;
            Op::Batch((0..len).map(|_| Ok((bytes.choose_index(KEYS)?, bytes.arbitrary()?))).collect::<Result<_>>()?)
        }
    })
}

fuzz_target!(|data: &[u8]| {
    let mut bytes = Unstructured::new(data);
    let mut case = Case::new(Rules::Right);
    while !bytes.is_empty() {
        let Ok(op) = op(&mut bytes) else { break };
        if let Err(difference) = case.step(&op) {
            panic!("{op:?}: {difference}");
        }
    }
    case.put_back();
});
