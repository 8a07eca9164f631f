//! The fields of acknowledgements that a link needs to drop ACKs which later ACKs supersede.

/// A TCP packet that acknowledges data. Its numbers are sequence numbers, which wrap around.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ack {
    /// Identifies the connection and the direction of the packet.
    pub connection: u64,
    /// Next sequence number that the receiver expects.
    pub number: u32,
    /// Ranges of data received beyond `number` (RFC 2018); unused entries are (0, 0).
    pub sacks: [(u32, u32); Self::MOST_SACKS],
    /// ECN feedback: the bits AE, ECE and CWR.
    pub echo: u16,
    /// TSval (RFC 7323), if the option is present.
    pub timestamp: Option<u32>,
    /// Whether the packet carries no data, and no option that could contain other information.
    pub is_pure: bool,
}

impl Ack {
    /// Maximum number of SACK blocks that fit into the options of a TCP header.
    pub const MOST_SACKS: usize = 4;

    /// Whether a sender that receives this ACK no longer needs the older ACK.
    ///
    /// The rule is that of CAKE's filter (Høiland-Jørgensen, Täht and Morton, "Piece of CAKE",
    /// 2018, section III.D): this ACK must acknowledge more bytes than the older ACK, including
    /// SACK blocks, and everything that the older ACK acknowledges. Therefore, duplicate ACKs are
    /// never superseded, nor ACKs that echo another mark or report a duplicate (RFC 2883).
    pub fn supersedes(&self, older: &Self) -> bool {
        let is_newer = match (self.timestamp, older.timestamp) {
            (Some(own), Some(other)) => !is_before(own, other),
            (None, None) => true,
            _ => false,
        };
        older.is_pure
            && is_newer
            && (self.connection, self.echo) == (older.connection, older.echo)
            && !is_before(self.number, older.number)
            && older.blocks().all(|block| {
                let is_duplicate = !is_before(older.number, block.1);
                !is_duplicate && (self.has_passed(block) || self.has_block_around(block))
            })
            && (self.number != older.number || self.sacked_bytes() > older.sacked_bytes())
    }

    fn blocks(&self) -> impl Iterator<Item = (u32, u32)> {
        self.sacks.into_iter().filter(|&(start, end)| start != end)
    }

    fn has_passed(&self, (_, end): (u32, u32)) -> bool {
        !is_before(self.number, end)
    }

    fn has_block_around(&self, (start, end): (u32, u32)) -> bool {
        self.blocks().any(|(first, after)| !is_before(start, first) && !is_before(after, end))
    }

    fn sacked_bytes(&self) -> u64 {
        self.blocks().map(|(start, end)| u64::from(end.wrapping_sub(start))).sum()
    }
}

/// Whether sequence number `a` precedes `b` (RFC 9293 section 3.4).
fn is_before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack(number: u32) -> Ack {
        Ack {
            connection: 1,
            number,
            sacks: [(0, 0); 4],
            echo: 0,
            timestamp: Some(number),
            is_pure: true,
        }
    }

    fn sack(number: u32, blocks: &[(u32, u32)]) -> Ack {
        let mut ack = ack(number);
        ack.sacks[..blocks.len()].copy_from_slice(blocks);
        ack
    }

    #[test]
    fn a_higher_number_of_the_same_connection_supersedes_what_only_acknowledges() {
        assert!(ack(2_000).supersedes(&ack(1_000)));
        assert!(ack(500).supersedes(&ack(u32::MAX - 500)), "numbers wrap");
        assert!(!ack(1_000).supersedes(&ack(2_000)));
        assert!(!ack(2_000).supersedes(&Ack { connection: 2, ..ack(1_000) }));
        assert!(!ack(2_000).supersedes(&Ack { is_pure: false, ..ack(1_000) }));
        let with_data = Ack { is_pure: false, ..ack(2_000) };
        assert!(with_data.supersedes(&ack(1_000)), "data acknowledge, too");
    }

    #[test]
    fn marks_and_later_timestamps_stay() {
        assert!(!ack(2_000).supersedes(&Ack { echo: 0x40, ..ack(1_000) }));
        assert!(!Ack { echo: 0x40, ..ack(2_000) }.supersedes(&ack(1_000)));
        assert!(!ack(2_000).supersedes(&Ack { timestamp: Some(3_000), ..ack(1_000) }));
        assert!(!ack(2_000).supersedes(&Ack { timestamp: None, ..ack(1_000) }));
    }

    #[test]
    fn duplicates_stay_and_so_does_what_only_they_report() {
        assert!(!ack(1_000).supersedes(&ack(1_000)), "a duplicate");
        let older = sack(1_000, &[(2_000, 3_000)]);
        assert!(sack(1_000, &[(2_000, 4_000)]).supersedes(&older), "more is reported");
        assert!(!sack(1_000, &[(2_000, 3_000)]).supersedes(&older), "as much");
        assert!(!sack(1_000, &[(3_000, 9_000)]).supersedes(&older), "something else");
        assert!(!ack(1_500).supersedes(&older), "the block is not passed");
        assert!(ack(3_000).supersedes(&older));
        let duplicate = sack(5_000, &[(2_000, 3_000)]);
        assert!(!ack(6_000).supersedes(&duplicate), "RFC 2883");
    }
}
