//! The code as it stands in memory: the instructions that one turn of a loop, or one call, really executes. Figures are
//! believed only after this has shown that the compiler left the checks as they were meant.

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess};

use crate::Result;

/// The instructions on a path.
pub struct Path(Vec<Instruction>);

impl Path {
    /// One turn of the loop in the function at `entry`, and of what it calls directly: conditional jumps are not taken, but
    /// for the one that closes the loop.
    pub fn of_loop(entry: usize) -> Result<Path> {
        let mut path: Vec<Instruction> = Vec::new();
        let (mut at, mut returns) = (entry as u64, Vec::new());
        while path.len() < 2000 {
            let again = path.iter().position(|instruction| instruction.ip() == at);
            if let (Some(start), true) = (again, returns.is_empty()) {
                return Ok(Path(path.split_off(start)));
            }
            let instruction = decode(at);
            at = match instruction.flow_control() {
                FlowControl::ConditionalBranch => {
                    let target = instruction.near_branch_target();
                    let closes = path.iter().any(|earlier| earlier.ip() == target);
                    if closes { target } else { instruction.next_ip() }
                }
                FlowControl::UnconditionalBranch => instruction.near_branch_target(),
                FlowControl::Call => {
                    returns.push(instruction.next_ip());
                    instruction.near_branch_target()
                }
                FlowControl::Return => match returns.pop() {
                    Some(caller) => caller,
                    None => break,
                },
                FlowControl::Next | FlowControl::IndirectCall => instruction.next_ip(),
                _ => break,
            };
            path.push(instruction);
        }
        Err("the compiler has not left a loop where one was measured".into())
    }

    /// From `entry` to the first return or indirect jump, into what is called or jumped to directly, too.
    pub fn of_call(entry: usize) -> Path {
        let mut path = Vec::new();
        let (mut at, mut returns) = (entry as u64, Vec::new());
        while path.len() < 2000 {
            let instruction = decode(at);
            path.push(instruction);
            at = match instruction.flow_control() {
                FlowControl::UnconditionalBranch => instruction.near_branch_target(),
                FlowControl::Call => {
                    returns.push(instruction.next_ip());
                    instruction.near_branch_target()
                }
                FlowControl::Next | FlowControl::ConditionalBranch => instruction.next_ip(),
                FlowControl::Return => match returns.pop() {
                    Some(caller) => caller,
                    None => break,
                },
                _ => break,
            };
        }
        Path(path)
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Instructions with a `lock` prefix.
    pub fn locked(&self) -> usize {
        self.0.iter().filter(|instruction| instruction.has_lock_prefix()).count()
    }

    /// Instructions that read memory, but for those that call and return.
    pub fn loads(&self) -> usize {
        let mut factory = InstructionInfoFactory::new();
        let reads = |instruction: &&Instruction| {
            let memory = factory.info(instruction).used_memory();
            !instruction.is_stack_instruction()
                && memory
                    .iter()
                    .any(|used| matches!(used.access(), OpAccess::Read | OpAccess::CondRead | OpAccess::ReadWrite))
        };
        self.0.iter().filter(reads).count()
    }
}

/// Where instructions of this name are in a function of so many bytes.
pub fn find(entry: usize, size: usize, name: Mnemonic) -> Vec<usize> {
    // SAFETY: code of this program.
    let code = unsafe { std::slice::from_raw_parts(entry as *const u8, size) };
    let all = Decoder::with_ip(64, code, entry as u64, DecoderOptions::NONE);
    all.into_iter().filter(|found| found.mnemonic() == name).map(|found| found.ip() as usize).collect()
}

fn decode(address: u64) -> Instruction {
    // The longest instruction has 15 bytes.
    // SAFETY: code of this program; text goes on for more than that behind the functions measured here.
    let bytes = unsafe { std::slice::from_raw_parts(address as *const u8, 15) };
    Decoder::with_ip(64, bytes, address, DecoderOptions::NONE).decode()
}
