//! The code that an optimising compiler made of the checks of naked keys, read from the program's file.
//!
//! ```text
//!   a check      call f                 one instruction; no memory but the return address
//!   f            mov eax, 0 or 1; ret   two instructions
//!   around it    what lives across the check stays in registers that an ordinary call may write
//! ```

use iced_x86::{Code, Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, Register};
use object::{Object as _, ObjectSection as _, ObjectSymbol as _};

pub struct Program<'data>(object::File<'data>);

/// The instructions of a function, to its return.
pub struct Function(Vec<Instruction>);

impl<'data> Program<'data> {
    pub fn parse(data: &'data [u8]) -> Program<'data> {
        Program(object::File::parse(data).unwrap())
    }

    pub fn function(&self, name: &str) -> Function {
        let symbol = self.0.symbols().find(|symbol| symbol.name() == Ok(name)).unwrap();
        Function(self.decode(symbol.address(), symbol.size()))
    }

    /// Addresses of the functions of naked keys, sorted: one for each name.
    pub fn naked_functions(&self) -> Vec<u64> {
        let is_one = |name: &str| name.contains("__function");
        let symbols = self.0.symbols().filter(|symbol| symbol.name().is_ok_and(is_one));
        let mut addresses: Vec<u64> = symbols.map(|symbol| symbol.address()).collect();
        addresses.sort_unstable();
        addresses
    }

    fn decode(&self, address: u64, size: u64) -> Vec<Instruction> {
        let bytes = self.0.sections().find_map(|section| section.data_range(address, size).ok().flatten()).unwrap();
        Decoder::with_ip(64, bytes, address, DecoderOptions::NONE).into_iter().collect()
    }
}

impl Function {
    /// Checks that there is one call, of a function of two instructions, and no other access to memory but push and pop.
    pub fn is_one_check(&self, program: &Program<'_>) -> Result<(), String> {
        let calls: Vec<&Instruction> = self.0.iter().filter(|it| it.mnemonic() == Mnemonic::Call).collect();
        let [call] = calls[..] else { return Err(format!("{} calls", calls.len())) };
        if call.code() != Code::Call_rel32_64 {
            return Err(format!("{call} is not direct"));
        }
        let called = program.decode(call.near_branch_target(), 6);
        let [value, end] = called[..] else {
            return Err(format!("{} instructions: another function is called", called.len()));
        };
        let returns = value.code() == Code::Mov_r32_imm32 && value.op0_register() == Register::EAX;
        if !returns || value.immediate32() > 1 || end.code() != Code::Retnq {
            return Err(format!("{value}; {end} is called"));
        }
        Ok(())
    }

    /// No spill, and no register saved that an ordinary call keeps.
    pub fn keeps_nothing_in_memory(&self) -> Result<(), String> {
        for instruction in &self.0 {
            let memory = (0..instruction.op_count()).any(|at| instruction.op_kind(at) == OpKind::Memory);
            let address_only = instruction.code() == Code::Lea_r64_m || instruction.code() == Code::Lea_r32_m;
            // `push rax` aligns the stack.
            let saves = instruction.code() == Code::Push_r64 && instruction.op0_register() != Register::RAX;
            if (memory && !address_only && !instruction.is_nop()) || saves {
                return Err(format!("{instruction} uses memory"));
            }
        }
        Ok(())
    }
}

trait Nop {
    fn is_nop(&self) -> bool;
}

impl Nop for Instruction {
    fn is_nop(&self) -> bool {
        matches!(self.code(), Code::Nop_rm16 | Code::Nop_rm32 | Code::Nop_rm64 | Code::Nopd | Code::Nopw)
    }
}
