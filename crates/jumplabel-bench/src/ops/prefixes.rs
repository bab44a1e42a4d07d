//! The prefix bytes that UP mode changes. They are read from memory and checked each time after a backend is set.

use iced_x86::Mnemonic;
use serde_json::{Value, json};

use super::columns::{BACKENDS, Backend, COLUMNS, Load, UP};
use super::tables;
use crate::Result;
use crate::site::decode;

/// The two values of a prefix byte: `ds` if the lock prefix is taken out, and `lock` if it is put in.
const OUT: u8 = 0x3e;
const IN: u8 = 0xf0;

/// The addresses of the `xadd` in the inlined loop, one for each layout.
pub struct Prefixes(Vec<usize>);

impl Prefixes {
    pub fn find() -> Result<Prefixes> {
        let symbols = tables::symbols()?;
        let mut found = Vec::new();
        for run in COLUMNS[UP].loops(Load::Inlined).ok_or("no loop")? {
            let [size, _] = tables::bytes(&symbols, run as usize);
            let [at] = decode::find(run as usize, size, Mnemonic::Xadd)[..] else {
                return Err(format!("not one xadd in the loop at {run:?}").into());
            };
            found.push(at);
        }
        Ok(Prefixes(found))
    }

    fn bytes(&self) -> Vec<u8> {
        // SAFETY: each address is in code of this program.
        self.0.iter().map(|&at| unsafe { (at as *const u8).read_volatile() }).collect()
    }

    /// Returns an error if the prefixes are not those of the backend.
    pub fn check(&self, backend: Backend) -> Result<()> {
        let expected = if backend == Backend::Locked { IN } else { OUT };
        match self.bytes() {
            bytes if bytes.iter().all(|&byte| byte == expected) => Ok(()),
            bytes => Err(format!("{backend:?}: the prefixes are {bytes:02x?}, not {expected:#x}").into()),
        }
    }

    /// The bytes of the prefixes under each backend.
    pub fn facts(&self) -> Result<Value> {
        let mut facts = json!({});
        for backend in BACKENDS {
            backend.set()?;
            facts[format!("{backend:?}")] = json!(self.bytes());
        }
        Ok(facts)
    }
}
