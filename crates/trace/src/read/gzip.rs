//! Decompression of gzip (RFC 1952) and deflate (RFC 1951).
//!
//! Huffman codes are decoded bit by bit with the number of codes of each length. This is slow
//! compared with a lookup table, but fast compared with parsing a trace. A file may consist of
//! several gzip members.

use crate::TraceProblem;

/// Maximum size of the decompressed text.
const MAX_BYTES: usize = 1 << 30;

const MAGIC: [u8; 2] = [0x1f, 0x8b];
const DEFLATE: u8 = 8;
const WINDOW: usize = 1 << 15;
const LONGEST_CODE: usize = 15;
const END_OF_BLOCK: u16 = 256;

const HAS_CHECKSUM: u8 = 2;
const HAS_EXTRA: u8 = 4;
const HAS_NAME: u8 = 8;
const HAS_COMMENT: u8 = 16;

pub(super) fn is_gzip(content: &[u8]) -> bool {
    content.starts_with(&MAGIC)
}

/// Unpacks `content`.
pub(super) fn unpack(content: &[u8]) -> Result<Vec<u8>, TraceProblem> {
    let mut text = Vec::new();
    let mut rest = content;
    while is_gzip(rest) {
        rest = member(rest, &mut text).map_err(TraceProblem::Gzip)?;
    }
    Ok(text)
}

type Reason = &'static str;

const CUT: Reason = "cut short";
const DAMAGED: Reason = "damaged";

/// Decompresses the first gzip member of `content` and returns the bytes after it.
fn member<'a>(content: &'a [u8], text: &mut Vec<u8>) -> Result<&'a [u8], Reason> {
    let (header, mut rest) = content.split_at_checked(10).ok_or(CUT)?;
    let flags = header[3];
    if header[2] != DEFLATE {
        return Err(DAMAGED);
    }
    if flags & HAS_EXTRA != 0 {
        let (length, after) = rest.split_at_checked(2).ok_or(CUT)?;
        let length = usize::from(u16::from_le_bytes([length[0], length[1]]));
        rest = after.get(length..).ok_or(CUT)?;
    }
    for flag in [HAS_NAME, HAS_COMMENT] {
        if flags & flag != 0 {
            let end = rest.iter().position(|&byte| byte == 0).ok_or(CUT)?;
            rest = &rest[end + 1..];
        }
    }
    if flags & HAS_CHECKSUM != 0 {
        rest = rest.get(2..).ok_or(CUT)?;
    }
    let begin = text.len();
    let mut bits = Bits { bytes: rest, hold: 0, held: 0 };
    while !inflate_block(&mut bits, text, begin)? {}
    let (trailer, rest) = bits.bytes.split_at_checked(8).ok_or(CUT)?;
    let number = |at: usize| {
        u32::from_le_bytes([trailer[at], trailer[at + 1], trailer[at + 2], trailer[at + 3]])
    };
    let unpacked = &text[begin..];
    if number(0) != checksum(unpacked) || number(4) != unpacked.len() as u32 {
        return Err(DAMAGED);
    }
    Ok(rest)
}

/// Decompresses a block; returns whether the block was the last.
fn inflate_block(bits: &mut Bits<'_>, text: &mut Vec<u8>, begin: usize) -> Result<bool, Reason> {
    let is_last = bits.take(1)? == 1;
    match bits.take(2)? {
        0 => stored(bits, text)?,
        1 => {
            let lengths: Vec<u8> = (0..288)
                .map(|symbol| match symbol {
                    0..144 => 8,
                    144..256 => 9,
                    256..280 => 7,
                    _ => 8,
                })
                .collect();
            coded(bits, text, begin, &Huffman::new(&lengths)?, &Huffman::new(&[5; 30])?)?;
        }
        2 => {
            let (literals, distances) = dynamic_codes(bits)?;
            coded(bits, text, begin, &literals, &distances)?;
        }
        _ => return Err(DAMAGED),
    }
    Ok(is_last)
}

fn stored(bits: &mut Bits<'_>, text: &mut Vec<u8>) -> Result<(), Reason> {
    bits.forget();
    let (header, rest) = bits.bytes.split_at_checked(4).ok_or(CUT)?;
    let length = u16::from_le_bytes([header[0], header[1]]);
    if length != !u16::from_le_bytes([header[2], header[3]]) {
        return Err(DAMAGED);
    }
    let (data, rest) = rest.split_at_checked(usize::from(length)).ok_or(CUT)?;
    bits.bytes = rest;
    text.extend_from_slice(data);
    check_size(text)
}

/// Decodes literals and copies of earlier text (RFC 1951 section 3.2.5).
fn coded(
    bits: &mut Bits<'_>,
    text: &mut Vec<u8>,
    begin: usize,
    literals: &Huffman,
    distances: &Huffman,
) -> Result<(), Reason> {
    const LENGTHS: [u16; 29] = [
        3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115,
        131, 163, 195, 227, 258,
    ];
    const LENGTH_BITS: [u8; 29] =
        [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];
    const DISTANCES: [u16; 30] = [
        1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537,
        2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577,
    ];
    loop {
        let symbol = literals.decode(bits)?;
        if symbol == END_OF_BLOCK {
            return check_size(text);
        }
        if let Ok(literal) = u8::try_from(symbol) {
            text.push(literal);
            continue;
        }
        let index = usize::from(symbol - 257);
        let length = usize::from(*LENGTHS.get(index).ok_or(DAMAGED)?)
            + bits.take(u32::from(LENGTH_BITS[index]))? as usize;
        let index = usize::from(distances.decode(bits)?);
        let base = usize::from(*DISTANCES.get(index).ok_or(DAMAGED)?);
        let distance = base + bits.take((index as u32 / 2).saturating_sub(1))? as usize;
        if distance > WINDOW || distance > text.len() - begin {
            return Err(DAMAGED);
        }
        for _ in 0..length {
            text.push(text[text.len() - distance]);
        }
        check_size(text)?;
    }
}

fn check_size(text: &[u8]) -> Result<(), Reason> {
    if text.len() > MAX_BYTES { Err("larger than 1 GiB when uncompressed") } else { Ok(()) }
}

/// Reads the codes of a block with dynamic Huffman codes (RFC 1951 section 3.2.7).
fn dynamic_codes(bits: &mut Bits<'_>) -> Result<(Huffman, Huffman), Reason> {
    const ORDER: [usize; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
    let literals = bits.take(5)? as usize + 257;
    let distances = bits.take(5)? as usize + 1;
    let codes = bits.take(4)? as usize + 4;
    let mut lengths = [0; 19];
    for &symbol in &ORDER[..codes] {
        lengths[symbol] = bits.take(3)? as u8;
    }
    let code = Huffman::new(&lengths)?;
    let mut lengths: Vec<u8> = Vec::new();
    while lengths.len() < literals + distances {
        let (length, times) = match code.decode(bits)? {
            16 => (*lengths.last().ok_or(DAMAGED)?, bits.take(2)? + 3),
            17 => (0, bits.take(3)? + 3),
            18 => (0, bits.take(7)? + 11),
            length => (length as u8, 1),
        };
        lengths.extend((0..times).map(|_| length));
    }
    if lengths.len() > literals + distances {
        return Err(DAMAGED);
    }
    Ok((Huffman::new(&lengths[..literals])?, Huffman::new(&lengths[literals..])?))
}

/// Canonical Huffman codes (RFC 1951 section 3.2.2): shorter codes first, codes of equal length in
/// order of their symbols.
struct Huffman {
    /// Number of codes of each length.
    counts: [u16; LONGEST_CODE + 1],
    /// Symbols in the order of their codes.
    symbols: Vec<u16>,
}

impl Huffman {
    fn new(lengths: &[u8]) -> Result<Self, Reason> {
        let mut counts = [0; LONGEST_CODE + 1];
        for &length in lengths {
            counts[usize::from(length)] += 1;
        }
        counts[0] = 0;
        let mut unused = 1_i32;
        for &count in &counts[1..] {
            unused = 2 * unused - i32::from(count);
            if unused < 0 {
                return Err(DAMAGED);
            }
        }
        let mut symbols: Vec<u16> =
            (0..lengths.len() as u16).filter(|&symbol| lengths[usize::from(symbol)] > 0).collect();
        symbols.sort_by_key(|&symbol| lengths[usize::from(symbol)]);
        Ok(Self { counts, symbols })
    }

    fn decode(&self, bits: &mut Bits<'_>) -> Result<u16, Reason> {
        let (mut code, mut first, mut index) = (0, 0, 0);
        for &count in &self.counts[1..] {
            let count = i32::from(count);
            code |= bits.take(1)? as i32;
            if code - first < count {
                return Ok(self.symbols[(index + code - first) as usize]);
            }
            index += count;
            first = (first + count) << 1;
            code <<= 1;
        }
        Err(DAMAGED)
    }
}

/// Reads bits of a byte string, from the least significant bit of each byte on.
struct Bits<'a> {
    bytes: &'a [u8],
    hold: u32,
    held: u32,
}

impl Bits<'_> {
    fn take(&mut self, count: u32) -> Result<u32, Reason> {
        while self.held < count {
            let (&byte, rest) = self.bytes.split_first().ok_or(CUT)?;
            self.bytes = rest;
            self.hold |= u32::from(byte) << self.held;
            self.held += 8;
        }
        let taken = self.hold & ((1 << count) - 1);
        self.hold >>= count;
        self.held -= count;
        Ok(taken)
    }

    /// Continues at the next whole byte; at most 7 bits remain in the buffer between two reads.
    fn forget(&mut self) {
        (self.hold, self.held) = (0, 0);
    }
}

/// The cyclic redundancy check of RFC 1952 section 8.
fn checksum(text: &[u8]) -> u32 {
    let table: Vec<u32> = (0..256)
        .map(|byte| {
            (0..8)
                .fold(byte, |crc, _| if crc & 1 == 1 { 0xedb8_8320 ^ (crc >> 1) } else { crc >> 1 })
        })
        .collect();
    !text.iter().fold(!0, |crc: u32, &byte| table[usize::from(crc as u8 ^ byte)] ^ (crc >> 8))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The output of `printf '1\n2\n3\n' | gzip -n`.
    const SHORT: [u8; 26] = [
        0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0x33, 0xe4, 0x32, 0xe2, 0x32, 0xe6, 0x02, 0, 0xd8,
        0x54, 0x5f, 0x77, 6, 0, 0, 0,
    ];

    #[test]
    fn members_follow_each_other() {
        assert_eq!(unpack(&SHORT).as_deref(), Ok(&b"1\n2\n3\n"[..]));
        assert_eq!(unpack(&[SHORT, SHORT].concat()).as_deref(), Ok(&b"1\n2\n3\n1\n2\n3\n"[..]));
    }

    #[test]
    fn what_is_cut_or_damaged_is_refused() {
        for length in 2..SHORT.len() {
            assert_eq!(unpack(&SHORT[..length]), Err(TraceProblem::Gzip(CUT)), "{length}");
        }
        for at in 10..SHORT.len() {
            let mut damaged = SHORT;
            damaged[at] ^= 1;
            assert!(unpack(&damaged).is_err(), "{at}");
        }
    }
}
