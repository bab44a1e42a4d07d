//! Calls that a table lists lead straight to the target where one store can say so, and to the trampoline elsewhere. The code and the
//! table are made here, as a compiler and a tool would make them.
#![cfg(all(target_os = "linux", target_arch = "x86_64", jumplabel_trampolines))]

#[path = "call_sites/moments.rs"]
mod moments;
#[path = "call_sites/running.rs"]
mod running;
#[path = "call_sites/verified.rs"]
mod verified;

use std::sync::OnceLock;

use jumplabel::{Batch, Error, WriterKind, for_each_call, set_writer, static_call, static_key, verify};
use jumplabel_testing::call_sites::{code, displacement, list};
use jumplabel_testing::scenario::passes;
use jumplabel_testing::writers;

type Function = extern "C" fn(u64) -> u64;

extern "C" fn one(x: u64) -> u64 {
    x + 1
}

/// Lies so far from `one` that the displacements differ in several bytes.
#[unsafe(link_section = ".text_of_two")]
extern "C" fn two(x: u64) -> u64 {
    x + 2
}

/// No text becomes writable any more.
const PR_SET_MDWE: i32 = 65;

static_call! { static HOOK: Function = one; }
static_key! { static KEY: false; }

/// Adds `number`, out of reach.
fn far(number: u8) -> Function {
    let code = [0x48, 0x8d, 0x47, number, 0xc3]; // lea rax, [rdi + number]; ret
    // SAFETY: the code of a function of that type.
    unsafe { jumplabel_testing::far::function(one as *const (), &code, number) }
}

/// Two functions in reach, and one out of reach. Each adds its number.
fn targets() -> [(u64, Function); 3] {
    static FAR: OnceLock<Function> = OnceLock::new();
    [(1, one), (2, two), (3, *FAR.get_or_init(|| far(3)))]
}

fn trampoline() -> usize {
    *HOOK as *const () as usize
}

/// A function whose call, or jump, to the trampoline is listed.
struct Site {
    function: Function,
    displacement: usize,
}

impl Site {
    fn leads_to(&self) -> usize {
        displacement(self.displacement)
    }

    /// Whether the displacement lies across two aligned words of eight bytes: then it stays what it is.
    fn is_torn(&self) -> bool {
        is_torn(self.displacement)
    }
}

fn is_torn(displacement: usize) -> bool {
    displacement % 8 > 4
}

/// The offsets of displacements from the beginning of a cache line.
const OFFSETS: [usize; 11] = [0, 1, 4, 14, 30, 57, 59, 60, 61, 62, 63];
/// Bytes of a function.
const SLOT: usize = 192;

/// Functions with a call, and functions with a jump. If `to_default`, those that may lead to the default in the file.
fn sites_in_file(to_default: bool) -> Vec<Site> {
    let slots = 2 * OFFSETS.len();
    let places = |number: usize| number * SLOT + 64 + OFFSETS[number / 2];
    let base = code(trampoline(), slots * SLOT, |bytes| {
        let base = bytes.as_ptr() as usize;
        bytes.fill(0x90);
        for number in 0..slots {
            let (slot, place) = (number * SLOT, places(number));
            let calls = number % 2 == 0;
            let direct = to_default && !is_torn(base + place);
            let to = if direct { one as *const () as usize } else { trampoline() };
            let distance = (to as isize - (base + place + 4) as isize) as i32;
            if calls {
                bytes[slot..slot + 4].copy_from_slice(&[0x48, 0x83, 0xec, 8]); // sub rsp, 8
                bytes[place + 4..place + 9].copy_from_slice(&[0x48, 0x83, 0xc4, 8, 0xc3]); // add rsp, 8; ret
            }
            bytes[place - 1] = if calls { 0xe8 } else { 0xe9 };
            bytes[place..place + 4].copy_from_slice(&distance.to_le_bytes());
        }
    });
    let site = |number: usize| Site {
        // SAFETY: the code above.
        function: unsafe { std::mem::transmute::<usize, Function>(base + number * SLOT) },
        displacement: base + places(number),
    };
    let sites: Vec<Site> = (0..slots).map(site).collect();
    let listed: Vec<usize> = sites.iter().map(|site| site.displacement).collect();
    // SAFETY: of instructions that call the trampoline.
    unsafe { list(HOOK.raw(), trampoline() as *const (), &listed) };
    sites
}

/// All tests in a process use one table.
fn sites() -> &'static [Site] {
    static SITES: OnceLock<Vec<Site>> = OnceLock::new();
    SITES.get_or_init(|| sites_in_file(false))
}

/// All functions call the target with that number. The sites that may do so lead straight to the target, if it is in reach.
fn lead_to((number, target): (u64, Function), sites: &[Site]) {
    let target = target as *const () as usize;
    let in_reach = (target.wrapping_sub(trampoline()) as isize).abs() < 1 << 30;
    for site in sites {
        assert_eq!((site.function)(0), number);
        let expected = if in_reach && !site.is_torn() { target } else { trampoline() };
        assert_eq!(site.leads_to(), expected, "{:#x}", site.displacement);
    }
}

#[test]
fn straight_where_one_store_can_say_so() {
    passes(|| {
        let sites = sites();
        let torn = sites.iter().filter(|site| site.is_torn()).count();
        assert_eq!(torn, 10);
        assert!(sites.iter().all(|site| site.leads_to() == trampoline()));
        // An update to the present target changes nothing, not even sites that could be led straight.
        HOOK.update(one).unwrap();
        assert!(sites.iter().all(|site| site.leads_to() == trampoline()));
        HOOK.update(two).unwrap();
        for writer in writers::all().into_iter().filter(|writer| *writer != Some(WriterKind::Procmem)) {
            set_writer(writer);
            for from in targets() {
                for to in targets() {
                    HOOK.update(from.1).unwrap();
                    lead_to(from, sites);
                    let outcome = HOOK.update(to.1).unwrap();
                    lead_to(to, sites);
                    let same = from.0 == to.0;
                    assert_eq!(outcome.sites, if same { 0 } else { sites.len() - torn + 1 }, "{writer:?}");
                }
            }
            // A reset leads to the target of the file: now the default is known.
            HOOK.reset().unwrap();
            lead_to(targets()[0], sites);
        }
    });
}

/// A tool may lead sites to the default in the file.
#[test]
fn straight_to_the_default_in_the_file() {
    passes(|| {
        let sites = sites_in_file(true);
        lead_to(targets()[0], &sites);
        for to in [1, 2, 0, 1] {
            HOOK.update(targets()[to].1).unwrap();
            lead_to(targets()[to], &sites);
        }
    });
}

#[test]
fn listed_and_counted() {
    passes(|| {
        let count = || {
            let mut sites = None;
            for_each_call(|call| {
                if call.path.ends_with("::HOOK") {
                    sites = Some(call.sites);
                }
            })
            .unwrap();
            sites.unwrap()
        };
        let before = count();
        let listed = sites().len();
        assert_eq!(count(), before + listed);
    });
}

/// `/proc/self/mem` promises no single store. If it is all that there is, calls stay on the trampoline; those that lead elsewhere already
/// cannot be changed.
#[test]
fn writers_without_a_single_store() {
    passes(|| {
        let sites = sites();
        set_writer(Some(WriterKind::Procmem));
        HOOK.update(two).unwrap();
        assert!(sites.iter().all(|site| site.leads_to() == trampoline() && (site.function)(0) == 2));
        assert!(Batch::new().enable(&KEY).set(&HOOK, one).commit().is_ok() && KEY.is_enabled());
        assert!(sites.iter().all(|site| site.leads_to() == trampoline() && (site.function)(0) == 1));
        set_writer(None);
        HOOK.update(two).unwrap();
        lead_to(targets()[1], sites);
        set_writer(Some(WriterKind::Procmem));
        assert_eq!(Batch::new().disable(&KEY).set(&HOOK, one).commit(), Err(Error::NoWriter));
        assert!(KEY.is_enabled());
        lead_to(targets()[1], sites);
    });
}

/// The system lets nobody change text by a mapping.
#[test]
fn under_mdwe() {
    passes(|| {
        let sites = sites();
        let targets = targets();
        // SAFETY: forbids this process something.
        if unsafe { libc::prctl(PR_SET_MDWE, 1, 0, 0, 0) } != 0 {
            println!("skipped: no MDWE here ({})", std::io::Error::last_os_error());
            jumplabel_testing::scenario::skip();
        }
        for (number, target) in targets {
            HOOK.update(target).unwrap();
            assert!(sites.iter().all(|site| site.leads_to() == trampoline() && (site.function)(0) == number));
        }
    });
}

/// Calls that the file leads straight to the default, as a tool writes them: nothing has strayed. If the bytes of the file come back later, the
/// library recognises them.
#[test]
fn led_to_the_default_in_the_file() {
    use std::os::unix::fs::FileExt;
    passes(|| {
        let sites = sites_in_file(true);
        let straight = sites.iter().filter(|site| !site.is_torn()).count();
        assert_eq!(verify().unwrap().sites, 0);
        let memory = std::fs::OpenOptions::new().read(true).write(true).open("/proc/self/mem").unwrap();
        let in_file: Vec<[u8; 4]> = sites
            .iter()
            .map(|site| {
                let mut bytes = [0; 4];
                memory.read_exact_at(&mut bytes, site.displacement as u64).unwrap();
                bytes
            })
            .collect();
        let stray = || {
            let places = sites.iter().zip(&in_file);
            places.for_each(|(site, bytes)| memory.write_all_at(bytes, site.displacement as u64).unwrap());
            let leads_to_one = |site: &&Site| (site.function)(0) == 1;
            assert_eq!(sites.iter().filter(leads_to_one).count(), straight, "nothing has strayed");
        };
        let [_, near, far] = targets();
        for (number, target) in [near, far] {
            for repair in [|| verify(), || HOOK.update(HOOK.query())] {
                HOOK.update(target).unwrap();
                stray();
                assert_eq!(repair().unwrap().sites, straight);
                lead_to((number, target), &sites);
            }
            stray();
            HOOK.reset().unwrap();
            assert!(sites.iter().all(|site| (site.function)(0) == 1));
        }
    });
}

/// A jump hooks the function of a call, and ends with the call's opcode: a thread that comes that way runs a copy of the call, which nobody leads
/// elsewhere.
#[test]
fn hooked() {
    use std::os::unix::fs::FileExt;
    passes(|| {
        let site = sites().iter().find(|site| !site.is_torn()).unwrap();
        let memory = std::fs::File::options().read(true).write(true).open("/proc/self/mem").unwrap();
        let start = site.displacement as u64 - 5;
        let mut before = [0; 5];
        memory.read_exact_at(&mut before, start).unwrap();
        HOOK.update(two).unwrap();
        memory.write_all_at(&[0xe9, 0x67, 0x45, 0x23, 0x01], start).unwrap();
        for result in [HOOK.update(one), HOOK.update(far(3)), verify()] {
            let Err(Error::ForeignBytes { address, found, .. }) = result else { panic!("{result:?}") };
            assert_eq!((address, &found[..]), (site.displacement - 1, &[0x01][..]));
            lead_to((2, two), &sites()[1..]);
        }
        memory.write_all_at(&before, start).unwrap();
        // A breakpoint on the call.
        memory.write_all_at(&[0xcc], site.displacement as u64 - 1).unwrap();
        HOOK.update(one).unwrap();
        memory.write_all_at(&before, start).unwrap();
        lead_to((1, one), sites());
    });
}
