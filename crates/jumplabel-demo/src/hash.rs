//! The hash function of the loop: a static call, and three implementations.

/// For each byte that can be part of a word, its lower case. For all other bytes, 0.
pub static FOLD: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        if (byte as u8).is_ascii_alphanumeric() || byte == b'_' as usize || byte >= 128 {
            table[byte] = (byte as u8).to_ascii_lowercase();
        }
        byte += 1;
    }
    table
};

const SEED: u64 = 0xcbf2_9ce4_8422_2325;

/// One step of the hash (64-bit FNV-1a).
#[inline(always)]
const fn step(hash: u64, folded: u8) -> u64 {
    (hash ^ folded as u64).wrapping_mul(0x0100_0000_01b3)
}

jumplabel::static_call! {
    /// The hash function of the loop: one of [`HASHES`].
    pub static HASH: fn(&[u8]) -> u64 = hash_of;
}

/// The hash of a word's lower case.
pub fn hash_of(word: &[u8]) -> u64 {
    word.iter().fold(SEED, |hash, byte| step(hash, byte.to_ascii_lowercase()))
}

/// The same hash, with lower case from [`FOLD`].
fn hash_by_table(word: &[u8]) -> u64 {
    word.iter().fold(SEED, |hash, &byte| step(hash, FOLD[usize::from(byte)]))
}

/// The same hash: eight bytes at a time are brought to lower case.
fn hash_by_eight(word: &[u8]) -> u64 {
    let (eights, rest) = word.as_chunks::<8>();
    let hash = eights.iter().fold(SEED, |hash, &eight| {
        let bytes = u64::from_le_bytes(eight);
        let low = bytes & 0x7f7f_7f7f_7f7f_7f7f;
        // The highest bit of each byte says whether the byte is at least `A` (in `from_a`), or comes after `Z` (in `behind_z`).
        let from_a = low + 0x3f3f_3f3f_3f3f_3f3f;
        let behind_z = low + 0x2525_2525_2525_2525;
        let upper = (from_a ^ behind_z) & !bytes & 0x8080_8080_8080_8080;
        (bytes | upper >> 2).to_le_bytes().into_iter().fold(hash, step)
    });
    rest.iter().fold(hash, |hash, byte| step(hash, byte.to_ascii_lowercase()))
}

/// The implementations among which the program switches [`HASH`], the default first.
pub const HASHES: [fn(&[u8]) -> u64; 3] = [hash_of, hash_by_table, hash_by_eight];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_hashes_agree() {
        let bytes: Vec<u8> = (0..=255).filter(|&byte| FOLD[usize::from(byte)] != 0).collect();
        for word in bytes.windows(19).flat_map(|window| (0..19).map(|from| &window[from..])) {
            assert_eq!(HASHES.map(|hash| hash(word)), [hash_of(word); 3], "{}", word.escape_ascii());
        }
        assert_eq!(hash_of(b"ABCXYZ_19"), hash_of(b"abcxyz_19"));
    }
}
