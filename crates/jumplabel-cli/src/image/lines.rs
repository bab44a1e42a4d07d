//! Finds the functions, files and lines of addresses in debug information.

use std::fmt;
use std::rc::Rc;

use gimli::{Dwarf, EndianRcSlice, Reader, RunTimeEndian, SectionId};
use object::{Endian, Object, ObjectSection, ReadCache};
use serde::Serialize;

use super::Image;
use super::symbols::demangled;

/// The debug information of an object, if it has any.
pub struct Lines(Option<addr2line::Context<EndianRcSlice<RunTimeEndian>>>);

/// A function at an address. In a chain, the innermost function comes first. Each function was inlined into the next one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Frame {
    pub function: Option<String>,
    pub file: Option<String>,
    pub line: Option<u32>,
}

impl Lines {
    /// Reads the debug information. It counts as absent if it is compressed, or in a file of its own.
    pub fn read(image: &Image) -> Lines {
        let cache = ReadCache::new(image.file());
        let endian = if image.endian.is_big_endian() { RunTimeEndian::Big } else { RunTimeEndian::Little };
        let Ok(file) = object::File::parse(&cache) else { return Lines(None) };
        let section = |id: SectionId| -> Result<_, gimli::Error> {
            let section = file.section_by_name(id.name());
            let plain = section.filter(|section| {
                section.compressed_file_range().is_ok_and(|range| range.format == object::CompressionFormat::None)
            });
            let bytes = plain.and_then(|section| section.data().ok()).unwrap_or_default();
            Ok(EndianRcSlice::new(Rc::from(bytes), endian))
        };
        Lines(Dwarf::load(section).ok().and_then(|dwarf| addr2line::Context::from_dwarf(dwarf).ok()))
    }

    /// The chain at an address, the innermost function first. Without debug information, the chain is the symbol alone.
    pub fn chain(&self, image: &Image, address: u64) -> Vec<Frame> {
        let mut chain = self.frames(address).unwrap_or_default();
        if chain.iter().all(|frame| frame.function.is_none()) {
            let function = image.symbols().at(address).map(|(name, _)| name);
            match chain.last_mut() {
                Some(frame) => frame.function = function,
                None => chain.extend(function.map(|name| Frame { function: Some(name), file: None, line: None })),
            }
        }
        chain
    }

    fn frames(&self, address: u64) -> Option<Vec<Frame>> {
        let context = self.0.as_ref()?;
        let unit = context.find_dwarf_and_unit(address).skip_all_loads();
        let directory =
            unit.and_then(|unit| unit.comp_dir.as_ref()?.to_string_lossy().ok().map(|text| text.into_owned()));
        // Makes a path relative to the compiler's directory, as the compiler was given it. Declarations have paths of this form.
        let relative = |file: &str| {
            let inside = directory.as_ref().and_then(|directory| file.strip_prefix(directory)?.strip_prefix('/'));
            inside.unwrap_or(file).to_owned()
        };
        let mut frames = context.find_frames(address).skip_all_loads().ok()?;
        let mut chain = Vec::new();
        while let Ok(Some(frame)) = frames.next() {
            // Hostile debug information may lead a chain in circles, so the chain has a limit.
            if chain.len() == 256 {
                break;
            }
            let function = frame.function.and_then(|name| name.raw_name().ok().map(|name| demangled(&name)));
            let location = frame.location;
            let file = location.as_ref().and_then(|location| location.file).map(relative);
            chain.push(Frame { function, file, line: location.and_then(|location| location.line) });
        }
        Some(chain)
    }
}

impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.function.as_deref().unwrap_or("?"))?;
        match (&self.file, self.line) {
            (Some(file), Some(line)) => write!(f, " {file}:{line}"),
            (Some(file), None) => write!(f, " {file}"),
            _ => Ok(()),
        }
    }
}
