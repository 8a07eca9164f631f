//! UMTS: dedicated channels of release 99, HSDPA and HSUPA.
//!
//! A slot of the model is a transmission time interval. HSDPA serves one user per interval. The
//! model leaves out code sharing within an interval, and the flow control between RNC and NodeB,
//! whose queues are treated as one.

use cwndlab_units::Duration;

use super::{Band, Plan, Ramp, Size, Sizes};
use crate::cellular::error::CellError;
use crate::cellular::radio::{UmtsDownlink, UmtsUplink};
use crate::channel::Coding;
use crate::channel::tables::hsdpa;

/// Bytes per packet for an RLC length indicator of 15 bits: TS 25.322 section 9.2.2.8.
const PACKET_OVERHEAD: u32 = 2;

pub(super) fn downlink(config: UmtsDownlink) -> Result<Plan, CellError> {
    match config {
        UmtsDownlink::Dedicated { kbit_s } => dedicated(kbit_s),
        UmtsDownlink::Hsdpa { category } => hsdpa(category),
    }
}

pub(super) fn uplink(config: UmtsUplink) -> Result<Plan, CellError> {
    match config {
        UmtsUplink::Dedicated { kbit_s } => dedicated(kbit_s),
        UmtsUplink::Hsupa { category, ramp } => hsupa(category, ramp),
    }
}

fn hsdpa(number: u8) -> Result<Plan, CellError> {
    let category = hsdpa::category(number).ok_or(CellError::Category {
        technology: "hsdpa",
        category: number,
        known: "1 to 12",
    })?;
    let coding = Coding::hsdpa();
    let sizes = Sizes::new(1, coding.count(), 1, 1, |_, scheme, _| {
        let bits = hsdpa::block_bits(category, scheme + 1);
        Size { bits, payload_bytes: hsdpa::units(bits) * hsdpa::UNIT_BYTES }
    });
    Ok(Plan {
        // TS 25.211 section 5.3.3.12: the shared control channel leads by 2 slots of 2/3 ms.
        processing: Duration::from_micros(1_333),
        // TS 25.211 section 7.7: the ACK is sent 7.5 slots after the block's end.
        decode: Duration::from_millis(5),
        spacing: category.spacing.into(),
        // Six processes fill the round trip of 12 ms.
        processes: 6,
        retransmit: vec![6],
        is_dedicated: false,
        ..single(Duration::from_millis(2), coding, sizes)
    })
}

/// A dedicated channel as in TS 34.108 section 6.10: transport blocks of 336 bits, of which 320
/// are payload.
fn dedicated(kbit_s: u32) -> Result<Plan, CellError> {
    let (interval_ms, blocks) = match kbit_s {
        64 => (20, 4),
        128 => (20, 8),
        384 => (10, 12),
        _ => return Err(CellError::DedicatedRate(kbit_s)),
    };
    let size = Size { bits: blocks * 336, payload_bytes: blocks * hsdpa::UNIT_BYTES };
    Ok(Plan {
        processing: Duration::from_millis(5),
        decode: Duration::from_millis(5),
        // No HARQ, only RLC.
        processes: usize::MAX,
        retransmit: vec![1],
        ..single(
            Duration::from_millis(interval_ms),
            Coding::Single,
            Sizes::new(1, 1, 1, 1, |_, _, _| size),
        )
    })
}

fn hsupa(category: u8, ramp: Duration) -> Result<Plan, CellError> {
    // TS 25.306 table 5.1g: bits in an interval; 4 HARQ processes at 10 ms or 8 at 2 ms.
    let (interval_ms, bits, processes) = match category {
        3 => (10, 14_484, 4),
        5 => (10, 20_000, 4),
        6 => (2, 11_484, 8),
        _ => {
            let known = "3, 5 or 6";
            return Err(CellError::Category { technology: "hsupa", category, known });
        }
    };
    // MAC-e and MAC-es headers of 18 and 6 bits: TS 25.321 section 9.1.5.
    let size = Size { bits, payload_bytes: (bits - 24) / 336 * hsdpa::UNIT_BYTES };
    let has_ramp = ramp > Duration::ZERO;
    Ok(Plan {
        processing: Duration::from_millis(2),
        decode: Duration::from_millis(4),
        processes,
        retransmit: vec![processes as u32],
        ramp: has_ramp.then_some(Ramp { length: ramp, least_bytes: hsdpa::UNIT_BYTES }),
        ..single(
            Duration::from_millis(interval_ms),
            Coding::Single,
            Sizes::new(1, 1, 1, 1, |_, _, _| size),
        )
    })
}

/// A dedicated channel for each user, with a single unit.
fn single(interval: Duration, coding: Coding, sizes: Sizes) -> Plan {
    Plan {
        interval,
        classes: vec![1],
        ahead: vec![0],
        behind: vec![1],
        is_dedicated: true,
        spacing: 1,
        processing: Duration::ZERO,
        decode: Duration::ZERO,
        processes: 1,
        retransmit: vec![1],
        respond: Vec::new(),
        packet_overhead: PACKET_OVERHEAD,
        ramp: None,
        bands: vec![Band { units: 1, coding, sizes }],
    }
}
