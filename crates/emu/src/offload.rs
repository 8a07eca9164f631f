//! The header that precedes each packet which the kernel passes to a TUN device or takes from it:
//! `virtio_net_hdr` of `linux/virtio_net.h`.
//!
//! The header states which work is left to the device: the TCP checksum, and segmentation.

/// Length of the header, whose fields have the byte order of this machine.
pub(crate) const VIRTIO_BYTES: usize = 10;

pub(crate) type VirtioHeader = [u8; VIRTIO_BYTES];

/// `VIRTIO_NET_HDR_F_NEEDS_CSUM`.
const NEEDS_CHECKSUM: u8 = 1;
/// `VIRTIO_NET_HDR_GSO_NONE` and `VIRTIO_NET_HDR_GSO_TCPV4`.
const NOT_LARGE: u8 = 0;
const TCP_OVER_IPV4: u8 = 1;
const SEGMENT_BYTES: usize = 4;

/// Header of a packet that is complete, including its checksums: no work is left to the device.
pub(crate) const NOTHING_LEFT: VirtioHeader = [0; VIRTIO_BYTES];

/// Payload bytes of each segment of a large packet; `None` if the packet is a single segment.
pub(crate) fn segment_bytes(header: &VirtioHeader) -> Option<usize> {
    let bytes = u16::from_ne_bytes([header[SEGMENT_BYTES], header[SEGMENT_BYTES + 1]]);
    (header[1] != NOT_LARGE).then(|| usize::from(bytes))
}

/// Header of a single segment; the checksum fields are copied from `header`.
pub(crate) fn checksum_of(header: &VirtioHeader) -> VirtioHeader {
    let mut kept = NOTHING_LEFT;
    if header[0] & NEEDS_CHECKSUM != 0 {
        kept[0] = NEEDS_CHECKSUM;
        kept[6..].copy_from_slice(&header[6..]);
    }
    kept
}

/// Header of a packet whose checksum field, `offset` bytes after `start`, covers only the pseudo
/// header.
pub(crate) fn checksum_at(start: usize, offset: usize) -> VirtioHeader {
    filled(NOT_LARGE, [0, 0, start, offset])
}

/// Header of a large packet of segments with `segment_bytes` of payload; the checksum fields are
/// unchanged.
pub(crate) fn large(
    header_bytes: usize,
    segment_bytes: usize,
    [start, offset]: [usize; 2],
) -> VirtioHeader {
    filled(TCP_OVER_IPV4, [header_bytes, segment_bytes, start, offset])
}

fn filled(kind: u8, fields: [usize; 4]) -> VirtioHeader {
    let mut header = [0; VIRTIO_BYTES];
    (header[0], header[1]) = (NEEDS_CHECKSUM, kind);
    for (place, value) in header[2..].chunks_exact_mut(2).zip(fields) {
        place.copy_from_slice(&(value as u16).to_ne_bytes());
    }
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_says_what_is_left_to_do() {
        let header = large(52, 1_448, [20, 16]);
        assert_eq!(segment_bytes(&header), Some(1_448));
        assert_eq!(checksum_of(&header), checksum_at(20, 16));
        assert_eq!(segment_bytes(&checksum_at(20, 16)), None);
        // VIRTIO_NET_HDR_F_DATA_VALID, set on a packet that the kernel forwards.
        let mut valid = checksum_at(20, 16);
        valid[0] = 2;
        assert_eq!(checksum_of(&valid), NOTHING_LEFT);
    }
}
