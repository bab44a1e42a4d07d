//! Decodes x86-64 instructions with the crate `iced-x86`.

use iced_x86::{Decoder, DecoderOptions, FlowControl, InstructionInfoFactory, Mnemonic, OpAccess};

use super::{Flow, Instruction};

/// The instruction at an address of this program's code.
pub fn decode(address: u64) -> Instruction {
    // The longest instruction has 15 bytes.
    // SAFETY: the address is in code of this program. More than 15 bytes of text follow the functions that are measured here.
    let bytes = unsafe { std::slice::from_raw_parts(address as *const u8, 15) };
    let found = Decoder::with_ip(64, bytes, address, DecoderOptions::NONE).decode();
    let flow = match found.flow_control() {
        FlowControl::ConditionalBranch => Flow::Conditional(found.near_branch_target()),
        FlowControl::UnconditionalBranch => Flow::Jump(found.near_branch_target()),
        FlowControl::Call => Flow::Call(found.near_branch_target()),
        FlowControl::Return => Flow::Return,
        FlowControl::Next => Flow::Next,
        FlowControl::IndirectCall => Flow::IndirectCall,
        _ => Flow::Away,
    };
    let mut factory = InstructionInfoFactory::new();
    let memory = factory.info(&found).used_memory();
    let reads =
        memory.iter().any(|used| matches!(used.access(), OpAccess::Read | OpAccess::CondRead | OpAccess::ReadWrite));
    Instruction {
        at: address,
        bytes: found.len() as u64,
        flow,
        loads: reads && !found.is_stack_instruction(),
        locked: found.has_lock_prefix(),
        pads: false,
    }
}

/// The addresses of all instructions with this mnemonic in a function of `size` bytes.
pub fn find(entry: usize, size: usize, name: Mnemonic) -> Vec<usize> {
    // SAFETY: the bytes are code of this program.
    let code = unsafe { std::slice::from_raw_parts(entry as *const u8, size) };
    let all = Decoder::with_ip(64, code, entry as u64, DecoderOptions::NONE);
    all.into_iter().filter(|found| found.mnemonic() == name).map(|found| found.ip() as usize).collect()
}
