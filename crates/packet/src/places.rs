//! Where the fields of IPv4 and TCP headers stand: RFC 791 section 3.1, RFC 9293 section 3.1.

use crate::checksum::{checksum, sum};
use crate::ip::PROTOCOL_TCP;

/// In an IPv4 header.
pub(crate) const TOTAL_LENGTH: usize = 2;
pub(crate) const IDENTIFICATION: usize = 4;
pub(crate) const FRAGMENT: usize = 6;
pub(crate) const PROTOCOL: usize = 9;
pub(crate) const HEADER_CHECKSUM: usize = 10;
pub(crate) const ADDRESSES: usize = 12;
/// Addresses, all of them.
const ADDRESS_BYTES: usize = 8;
/// In a TCP header.
pub(crate) const SEQ: usize = 4;
pub(crate) const FLAGS: usize = 12;
pub(crate) const WINDOW: usize = 14;
pub(crate) const TCP_CHECKSUM: usize = 16;

/// Of the half that holds the fragment offset: "more fragments follow" and the offset.
pub(crate) const MORE_FRAGMENTS_AND_OFFSET: u16 = 0x3fff;

/// Writes a field of two bytes.
pub(crate) fn put_half(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

/// Writes the length of an IPv4 packet that carries TCP into its headers, with the checksum of the
/// IPv4 header. TCP gets the checksum of its pseudo header only, to which who computes the rest adds
/// it (`VIRTIO_NET_HDR_F_NEEDS_CSUM`).
pub(crate) fn put_length(headers: &mut [u8], ip_bytes: usize, total_bytes: usize) {
    put_half(headers, TOTAL_LENGTH, total_bytes as u16);
    put_half(headers, HEADER_CHECKSUM, 0);
    let of_header = checksum(sum(&headers[..ip_bytes]));
    put_half(headers, HEADER_CHECKSUM, of_header);
    let addresses = sum(&headers[ADDRESSES..ADDRESSES + ADDRESS_BYTES]);
    let pseudo = addresses + u32::from(PROTOCOL_TCP) + (total_bytes - ip_bytes) as u32;
    put_half(headers, ip_bytes + TCP_CHECKSUM, !checksum(pseudo));
}
