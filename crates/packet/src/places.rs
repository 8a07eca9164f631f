//! Offsets of fields in IPv4 and TCP headers: RFC 791 section 3.1, RFC 9293 section 3.1.

use crate::checksum::{checksum, sum};
use crate::ip::PROTOCOL_TCP;

/// Offset of the total length in an IPv4 header.
pub(crate) const TOTAL_LENGTH: usize = 2;
/// Offset of the identification in an IPv4 header.
pub(crate) const IDENTIFICATION: usize = 4;
/// Offset of the fragment flags and the fragment offset in an IPv4 header.
pub(crate) const FRAGMENT: usize = 6;
/// Offset of the protocol number in an IPv4 header.
pub(crate) const PROTOCOL: usize = 9;
/// Offset of the header checksum in an IPv4 header.
pub(crate) const HEADER_CHECKSUM: usize = 10;
/// Offset of the source and destination addresses in an IPv4 header.
pub(crate) const ADDRESSES: usize = 12;
/// Bytes of the source and destination addresses.
const ADDRESS_BYTES: usize = 8;
/// Offset of the sequence number in a TCP header.
pub(crate) const SEQ: usize = 4;
/// Offset of the data offset and the flags in a TCP header.
pub(crate) const FLAGS: usize = 12;
/// Offset of the window in a TCP header.
pub(crate) const WINDOW: usize = 14;
/// Offset of the checksum in a TCP header.
pub(crate) const TCP_CHECKSUM: usize = 16;

/// Bits of the 16-bit word at [`FRAGMENT`]: "more fragments follow" and the fragment offset.
pub(crate) const MORE_FRAGMENTS_AND_OFFSET: u16 = 0x3fff;

/// Writes a 16-bit field in network byte order.
pub(crate) fn put_half(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

/// Writes the length of an IPv4 packet that carries TCP, and the checksum of the IPv4 header. The
/// TCP checksum covers only the pseudo header; the kernel completes it later
/// (`VIRTIO_NET_HDR_F_NEEDS_CSUM`).
pub(crate) fn put_length(headers: &mut [u8], ip_bytes: usize, total_bytes: usize) {
    put_half(headers, TOTAL_LENGTH, total_bytes as u16);
    put_half(headers, HEADER_CHECKSUM, 0);
    let of_header = checksum(sum(&headers[..ip_bytes]));
    put_half(headers, HEADER_CHECKSUM, of_header);
    let addresses = sum(&headers[ADDRESSES..ADDRESSES + ADDRESS_BYTES]);
    let pseudo = addresses + u32::from(PROTOCOL_TCP) + (total_bytes - ip_bytes) as u32;
    put_half(headers, ip_bytes + TCP_CHECKSUM, !checksum(pseudo));
}
