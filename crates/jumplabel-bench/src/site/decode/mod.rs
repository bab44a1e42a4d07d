//! Decodes code as it is in memory: the instructions that one turn of a loop, or one call, really executes. A figure is accepted only if this shows
//! that the compiler made the checks as intended.

#[cfg(any(test, target_arch = "aarch64"))]
mod aarch64;
#[cfg(any(test, target_arch = "riscv64"))]
mod riscv64;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "aarch64")]
use aarch64::decode;
#[cfg(target_arch = "riscv64")]
use riscv64::decode;
#[cfg(target_arch = "x86_64")]
use x86_64::decode;
#[cfg(target_arch = "x86_64")]
pub use x86_64::find;

use crate::Result;

/// Where the execution continues after an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    Next,
    /// At this address, or at the next instruction.
    Conditional(u64),
    Jump(u64),
    Call(u64),
    /// In the function whose address is in a register.
    IndirectCall,
    Return,
    /// At a place that the decoder cannot know.
    Away,
}

/// The properties of an instruction that a path needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Instruction {
    at: u64,
    bytes: u64,
    flow: Flow,
    /// True if the instruction reads memory other than the stack.
    loads: bool,
    /// True if the instruction has a `lock` prefix.
    locked: bool,
    /// True if the instruction only aligns the next one: RISC-V's nop of two bytes before a site of four bytes.
    pads: bool,
}

impl Instruction {
    fn next(&self) -> u64 {
        self.at + self.bytes
    }
}

/// The instructions on a path.
pub struct Path(Vec<Instruction>);

impl Path {
    /// The path of one turn of the loop in the function at `entry`, and of the functions that the loop calls directly. The path takes no conditional
    /// jump, except the one that closes the loop.
    pub fn of_loop(entry: usize) -> Result<Path> {
        let mut path: Vec<Instruction> = Vec::new();
        let (mut at, mut returns) = (entry as u64, Vec::new());
        while path.len() < 2000 {
            let again = path.iter().position(|instruction| instruction.at == at);
            if let (Some(start), true) = (again, returns.is_empty()) {
                return Ok(Path(path.split_off(start)));
            }
            let instruction = decode(at);
            at = match instruction.flow {
                Flow::Conditional(target) => {
                    let closes = path.iter().any(|earlier| earlier.at == target);
                    if closes { target } else { instruction.next() }
                }
                Flow::Jump(target) => target,
                Flow::Call(target) => {
                    returns.push(instruction.next());
                    target
                }
                Flow::Return => match returns.pop() {
                    Some(caller) => caller,
                    None => break,
                },
                Flow::Next | Flow::IndirectCall => instruction.next(),
                Flow::Away => break,
            };
            path.push(instruction);
        }
        Err("the compiler has not left a loop where one was measured".into())
    }

    /// The path from `entry` to the first return or indirect jump. It follows direct calls and jumps.
    pub fn of_call(entry: usize) -> Path {
        let mut path = Vec::new();
        let (mut at, mut returns) = (entry as u64, Vec::new());
        while path.len() < 2000 {
            let instruction = decode(at);
            path.push(instruction);
            at = match instruction.flow {
                Flow::Jump(target) => target,
                Flow::Call(target) => {
                    returns.push(instruction.next());
                    target
                }
                Flow::Next | Flow::Conditional(_) => instruction.next(),
                Flow::Return => match returns.pop() {
                    Some(caller) => caller,
                    None => break,
                },
                Flow::IndirectCall | Flow::Away => break,
            };
        }
        Path(path)
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The number of instructions with a `lock` prefix.
    #[cfg(target_arch = "x86_64")]
    pub fn locked(&self) -> usize {
        self.0.iter().filter(|instruction| instruction.locked).count()
    }

    /// The number of instructions that only align other instructions.
    pub fn pads(&self) -> usize {
        self.0.iter().filter(|instruction| instruction.pads).count()
    }

    /// The number of instructions that read memory. Calls, returns and accesses to the stack do not count.
    pub fn loads(&self) -> usize {
        self.0.iter().filter(|instruction| instruction.loads).count()
    }
}
