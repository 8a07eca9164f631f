//! NR blocks of every bandwidth and spacing, compared with TS 38.214 section 5.1.3.2, computed here
//! in another way: in floating point, step by step as in the text.

mod common;

use common::cell::{cell, nr};
use common::{Frame, Outcome, run_until};
use cwndlab_link::Link;
use cwndlab_link::cellular::{CellConfig, NrConfig, NrDuplex, RadioConfig, SlotConfig};
use cwndlab_link::channel::FrequencyRange::{self, Fr1, Fr2};
use cwndlab_units::Time;

/// Bandwidths in MHz, with their resource blocks.
type Widths = &'static [(u32, u32)];

/// TS 38.101-1 and 38.101-2 table 5.3.2-1, by range and spacing in kHz.
const WIDTHS: [(FrequencyRange, u32, Widths); 5] = [
    (
        Fr1,
        15,
        &[(5, 25), (10, 52), (15, 79), (20, 106), (25, 133), (30, 160), (40, 216), (50, 270)],
    ),
    (
        Fr1,
        30,
        &[
            (5, 11),
            (10, 24),
            (15, 38),
            (20, 51),
            (25, 65),
            (30, 78),
            (40, 106),
            (50, 133),
            (60, 162),
            (70, 189),
            (80, 217),
            (90, 245),
            (100, 273),
        ],
    ),
    (
        Fr1,
        60,
        &[
            (10, 11),
            (15, 18),
            (20, 24),
            (25, 31),
            (30, 38),
            (40, 51),
            (50, 65),
            (60, 79),
            (70, 93),
            (80, 107),
            (90, 121),
            (100, 135),
        ],
    ),
    (Fr2, 60, &[(50, 66), (100, 132), (200, 264)]),
    (Fr2, 120, &[(50, 32), (100, 66), (200, 132), (400, 264)]),
];

/// Schemes of table 5.1.3.1-2: index, bits per symbol, code rate x 1024.
const SCHEMES: [(u8, f64, f64); 6] = [
    (0, 2.0, 120.0),
    (4, 2.0, 602.0),
    (7, 4.0, 490.0),
    (13, 6.0, 567.0),
    (20, 8.0, 682.5),
    (27, 8.0, 948.0),
];

/// Section 5.1.3.2, for blocks of more than 3824 bits; 0 for smaller blocks.
fn block_bits(resource_blocks: u32, symbols: u32, modulation: f64, rate: f64, layers: u8) -> f64 {
    let elements = f64::from((12 * symbols - 24).min(156) * resource_blocks);
    let information = elements * rate / 1024.0 * modulation * f64::from(layers);
    if information <= 3824.0 {
        return 0.0;
    }
    let power = libm::exp2(libm::floor(libm::log2(information - 24.0)) - 5.0);
    let quantised = 3840.0_f64.max(power * ((information - 24.0) / power).round());
    let code_blocks = if rate / 1024.0 <= 0.25 {
        ((quantised + 24.0) / 3816.0).ceil()
    } else if quantised > 8424.0 {
        ((quantised + 24.0) / 8424.0).ceil()
    } else {
        1.0
    };
    8.0 * code_blocks * ((quantised + 24.0) / (8.0 * code_blocks)).ceil() - 24.0
}

fn config(radio: impl Fn(&mut NrConfig), scheme: u8) -> CellConfig {
    let mut config = nr("DDDSU", scheme, 5);
    let RadioConfig::Nr(own) = &mut config.radio else { unreachable!("it is NR") };
    radio(own);
    config
}

/// Downlink block sizes of a full queue, by the slot's position in a pattern.
fn full_blocks(config: &CellConfig, slot_ns: u64, slots: u64) -> Vec<Option<u32>> {
    let mut cell = cell(config, 1);
    cell.record_blocks();
    for number in 0..400 {
        cell.handle_packet(Time::ZERO, 0, Frame::new(number, 60_000));
    }
    run_until(&mut cell, Time::from_nanos(slot_ns * slots * 3), &mut Outcome::default());
    let mut sizes = vec![None; slots as usize];
    for block in cell.take_blocks() {
        sizes[(block.at.as_nanos() / slot_ns % slots) as usize] = Some(block.bits);
    }
    sizes
}

#[test]
fn blocks_of_every_width_are_the_standards() {
    let mut tried = 0;
    for (range, spacing, widths) in WIDTHS {
        for &(bandwidth, resource_blocks) in widths {
            for (scheme, modulation, rate) in SCHEMES {
                for layers in [1, 2, 4] {
                    let config = config(
                        |radio| {
                            radio.frequency_range = Some(range);
                            (radio.subcarrier_khz, radio.bandwidth_mhz) = (spacing, bandwidth);
                            radio.downlink_layers = layers;
                        },
                        scheme,
                    );
                    let slot_ns = 15_000_000 / u64::from(spacing);
                    let sizes = full_blocks(&config, slot_ns, 5);
                    let [whole, part] = [13, 10].map(|symbols| {
                        block_bits(resource_blocks, symbols, modulation, rate, layers)
                    });
                    if part == 0.0 {
                        continue;
                    }
                    let expected = [Some(whole), Some(whole), Some(whole), Some(part), None];
                    let ours: Vec<_> = sizes.iter().map(|bits| bits.map(f64::from)).collect();
                    assert_eq!(ours, expected, "{bandwidth} MHz, {spacing} kHz, scheme {scheme}");
                    tried += 1;
                }
            }
        }
    }
    assert!(tried > 600, "{tried}");
}

#[test]
fn with_a_carrier_each_both_directions_have_every_slot() {
    let config = config(
        |radio| {
            (radio.subcarrier_khz, radio.bandwidth_mhz) = (15, 20);
            (radio.duplex, radio.pattern) = (Some(NrDuplex::Fdd), Vec::new());
            radio.downlink_layers = 2;
        },
        20,
    );
    let bits = block_bits(106, 13, 8.0, 682.5, 2);
    assert_eq!(full_blocks(&config, 1_000_000, 4), vec![Some(bits as u32); 4]);
    let mut cell = cell(&config, 1);
    cell.record_blocks();
    for number in 0..400 {
        cell.handle_packet(Time::ZERO, 1, Frame::new(number, 60_000));
    }
    run_until(&mut cell, Time::from_millis(100), &mut Outcome::default());
    let up = cell.take_blocks();
    let expected = block_bits(106, 14, 8.0, 682.5, 1) as u32;
    let last: Vec<_> = up.iter().rev().take(20).map(|block| (block.bits, block.at)).collect();
    assert!(last.iter().all(|&(bits, _)| bits == expected), "{last:?}");
    assert!(last.windows(2).all(|pair| (pair[0].1 - pair[1].1).as_nanos() == 1_000_000));
}

#[test]
fn widths_that_no_standard_has_are_refused() {
    let message = |radio: &dyn Fn(&mut NrConfig)| {
        let config = config(radio, 5);
        let refused = cwndlab_link::cellular::Cell::<Frame>::new(&config, 1, "cell");
        refused.expect_err("no such carrier").to_string()
    };
    assert_eq!(
        message(&|radio| radio.bandwidth_mhz = 55),
        "NR has no bandwidth of 55 MHz with a subcarrier spacing of 30 kHz (3GPP TS 38.101): use \
         5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 60, 70, 80, 90, 100 MHz"
    );
    assert_eq!(
        message(&|radio| radio.subcarrier_khz = 240),
        "NR has no subcarrier spacing of 240 kHz in this frequency range: use 15, 30 or 60 kHz \
         in fr1, or 60 or 120 kHz in fr2"
    );
    let crowded = SlotConfig { downlink_symbols: 14, uplink_symbols: 15 };
    assert_eq!(
        message(&|radio| (radio.duplex, radio.pattern) = (Some(NrDuplex::Fdd), vec![crowded])),
        "nr: slot 0 of the pattern has 15 symbols: use at most 14"
    );
}

#[test]
fn a_second_carrier_adds_what_it_alone_would_carry() {
    let bits_in_10_ms = |bandwidth, second| {
        let config = config(
            |radio| {
                (radio.bandwidth_mhz, radio.secondary_mhz) = (bandwidth, second);
            },
            15,
        );
        let mut cell = cell(&config, 1);
        cell.record_blocks();
        for number in 0..400 {
            cell.handle_packet(Time::ZERO, 0, Frame::new(number, 60_000));
        }
        run_until(&mut cell, Time::from_millis(20), &mut Outcome::default());
        let blocks = cell.take_blocks();
        let in_window = blocks.iter().filter(|block| block.at >= Time::from_millis(10));
        in_window.map(|block| u64::from(block.bits)).sum::<u64>()
    };
    let (wide, narrow) = (bits_in_10_ms(100, None), bits_in_10_ms(60, None));
    assert_eq!(bits_in_10_ms(100, Some(60)), wide + narrow);
    assert!(wide > narrow && narrow > 0);
}

#[test]
fn a_short_queue_fits_the_first_carrier_and_wastes_nothing_on_the_second() {
    let config = config(|radio| radio.secondary_mhz = Some(50), 15);
    let mut cell = cell(&config, 1);
    cell.record_blocks();
    for number in 0..50 {
        cell.handle_packet(Time::from_millis(number), 0, Frame::new(number as u32, 1_000));
    }
    let mut outcome = Outcome::default();
    run_until(&mut cell, Time::from_millis(100), &mut outcome);
    assert_eq!(outcome.numbers(), (0..50).collect::<Vec<_>>());
    let blocks = cell.take_blocks();
    assert!(blocks.iter().all(|block| block.payload_bytes > 0), "no padding");
}
