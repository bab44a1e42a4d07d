//! Sites of two states, nop and jump: an assembler, which knows nothing of this project, assembles `jump` to everywhere in reach, and `encode` must
//! agree. Also the broken twins of such sites.

use std::io::Write;
use std::process::{Command, Stdio};

use jumplabel_format::{Code, CodeChange, State, StepBytes};
use object::{Object, ObjectSection};

use super::{Machine, encode, step};

/// Writes one half of a step, as a broken writer could.
pub(super) fn half<M: Machine>(number: u8, change: CodeChange) -> Option<StepBytes> {
    let mut step_bytes = step::<M>(number, change)?;
    step_bytes.bytes[..2].copy_from_slice(&change.old[usize::from(step_bytes.offset)..][..2]);
    Some(step_bytes)
}

/// Writes the jump of another site.
pub(super) fn elsewhere<M: Machine>(number: u8, change: CodeChange) -> Option<StepBytes> {
    let mut bytes = change.new.to_vec();
    bytes[1] ^= 0x40;
    let new = Code::new(0, &bytes);
    step::<M>(number, CodeChange { old: Code::new(0, &change.old), new })
}

/// The number of jumps that are assembled, `stride` apart; a last one is at the far end.
const COUNT: i64 = 8192;

/// An odd number of units, so that all bits of the displacement change.
fn stride<M: Machine>() -> i64 {
    let (least, most) = (i64::from(*M::REACH.start()), i64::from(*M::REACH.end()));
    (most - least) / M::UNIT / COUNT / 2 * 2 * M::UNIT + M::UNIT
}

fn distances<M: Machine>() -> Vec<i32> {
    let (least, most) = (*M::REACH.start(), *M::REACH.end());
    let distances = (0..COUNT).map(|number| (i64::from(least) + number * stride::<M>()) as i32);
    distances.chain([most]).collect()
}

/// The bytes that LLVM's assembler makes of the jumps. `None` if it does not run here, because these tests run in an emulator.
pub(super) fn assemble<M: Machine>(triple: &str, jump: &str) -> Option<Vec<u8>> {
    if std::env::var_os("JUMPLABEL_EMULATOR").is_some() || !cfg!(any(target_arch = "x86_64", target_arch = "x86")) {
        return None;
    }
    let folder = std::env::temp_dir().join(format!("jumplabel-encoding-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(triple);
    let mut text = String::from(".text\n");
    if triple.starts_with("riscv") {
        text += ".option norvc\n";
    }
    for distance in distances::<M>() {
        text += &format!("{jump} {distance}\n");
    }
    let clang =
        ["clang-16", "clang-19"].into_iter().find(|clang| Command::new(clang).arg("--version").output().is_ok());
    let mut child = Command::new(clang.expect("clang 16 or 19, which make setup installs"))
        .args(["-target", triple, "-c", "-x", "assembler", "-o"])
        .arg(&path)
        .arg("-")
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success(), "{triple}");
    let file = std::fs::read(&path).unwrap();
    let object = object::File::parse(&*file).unwrap();
    let code = object.section_by_name(".text").unwrap().data().unwrap().to_vec();
    std::fs::remove_file(path).unwrap();
    Some(code)
}

/// The first displacements where the two disagree.
pub(super) fn differences<M: Machine>(assembled: &[u8], encode: impl Fn(i32) -> Vec<u8>) -> Vec<i32> {
    let distances = distances::<M>();
    let each = assembled.len() / distances.len();
    assert_eq!(assembled.len(), each * distances.len());
    let jumps = assembled.chunks(each);
    let differs = |(distance, jump): &(&i32, &[u8])| encode(**distance) != *jump;
    distances.iter().zip(jumps).filter(differs).map(|(distance, _)| *distance).take(8).collect()
}

/// Compares all jumps. The twin: an encoder that is wrong about one bit of the displacement is found out.
pub(super) fn compare<M: Machine>(triple: &str, jump: &str) {
    let (least, most) = (*M::REACH.start(), *M::REACH.end());
    assert!(i64::from(least) + (COUNT - 1) * stride::<M>() <= most.into());
    let Some(assembled) = assemble::<M>(triple, jump) else { return };
    let encode = |distance: i32| encode::<M>(State::JUMP, distance);
    assert_eq!(differences::<M>(&assembled, encode), []);
    for bit in M::UNIT.trailing_zeros()..(most as u32).ilog2() {
        let wrong = |distance: i32| encode((distance | 1 << bit).clamp(least, most));
        assert!(!differences::<M>(&assembled, wrong).is_empty(), "bit {bit}");
    }
}

macro_rules! tests {
    ($Machine:ty, $triple:literal, $jump:literal) => {
        #[test]
        fn as_the_assembler_does() {
            assembled::compare::<$Machine>($triple, $jump);
        }
    };
}
pub(crate) use tests;
