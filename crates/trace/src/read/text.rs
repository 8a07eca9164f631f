//! Decodes the content of a file: decompression, UTF-8, and uniform line endings.

use std::borrow::Cow;

use super::gzip;
use crate::{TraceProblem, light};

/// The content of a file, decompressed if it is a gzip file.
pub(super) fn unpacked(content: &[u8]) -> Result<Cow<'_, [u8]>, TraceProblem> {
    const FOREIGN: [(&[u8], &str); 8] = [
        (b"PK\x03\x04", "a zip archive: extract it and name one of its files"),
        (b"BZh", "compressed with bzip2: decompress it, or compress it with gzip"),
        (b"\xfd7zXZ", "compressed with xz: decompress it, or compress it with gzip"),
        (b"\x28\xb5\x2f\xfd", "compressed with zstd: decompress it, or compress it with gzip"),
        (b"Rar!", "a rar archive: extract it and name one of its files"),
        (b"\xd4\xc3\xb2\xa1", "a packet capture: `cwndlab import` reads packet captures"),
        (b"\xa1\xb2\xc3\xd4", "a packet capture: `cwndlab import` reads packet captures"),
        (b"\x0a\x0d\x0d\x0a", "a packet capture: `cwndlab import` reads packet captures"),
    ];
    if gzip::is_gzip(content) {
        return gzip::unpack(content).map(Cow::Owned);
    }
    match FOREIGN.iter().find(|(magic, _)| content.starts_with(magic)) {
        Some((_, what)) => Err(TraceProblem::Foreign(what)),
        None => Ok(Cow::Borrowed(content)),
    }
}

/// The text of a file, without a byte order mark and with `\n` as line ending.
pub(super) fn text(content: &[u8]) -> String {
    let wide = |little: bool| {
        let units = content[2..].chunks_exact(2).map(|pair| match little {
            true => u16::from_le_bytes([pair[0], pair[1]]),
            false => u16::from_be_bytes([pair[0], pair[1]]),
        });
        char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
    };
    let text: Cow<'_, str> = match content {
        [0xff, 0xfe, ..] => Cow::Owned(wide(true)),
        [0xfe, 0xff, ..] => Cow::Owned(wide(false)),
        _ => String::from_utf8_lossy(content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content)),
    };
    if text.contains('\r') {
        text.replace("\r\n", "\n").replace('\r', "\n")
    } else {
        text.into_owned()
    }
}

/// Whether a text contains packet trains: each line contains a time, a base delay and arrivals.
/// Either the number of packets varies between lines, or every line has several packets and the
/// first arrives at 0.
pub(super) fn is_packet_trains(text: &str) -> bool {
    let mut trains = Vec::new();
    for line in text.lines().take(50) {
        let Some(train) = light::packets_of(line) else { return false };
        trains.push(train);
    }
    let longest = trains.iter().map(|&(packets, _)| packets).max().unwrap_or(0);
    longest > 1 && trains.iter().any(|&(packets, _)| packets != longest)
        || longest > 4 && trains.iter().all(|&(_, begins_at_0)| begins_at_0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_and_byte_orders_become_one() {
        assert_eq!(text(b"\xef\xbb\xbfa\r\nb\rc\n"), "a\nb\nc\n");
        assert_eq!(text(b"\xff\xfea\x00\r\x00\n\x00"), "a\n");
        assert_eq!(text(b"\xfe\xff\x00a\x00\n"), "a\n");
        assert_eq!(text(b"Telef\xf3nica"), "Telef\u{fffd}nica");
    }

    #[test]
    fn what_is_packed_otherwise_is_named() {
        let problem = unpacked(b"PK\x03\x04...").expect_err("must be refused").to_string();
        assert_eq!(problem, "this file is a zip archive: extract it and name one of its files");
    }
}
