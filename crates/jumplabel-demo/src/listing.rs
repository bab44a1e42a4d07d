//! Shows code that flips change, at several times: a site of the loop, the trampoline of its hash function, a switch by the mode of its lookups, and
//! the operation that counts lines.

use std::io::{self, Write};

use iced_x86::{Code, Decoder, DecoderOptions, Formatter, IntelFormatter, MemorySizeOptions};
use jumplabel::{Error, for_each_mode_site, for_each_site};

use crate::hash::HASH;
use crate::hooks;
use crate::lookup;
use crate::tally::TALLY;

/// The notes about each of the four places.
#[derive(Default)]
pub struct Listing {
    sites: Vec<Noted>,
    calls: Vec<Noted>,
    switches: Vec<Noted>,
    operations: Vec<Noted>,
}

/// The bytes at an address, and a text that says when they were there.
struct Noted {
    when: &'static str,
    address: usize,
    bytes: Vec<u8>,
    way: &'static str,
}

impl Noted {
    /// Notes the present bytes at `address`.
    ///
    /// # Safety
    /// The `BYTES` bytes at `address` are code of this program, and no thread changes them during the call.
    unsafe fn new<const BYTES: usize>(when: &'static str, address: usize) -> Noted {
        // SAFETY: the caller guarantees that the bytes are code of this program, and that no thread changes them meanwhile.
        let bytes = unsafe { std::ptr::read_volatile(address as *const [u8; BYTES]) };
        Noted { when, address, bytes: bytes.to_vec(), way: "" }
    }
}

impl Listing {
    /// Notes the present bytes of the site that checks the hook "trace" in the loop.
    pub fn note_site(&mut self, when: &'static str) -> Result<(), Error> {
        let mut found = None;
        // There are two sites of this key. The one in the loop is laid out for "off", the one in `checked_keys` for "on".
        for_each_site(&hooks::KEYS[hooks::TRACE], |site| {
            if !site.arm {
                found.get_or_insert(site);
            }
        })?;
        self.sites.extend(found.map(|site| {
            let way = match site.state {
                Some(state) if state.falls_through() => "falls through",
                Some(_) => "jumps",
                None => "not ours",
            };
            Noted { when, address: site.address, bytes: site.bytes.to_vec(), way }
        }));
        Ok(())
    }

    /// Notes the trampoline's present bytes: `endbr64`, and the jump, which an update changes.
    pub fn note_call(&mut self, when: &'static str) {
        // SAFETY: the code of this program has more than nine bytes at this address. No thread updates the call: the flipping thread does not run.
        self.calls.push(unsafe { Noted::new::<9>(when, *HASH as *const () as usize) });
    }

    /// Notes the present bytes of the switch in [`lookup::taken`]: a jump to the arm of the mode.
    pub fn note_switch(&mut self, when: &'static str) {
        let jump = first_jump(lookup::taken as *const () as usize);
        // SAFETY: the address is that of a jump of five bytes. No thread sets the mode: the flipping thread does not run.
        self.switches.extend(jump.map(|address| unsafe { Noted::new::<5>(when, address) }));
    }

    /// Notes the present bytes of the operation in [`tally::lines`](crate::tally::lines): an instruction of eight bytes, or a nop of the same length.
    pub fn note_operation(&mut self, when: &'static str) -> Result<(), Error> {
        let mut found = None;
        for_each_mode_site(TALLY.raw().mode(), |site| found = Some(site.address))?;
        // SAFETY: the address is that of a site of eight bytes. Only the caller's thread sets the table.
        self.operations.extend(found.map(|address| unsafe { Noted::new::<8>(when, address) }));
        Ok(())
    }

    /// Prints the notes: bytes and instructions.
    pub fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let no_site = "no site to show: this build has none, a check is a load, a test and a jump";
        print(out, &self.sites, "the site that checks the hook \"trace\" in the loop", no_site)?;
        // Without trampolines, a call loads a pointer and calls the function that the pointer leads to. Then the noted addresses differ.
        let calls = if is_one(&self.calls, |noted| noted.address) { &self.calls[..] } else { &[] };
        let no_call = "no trampoline to show: this build has none, a call is by a pointer";
        print(out, calls, "the trampoline of the loop's hash function", no_call)?;
        // Without switches, a choice is a load and branches, and their bytes do not change. Then the noted bytes are all the same.
        let switches = if is_one(&self.switches, |noted| noted.bytes.clone()) { &[] } else { &self.switches[..] };
        let no_switch = "no switch to show: this build has none, a choice is a load and its branches";
        print(out, switches, "a switch by the mode of the loop's lookups", no_switch)?;
        // On other instruction sets than x86-64, the operation is a static call.
        let no_operation = "no operation in place to show: in this build it is a call";
        print(out, &self.operations, "the operation that counts lines", no_operation)
    }
}

/// Returns whether `what` is the same for all notes.
fn is_one<T: PartialEq>(noted: &[Noted], what: impl Fn(&Noted) -> T) -> bool {
    noted.windows(2).all(|pair| what(&pair[0]) == what(&pair[1]))
}

fn print(out: &mut impl Write, all: &[Noted], what: &str, nothing: &str) -> io::Result<()> {
    let Some(first) = all.first() else { return writeln!(out, "{nothing}") };
    writeln!(out, "{what}, at {:#x}", first.address)?;
    for Noted { when, address, bytes, way } in all {
        let code: Vec<_> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let line = format!("  {when:<16} {}   {:<26} {way}", code.join(" "), disassemble(bytes, *address).join("; "));
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

/// Finds the function's first jump with a displacement of 32 bits. Returns the address of the jump's five bytes, after a prefix if there is one.
fn first_jump(entry: usize) -> Option<usize> {
    // SAFETY: the code of this program has more than 32 bytes at this address. No thread changes them: the flipping thread does not run.
    let code = unsafe { std::ptr::read_volatile(entry as *const [u8; 32]) };
    let mut instructions = Decoder::with_ip(64, &code, entry as u64, DecoderOptions::NONE).into_iter();
    instructions.find(|instruction| instruction.code() == Code::Jmp_rel32_64).map(|jump| jump.next_ip() as usize - 5)
}

/// Returns the text of each instruction.
fn disassemble(bytes: &[u8], address: usize) -> Vec<String> {
    let mut formatter = IntelFormatter::new();
    let options = formatter.options_mut();
    options.set_hex_prefix("0x");
    options.set_hex_suffix("");
    options.set_uppercase_hex(false);
    options.set_small_hex_numbers_in_decimal(false);
    options.set_branch_leading_zeros(false);
    options.set_space_after_operand_separator(true);
    options.set_show_branch_size(false);
    options.set_memory_size_options(MemorySizeOptions::Always);
    let mut format = |instruction| {
        let mut text = String::new();
        formatter.format(&instruction, &mut text);
        text
    };
    Decoder::with_ip(64, bytes, address as u64, DecoderOptions::NONE).into_iter().map(&mut format).collect()
}
