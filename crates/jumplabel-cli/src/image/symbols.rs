//! The names of addresses: the symbols of functions and variables.

use object::{BinaryFormat, Object, ObjectSection, ObjectSymbol, ReadCache, SymbolKind};

use super::Reader;

/// Symbols, in the order of their addresses.
#[derive(Default)]
pub struct Symbols(Vec<Symbol>);

struct Symbol {
    address: u64,
    bytes: u64,
    name: String,
}

impl Symbols {
    /// Reads the symbols of a file, and those that it exports. A file with lost or damaged section headers has none.
    pub(super) fn read(file: Reader<'_>) -> Symbols {
        let cache = ReadCache::new(file);
        let Ok(file) = object::File::parse(&cache) else { return Symbols::default() };
        let named = file
            .symbols()
            .chain(file.dynamic_symbols())
            .filter(|symbol| matches!(symbol.kind(), SymbolKind::Text | SymbolKind::Data) && !symbol.is_undefined());
        let read = |symbol: object::Symbol<'_, '_, _>| {
            // Symbols that begin with `$` only mark where code and where data begins.
            let name = symbol.name().ok().filter(|name| !name.is_empty() && !name.starts_with('$'))?;
            Some(Symbol { address: symbol.address(), bytes: symbol.size(), name: name.to_owned() })
        };
        let mut symbols: Vec<Symbol> = named.filter_map(read).collect();
        symbols.sort_by(|a, b| (a.address, &a.name).cmp(&(b.address, &b.name)));
        if file.format() != BinaryFormat::Elf {
            measure(&file, &mut symbols);
        }
        Symbols(symbols)
    }

    /// Whether there are no symbols, as in a stripped file.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The symbol that contains `address`, as the source writes it, and the offset of `address` in it.
    pub fn at(&self, address: u64) -> Option<(String, u64)> {
        let behind = self.0.partition_point(|symbol| symbol.address <= address);
        // Symbols rarely overlap, so it is enough to look at the last eight symbols that begin at or before `address`.
        let has = |symbol: &&Symbol| address - symbol.address < symbol.bytes.max(1);
        let symbol = self.0[..behind].iter().rev().take(8).find(has)?;
        Some((demangled(&symbol.name), address - symbol.address))
    }

    /// The name of the symbol that begins at `address`.
    pub fn beginning_at(&self, address: u64) -> Option<String> {
        self.at(address).filter(|(_, far)| *far == 0).map(|(name, _)| name)
    }

    /// The address of the symbol that the source or the object file calls `name`.
    pub fn address_of(&self, name: &str) -> Option<u64> {
        let is_it = |symbol: &&Symbol| symbol.name == name || demangled(&symbol.name) == name;
        self.0.iter().find(is_it).map(|symbol| symbol.address)
    }

    /// The symbol and the offset that [`at`](Self::at) finds, as one word: `name+0x8`.
    pub fn place(&self, address: u64) -> Option<String> {
        let (name, far) = self.at(address)?;
        Some(if far == 0 { name } else { format!("{name}+{far:#x}") })
    }
}

/// Gives symbols of a PE file a length, which they lack: each goes on to the next one, or to the end of its section.
fn measure<'data>(file: &impl Object<'data>, symbols: &mut [Symbol]) {
    let ends: Vec<_> = file.sections().map(|section| section.address()..section.address() + section.size()).collect();
    let mut next = u64::MAX;
    for number in (0..symbols.len()).rev() {
        let address = symbols[number].address;
        let end = ends.iter().find(|section| section.contains(&address)).map_or(address, |section| section.end);
        symbols[number].bytes = end.min(next).saturating_sub(address);
        if number > 0 && symbols[number - 1].address < address {
            next = address;
        }
    }
}

/// A name as the source writes it. Mangled names of C++ and Rust begin with `_Z` or `_R`. Without this check, the demangler for C++ would take `a`
/// for a type, `signed char`.
pub fn demangled(name: &str) -> String {
    let is_mangled = name.starts_with("_Z") || name.starts_with("_R");
    if is_mangled { addr2line::demangle_auto(name.into(), None).into_owned() } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::demangled;

    #[test]
    fn names() {
        for name in ["a", "b", "i", "z", "St", "main", "R", "Z1a", "", "_", "_a", "trace.lto_priv.0"] {
            assert_eq!(demangled(name), name);
        }
        assert_eq!(demangled("_ZN3net5traceE"), "net::trace");
        assert_eq!(demangled("_ZN3net5TRACE17h0123456789abcdefE"), "net::TRACE");
        assert_eq!(demangled("_RNvC3net4work"), "net::work");
    }
}
