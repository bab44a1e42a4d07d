//! Listings: each is compared with what is printed today. Addresses may differ, and, with another compiler than the one that the
//! document names, instructions, too.

use object::{Object, ObjectSection};

use crate::desk::{block, example, printed, read, succeeds, write};
use crate::markdown::lines;

/// One instruction: its place in the function, its bytes, its mnemonic.
#[derive(Debug, PartialEq)]
pub struct Instruction {
    offset: usize,
    bytes: Vec<u8>,
    mnemonic: String,
}

/// The nop with its prefix.
const NOP: [u8; 6] = [0x40, 0x0f, 0x1f, 0x44, 0, 0];

/// Words that are bytes, then the first that is not. A listing leaves bytes out by three dots.
fn bytes_and_mnemonic<'a>(words: impl Iterator<Item = &'a str>) -> (Vec<u8>, String) {
    let mut bytes = Vec::new();
    for word in words {
        match u8::from_str_radix(word, 16) {
            Ok(byte) if word.len() == 2 => bytes.push(byte),
            _ => return (bytes, word.to_owned()),
        }
    }
    (bytes, String::new())
}

/// The two columns of the README's listing: each instruction begins with its offset, `+8`.
fn columns(listing: &str) -> [Vec<Instruction>; 2] {
    let mut columns = [Vec::new(), Vec::new()];
    for line in listing.lines().filter(|line| line.trim_start().starts_with('+')) {
        let begins: Vec<usize> = line.match_indices(" +").map(|(at, _)| at).collect();
        // A target (`jmp +22`) has one blank before it, an instruction several.
        let begins: Vec<usize> =
            begins.into_iter().filter(|&at| line[..at].trim_end().len() + 1 < at || at == 0).collect();
        assert_eq!(begins.len(), 2, "not two columns: {line}");
        for (column, text) in columns.iter_mut().zip([&line[..begins[1]], &line[begins[1]..]]) {
            let mut words = text.split_whitespace();
            let offset = words.next().unwrap()[1..].parse().unwrap();
            let (bytes, mnemonic) = bytes_and_mnemonic(words);
            column.push(Instruction { offset, bytes, mnemonic });
        }
    }
    columns
}

/// The instructions in what `objdump -d` prints of one function.
fn of_objdump(text: &str) -> Vec<Instruction> {
    let mut start = None;
    let instruction = |line: &str| {
        let (address, rest) = line.trim_start().split_once(":\t")?;
        let address = usize::from_str_radix(address, 16).ok()?;
        let (bytes, mnemonic) = bytes_and_mnemonic(rest.split_whitespace());
        Some(Instruction { offset: address - *start.get_or_insert(address), bytes, mnemonic })
    };
    text.lines().filter_map(instruction).collect()
}

/// The instructions in what gdb's `disassemble /r` prints.
fn of_gdb(text: &str) -> Vec<Instruction> {
    let instruction = |line: &str| {
        let (_, rest) = line.split_once("<+")?;
        let (offset, rest) = rest.split_once(">:\t")?;
        let (bytes, mnemonic) = bytes_and_mnemonic(rest.split_whitespace());
        Some(Instruction { offset: offset.parse().ok()?, bytes, mnemonic })
    };
    text.lines().filter_map(instruction).collect()
}

/// Whether each row of the document was printed: its bytes (as far as they are written out), and its mnemonic.
pub fn agrees(documented: &[Instruction], today: &[Instruction]) -> Result<(), String> {
    for row in documented {
        let same = |found: &&Instruction| {
            let complete = found.bytes.len() == row.bytes.len() && found.mnemonic == row.mnemonic;
            let shortened = row.mnemonic == "..." && found.bytes.starts_with(&row.bytes);
            found.offset == row.offset && found.bytes.starts_with(&row.bytes) && (complete || shortened)
        };
        if !today.iter().any(|found| same(&found)) {
            return Err(format!("the document has {row:x?}, printed was {today:x?}"));
        }
    }
    if documented.is_empty() { Err("nothing is documented".into()) } else { Ok(()) }
}

/// The two listings of `work`, by the README's own commands.
fn both_listings() -> [Vec<Instruction>; 2] {
    let commands = lines(&block("README.md", "objdump -d").text);
    let print = |program: &str| {
        let line = commands.iter().find(|line| line.starts_with(program)).expect("the command that prints it");
        printed(line, example())
    };
    [of_objdump(&print("objdump")), of_gdb(&print("gdb"))]
}

fn is_documented_compiler(document: &str) -> bool {
    let version = succeeds(std::process::Command::new("rustc").arg("--version").current_dir(example()));
    let minor = version.split('.').nth(1).unwrap_or_default();
    read(document).contains(&format!("rustc 1.{minor},"))
}

pub fn readme(listing: &str) {
    let [before, after] = both_listings();
    // Whatever the compiler, the site is a nop, later a jump, after the prefix.
    let site = before.iter().find(|row| row.bytes == NOP).expect("a nop");
    let flipped = after.iter().find(|row| row.offset == site.offset).expect("the site");
    assert_eq!((&flipped.bytes[..2], flipped.mnemonic.as_str()), (&[0x40, 0xe9][..], "rex"), "{after:x?}");
    let [documented_before, documented_after] = columns(listing);
    if is_documented_compiler("README.md") {
        agrees(&documented_before, &before).unwrap();
        agrees(&documented_after, &after).unwrap();
        // The comparison finds errors that are made on purpose.
        let lie = |change: fn(&mut Instruction)| {
            let mut lies = columns(listing)[1].split_off(2);
            change(&mut lies[0]);
            assert!(agrees(&lies, &after).is_err(), "{:x?} went unnoticed", lies[0]);
        };
        lie(|row| row.bytes[1] += 1);
        lie(|row| row.offset += 1);
        lie(|row| row.mnemonic = "je".into());
    } else {
        println!("another compiler than the README's: only the site was compared");
    }
}

/// A function with an arm out of line begins with the check. The document's program was built by the block before.
pub fn arm_out_of_line(listing: &str) {
    let built = block("docs/features.md", "static AUDIT").line;
    let program = example().with_file_name("programs").join(format!("target/release/features{built}"));
    let printed =
        printed(&format!("objdump -d -M intel {} | awk '/^[0-9a-f]+ <.*6triple/,/^$/'", program.display()), example());
    let today = of_objdump(&printed);
    assert!(today.iter().any(|row| row.bytes == NOP), "{printed}");
    if is_documented_compiler("docs/features.md") {
        let rows: Vec<_> = listing.lines().map(|line| bytes_and_mnemonic(line.split_whitespace())).collect();
        let found: Vec<_> = today.into_iter().take(rows.len()).map(|row| (row.bytes, row.mnemonic)).collect();
        assert_eq!(found, rows, "{printed}");
    }
}

/// docs/table-format.md's reader of tables, on the README's example.
pub fn table_reader(script: &str) {
    write(&example().join("table.py"), script);
    let listed = listed();
    assert_eq!(listed.lines().count(), 2, "{listed}");
}

fn listed() -> String {
    printed("python3 table.py target/release/example", example())
}

/// Numbers of the lines: `site 0x18a38 jumps to 0x18a46 ...`, and the lines without those that are addresses.
fn addresses(line: &str) -> (Vec<u64>, String) {
    let (mut numbers, mut shape) = (Vec::new(), String::new());
    let mut parts = line.split("0x");
    shape += parts.next().unwrap_or_default();
    for part in parts {
        let end = part.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(part.len());
        numbers.push(u64::from_str_radix(&part[..end], 16).unwrap());
        shape += &format!("0x...{}", &part[end..]);
    }
    (numbers, shape)
}

/// Compares a listing with what the tools print here: other addresses, but the same distance from the site to its target; and objdump shows the nop
/// there.
pub fn table(listing: &str) {
    let (documented, today) = (addresses(listing.trim()), addresses(listed().trim()));
    assert_eq!(documented.1, today.1);
    assert_eq!(today.0[2], today.0[3], "the key of the site is the key of the record");
    if is_documented_compiler("README.md") {
        assert_eq!(documented.0[1] - documented.0[0], today.0[1] - today.0[0], "{listing}{today:x?}");
    }
    let line = "objdump -d target/release/example | grep -A 1 '^ *ADDRESS:'";
    let code = printed(&line.replace("ADDRESS", &format!("{:x}", today.0[0] - 1)), example());
    assert!(
        code.lines().next().is_some_and(|line| line.contains("40 0f 1f 44 00 00") && line.contains("nop")),
        "{code}"
    );
}

/// A table of fields: offset, size, name. Each begins where the one before it ends; the last ends at the record's end.
pub fn fields(listing: &str, size: usize) -> Result<(), String> {
    let mut end = 0;
    for line in listing.lines() {
        let mut words = line.split_whitespace();
        let number = |word: Option<&str>| word.and_then(|word| word.parse::<usize>().ok());
        let (Some(offset), Some(bytes)) = (number(words.next()), number(words.next())) else { continue };
        if offset != end {
            return Err(format!("ends at {end}, goes on at {offset}: {line}"));
        }
        end += bytes;
    }
    if end == size { Ok(()) } else { Err(format!("{end} bytes of {size}")) }
}

/// The words with which a note in the section begins, as the document has them: `n_namesz 10    n_descsz 4    n_type 1 ...`.
pub fn note(listing: &str) {
    let words: Vec<&str> = listing.split_whitespace().collect();
    let after = |name: &str| words[words.iter().position(|&word| word == name).unwrap() + 1].parse().unwrap();
    let documented: [u32; 3] = ["n_namesz", "n_descsz", "n_type"].map(after);
    let program = std::fs::read(example().join("target/release/example")).unwrap();
    let program = object::File::parse(&*program).unwrap();
    let note = program.section_by_name(".note.jumplabel").expect("the note").data().unwrap();
    let words: Vec<u32> = note.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
    assert!(words.windows(3).any(|words| words == documented), "{documented:?}: {words:?}");
}
