//! Duration of a frame on the air: the rates and frame formats of 802.11a, b, g, n and ac.
//!
//! A PPDU is a preamble followed by whole symbols (IEEE 802.11-2012 sections 17.3.2, 18.3.2 and
//! 20.4.3, 802.11ac-2013 section 22.4.3). The model leaves out 802.11n's greenfield format, LDPC,
//! STBC, channels of 160 MHz, and more than four streams.

use cwndlab_units::Duration;

use super::config::{Band, Standard, WifiConfig, WifiError};
use super::contention::Timing;

/// Modulation and code rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Coding {
    /// Coded bits per carrier: 1 BPSK, 2 QPSK, 4 16-QAM, 6 64-QAM, 8 256-QAM.
    pub(crate) bits_per_carrier: u64,
    /// Denominator of the code rate: number of coded bits.
    pub(crate) rate_denominator: u64,
    /// Numerator of the code rate: number of data bits.
    pub(crate) rate_numerator: u64,
}

/// A transmission rate at which a frame can be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Mode {
    pub(crate) modulation: Modulation,
    preamble: Duration,
    /// Time after the last symbol, which is the signal extension at 2.4 GHz.
    extension: Duration,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Modulation {
    /// 802.11b: frames have no symbols and are sent bit by bit, at `rate` in units of 100 kbit/s.
    Dsss { rate: u64 },
    /// All other versions of the standard: each symbol has this many data bits.
    Ofdm { coding: Coding, data_bits: u64, symbol: Duration },
}

/// The frame durations and transmission rates of one channel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Phy {
    pub(crate) slot: Duration,
    pub(crate) sifs: Duration,
    /// Transmission rates by their index; `None` where the standard does not define a rate.
    modes: Vec<Option<Mode>>,
    /// Transmission rates for responses, in ascending order.
    basic: Vec<Mode>,
}

impl Phy {
    /// Creates the frame durations and rates for a channel with this configuration.
    ///
    /// # Errors
    /// Returns an error if the standard does not define such a channel.
    pub(crate) fn new(config: &WifiConfig) -> Result<Self, WifiError> {
        let standard = config.standard;
        let refuse =
            |key, what, there_are| Err(WifiError::NoSuchChannel { standard, key, what, there_are });
        let band = match (standard, config.band) {
            (Standard::A | Standard::Ac, None | Some(Band::Ghz5)) => Band::Ghz5,
            (Standard::B | Standard::G, None | Some(Band::Ghz2)) => Band::Ghz2,
            (Standard::N, band) => band.unwrap_or(Band::Ghz5),
            (Standard::A | Standard::Ac, _) => return refuse("band", "in this band", "5 GHz"),
            _ => return refuse("band", "in this band", "2.4 GHz"),
        };
        let is_wide = match (standard, config.channel_mhz) {
            (Standard::B | Standard::A | Standard::G, 20) => false,
            (Standard::N, 20 | 40) | (Standard::Ac, 20 | 40 | 80) => true,
            (standard, _) => {
                let widths = match standard {
                    Standard::B | Standard::A | Standard::G => "20 MHz",
                    Standard::N => "20 and 40 MHz",
                    Standard::Ac => "20, 40 and 80 MHz",
                };
                return refuse("channel", "of this width", widths);
            }
        };
        if !(1..=4).contains(&config.spatial_streams) || (!is_wide && config.spatial_streams > 1) {
            let streams = if is_wide { "1 to 4" } else { "1" };
            return refuse("spatial_streams", "with this number of spatial streams", streams);
        }
        if config.short_guard_interval && !is_wide {
            let guard = "the long guard interval";
            return refuse("short_guard_interval", "with a short guard interval", guard);
        }
        if standard == Standard::B {
            return Ok(Self {
                slot: Duration::from_micros(20),
                sifs: Duration::from_micros(10),
                modes: [10, 20, 55, 110].map(|rate| Some(dsss(rate))).to_vec(),
                basic: [10, 20].map(dsss).to_vec(),
            });
        }
        let (sifs, extension) = match band {
            Band::Ghz5 => (Duration::from_micros(16), Duration::ZERO),
            Band::Ghz2 => (Duration::from_micros(10), Duration::from_micros(6)),
        };
        let codings = match standard {
            Standard::N => &HIGH_THROUGHPUT[..8],
            Standard::Ac => &HIGH_THROUGHPUT[..],
            _ => &LEGACY[..],
        };
        let mode = |&coding: &Coding| {
            if is_wide { high(config, coding, extension) } else { Some(legacy(coding, extension)) }
        };
        Ok(Self {
            slot: Duration::from_micros(9),
            sifs,
            modes: codings.iter().map(mode).collect(),
            // The mandatory rates 6, 12 and 24 Mbit/s (802.11-2012 section 18.2.2.3).
            basic: [0, 2, 4].map(|index: usize| legacy(LEGACY[index], extension)).to_vec(),
        })
    }

    /// Time constants that all nodes use.
    pub(crate) fn timing(&self) -> Timing {
        Timing { slot: self.slot, sifs: self.sifs }
    }

    /// Number of indices in the rate table of the standard.
    pub(crate) fn modes(&self) -> u8 {
        self.modes.len() as u8
    }

    /// The transmission rate with this index, if the standard defines it.
    pub(crate) fn mode(&self, index: u8) -> Option<&Mode> {
        self.modes.get(usize::from(index))?.as_ref()
    }

    /// The transmission rate with this index, which must exist.
    ///
    /// # Panics
    /// Panics if the standard does not define a rate with this index.
    pub(crate) fn existing_mode(&self, index: u8) -> &Mode {
        self.mode(index).expect("the rate index was checked before")
    }

    /// The slowest basic rate, which all nodes can decode.
    pub(crate) fn slowest(&self) -> &Mode {
        &self.basic[0]
    }

    /// The rate of the response to a frame: the highest basic rate that is not above the rate of
    /// the frame, or not above the legacy rate with the frame's coding (802.11-2012 section
    /// 9.7.6.5).
    pub(crate) fn response(&self, mode: &Mode) -> &Mode {
        let limit = mode.reference_rate();
        let is_fit = |basic: &&Mode| basic.reference_rate() <= limit;
        self.basic.iter().rev().find(is_fit).unwrap_or_else(|| self.slowest())
    }
}

impl Mode {
    /// Duration of a frame with this number of bytes.
    pub(crate) fn duration(&self, bytes: u64) -> Duration {
        let payload = match self.modulation {
            // Rounded up to whole microseconds (802.11-2012 section 17.2.3.6).
            Modulation::Dsss { rate } => Duration::from_micros((bytes * 80).div_ceil(rate)),
            Modulation::Ofdm { data_bits, symbol, .. } => {
                let symbols = (SERVICE_AND_TAIL + 8 * bytes).div_ceil(data_bits);
                // Short symbols are padded to a multiple of long ones (802.11-2012 equation 20-92).
                let nanos = (symbol * symbols).as_nanos();
                Duration::from_nanos(nanos.div_ceil(LONG_SYMBOL_NANOS) * LONG_SYMBOL_NANOS)
            }
        };
        self.preamble + payload + self.extension
    }

    /// Maximum size of a frame that lasts at most `longest`, in bytes.
    pub(crate) fn capacity_bytes(&self, longest: Duration) -> u64 {
        let payload = longest.saturating_sub(self.preamble).saturating_sub(self.extension);
        match self.modulation {
            Modulation::Dsss { rate } => payload.as_micros() * rate / 80,
            Modulation::Ofdm { data_bits, symbol, .. } => {
                let whole = payload.as_nanos() / LONG_SYMBOL_NANOS * LONG_SYMBOL_NANOS;
                let bits = whole / symbol.as_nanos() * data_bits;
                bits.saturating_sub(SERVICE_AND_TAIL) / 8
            }
        }
    }

    /// Time from the beginning of a frame until this number of bytes has been sent.
    pub(crate) fn sent_after(&self, bytes: u64) -> Duration {
        let payload = match self.modulation {
            Modulation::Dsss { rate } => Duration::from_nanos(bytes * 80_000 / rate),
            Modulation::Ofdm { data_bits, symbol, .. } => {
                Duration::from_nanos(8 * bytes * symbol.as_nanos() / data_bits)
            }
        };
        self.preamble + payload
    }

    /// Data rate during the payload of a frame.
    pub(crate) fn bits_per_sec(&self) -> u64 {
        match self.modulation {
            Modulation::Dsss { rate } => rate * 100_000,
            Modulation::Ofdm { data_bits, symbol, .. } => {
                data_bits * 1_000_000_000 / symbol.as_nanos()
            }
        }
    }

    /// The legacy rate with this coding, in units of 100 kbit/s (802.11-2012 table 9-4).
    fn reference_rate(&self) -> u64 {
        match self.modulation {
            Modulation::Dsss { rate } => rate,
            Modulation::Ofdm { coding, .. } => {
                let bits = 48 * coding.bits_per_carrier;
                // 54 Mbit/s is the reference rate of all faster codings.
                (bits * coding.rate_numerator * 10 / (coding.rate_denominator * 4)).min(540)
            }
        }
    }
}

fn dsss(rate: u64) -> Mode {
    // The long preamble and header.
    let preamble = Duration::from_micros(192);
    Mode { modulation: Modulation::Dsss { rate }, preamble, extension: Duration::ZERO }
}

fn legacy(coding: Coding, extension: Duration) -> Mode {
    let data_bits =
        coding.data_bits(48).expect("symbols of legacy rates have a whole number of bits");
    Mode {
        modulation: Modulation::Ofdm { coding, data_bits, symbol: LONG_SYMBOL },
        preamble: LEGACY_PREAMBLE,
        extension,
    }
}

fn high(config: &WifiConfig, coding: Coding, extension: Duration) -> Option<Mode> {
    let streams = u64::from(config.spatial_streams);
    let carriers = match config.channel_mhz {
        20 => 52,
        40 => 108,
        _ => 234,
    };
    // The only gap for up to four streams without fractional bits per symbol: 64-QAM 3/4, 80 MHz,
    // three streams, whose bits do not divide among the encoders (802.11ac-2013 section 22.5).
    if carriers == 234 && streams == 3 && coding == HIGH_THROUGHPUT[6] {
        return None;
    }
    let training = [1, 2, 4, 4][usize::from(config.spatial_streams) - 1];
    // Signal field, short training field, and one long training field per stream, of 4 us each;
    // HT-SIG and VHT-SIG-A have two symbols, and VHT adds SIG-B.
    let symbols = 2 + 1 + training + u64::from(config.standard == Standard::Ac);
    let symbol = if config.short_guard_interval { SHORT_SYMBOL } else { LONG_SYMBOL };
    let data_bits = coding.data_bits(carriers * streams)?;
    Some(Mode {
        modulation: Modulation::Ofdm { coding, data_bits, symbol },
        preamble: LEGACY_PREAMBLE + LONG_SYMBOL * symbols,
        extension,
    })
}

impl Coding {
    const fn new(bits_per_carrier: u64, rate_numerator: u64, rate_denominator: u64) -> Self {
        Self { bits_per_carrier, rate_denominator, rate_numerator }
    }

    /// Number of data bits per symbol, if it is an integer.
    fn data_bits(self, carriers: u64) -> Option<u64> {
        let scaled = carriers * self.bits_per_carrier * self.rate_numerator;
        (scaled % self.rate_denominator == 0).then_some(scaled / self.rate_denominator)
    }
}

/// Codings of 802.11a and g for 6, 9, 12, 18, 24, 36, 48 and 54 Mbit/s.
const LEGACY: [Coding; 8] = [
    Coding::new(1, 1, 2),
    Coding::new(1, 3, 4),
    Coding::new(2, 1, 2),
    Coding::new(2, 3, 4),
    Coding::new(4, 1, 2),
    Coding::new(4, 3, 4),
    Coding::new(6, 2, 3),
    Coding::new(6, 3, 4),
];

/// Codings of MCS 0 to 7 of 802.11n and MCS 0 to 9 of 802.11ac, for one stream.
const HIGH_THROUGHPUT: [Coding; 10] = [
    Coding::new(1, 1, 2),
    Coding::new(2, 1, 2),
    Coding::new(2, 3, 4),
    Coding::new(4, 1, 2),
    Coding::new(4, 3, 4),
    Coding::new(6, 2, 3),
    Coding::new(6, 3, 4),
    Coding::new(6, 5, 6),
    Coding::new(8, 3, 4),
    Coding::new(8, 5, 6),
];

/// Number of bits around the data: 16 SERVICE bits before and 6 tail bits after.
const SERVICE_AND_TAIL: u64 = 22;
const LEGACY_PREAMBLE: Duration = Duration::from_micros(20);
const LONG_SYMBOL_NANOS: u64 = 4_000;
const LONG_SYMBOL: Duration = Duration::from_nanos(LONG_SYMBOL_NANOS);
/// Duration of a symbol with a guard interval of 400 ns.
const SHORT_SYMBOL: Duration = Duration::from_nanos(3_600);

#[cfg(test)]
mod tests {
    use super::*;

    fn config(standard: Standard, channel_mhz: u32, streams: u8, short: bool) -> WifiConfig {
        WifiConfig {
            channel_mhz,
            spatial_streams: streams,
            short_guard_interval: short,
            ..WifiConfig::new(standard, 1)
        }
    }

    /// All transmission rates in units of 100 kbit/s, rounded.
    fn rates(standard: Standard, channel_mhz: u32, streams: u8, short: bool) -> Vec<u64> {
        let phy = Phy::new(&config(standard, channel_mhz, streams, short)).expect("a channel");
        let rate =
            |mode: &Option<Mode>| mode.map_or(0, |mode| (mode.bits_per_sec() + 50_000) / 100_000);
        phy.modes.iter().map(rate).collect()
    }

    #[test]
    fn rates_are_those_of_the_standard() {
        // IEEE 802.11-2012 tables 17-2, 18-4, 20-30 to 20-35; 802.11ac-2013 tables 22-30 to 22-61.
        assert_eq!(rates(Standard::B, 20, 1, false), [10, 20, 55, 110]);
        let legacy = [60, 90, 120, 180, 240, 360, 480, 540];
        assert_eq!(rates(Standard::A, 20, 1, false), legacy);
        assert_eq!(rates(Standard::G, 20, 1, false), legacy);
        let n20 = [65, 130, 195, 260, 390, 520, 585, 650];
        assert_eq!(rates(Standard::N, 20, 1, false), n20);
        let n20_short = [72, 144, 217, 289, 433, 578, 650, 722];
        assert_eq!(rates(Standard::N, 20, 1, true), n20_short);
        let n40 = [135, 270, 405, 540, 810, 1080, 1215, 1350];
        assert_eq!(rates(Standard::N, 40, 1, false), n40);
        assert_eq!(rates(Standard::N, 40, 2, true).last(), Some(&3000));
        let ac80 = [293, 585, 878, 1170, 1755, 2340, 2633, 2925, 3510, 3900];
        assert_eq!(rates(Standard::Ac, 80, 1, false), ac80);
        assert_eq!(rates(Standard::Ac, 80, 1, true).last(), Some(&4333));
    }

    #[test]
    fn rates_that_the_standard_lacks_are_holes() {
        // MCS 9 at 20 MHz exists only for three streams; MCS 6 at 80 MHz does not exist for three.
        assert_eq!(rates(Standard::Ac, 20, 1, false).last(), Some(&0));
        assert_eq!(rates(Standard::Ac, 20, 3, false).last(), Some(&2600));
        assert_eq!(rates(Standard::Ac, 80, 3, false)[6], 0);
        assert_eq!(rates(Standard::Ac, 80, 2, false)[6], 5265);
    }

    #[test]
    fn frames_last_as_the_standard_has_them() {
        let phy = Phy::new(&config(Standard::A, 20, 1, false)).expect("a channel");
        // 1500 bytes of data with 36 of headers at 54 Mbit/s, its ACK, and both at 6 Mbit/s.
        let fast = phy.mode(7).expect("a rate");
        assert_eq!(fast.duration(1536), Duration::from_micros(248));
        assert_eq!(phy.response(fast).duration(14), Duration::from_micros(28));
        let slow = phy.mode(0).expect("a rate");
        assert_eq!(slow.duration(1536), Duration::from_micros(20 + 513 * 4));
        assert_eq!(phy.response(slow).duration(14), Duration::from_micros(44));
        // 802.11g adds a signal extension; 802.11b has no symbols.
        let phy = Phy::new(&config(Standard::G, 20, 1, false)).expect("a channel");
        assert_eq!(phy.mode(7).expect("a rate").duration(1536), Duration::from_micros(254));
        let phy = Phy::new(&config(Standard::B, 20, 1, false)).expect("a channel");
        let fast = phy.mode(3).expect("a rate");
        assert_eq!(fast.duration(1536), Duration::from_micros(1310));
        assert_eq!(phy.response(fast).duration(14), Duration::from_micros(248));
        // 28 subframes of 1544 bytes with 802.11n, and the same with short guard intervals.
        let phy = Phy::new(&config(Standard::N, 20, 1, false)).expect("a channel");
        assert_eq!(phy.mode(7).expect("a rate").duration(28 * 1544), Duration::from_micros(5360));
        let phy = Phy::new(&config(Standard::N, 20, 1, true)).expect("a channel");
        assert_eq!(phy.mode(7).expect("a rate").duration(28 * 1544), Duration::from_micros(4828));
        // Preambles: 802.11n with two streams, 802.11ac with one and four.
        let preamble = |standard, streams| {
            let phy = Phy::new(&config(standard, 40, streams, false)).expect("a channel");
            phy.mode(0).expect("a rate").preamble.as_micros()
        };
        assert_eq!(preamble(Standard::N, 2), 40);
        assert_eq!(preamble(Standard::Ac, 1), 40);
        assert_eq!(preamble(Standard::Ac, 4), 52);
    }

    #[test]
    fn a_response_is_at_the_highest_basic_rate_not_above_the_frames() {
        let phy = Phy::new(&config(Standard::Ac, 80, 1, false)).expect("a channel");
        let response = |index| {
            let mode = phy.mode(index).expect("a rate");
            phy.response(mode).bits_per_sec() / 1_000_000
        };
        let rates: Vec<u64> = (0..10).map(response).collect();
        assert_eq!(rates, [6, 12, 12, 24, 24, 24, 24, 24, 24, 24]);
    }

    #[test]
    fn a_frame_of_full_capacity_is_just_not_too_long() {
        let longest = Duration::from_micros(5484);
        for (standard, short) in
            [(Standard::B, false), (Standard::G, false), (Standard::N, false), (Standard::Ac, true)]
        {
            let phy = Phy::new(&config(standard, 20, 1, short)).expect("a channel");
            for mode in (0..phy.modes()).filter_map(|index| phy.mode(index)) {
                let bytes = mode.capacity_bytes(longest);
                assert!(mode.duration(bytes) <= longest, "{mode:?}");
                assert!(mode.duration(bytes + 1) > longest, "{mode:?}");
            }
        }
    }

    #[test]
    fn channels_that_do_not_exist_are_refused_with_the_reason() {
        let refusal = |config: WifiConfig| Phy::new(&config).expect_err("no channel").to_string();
        assert_eq!(
            refusal(config(Standard::A, 40, 1, false)),
            "802.11a has no channel of this width: use 20 MHz"
        );
        assert_eq!(
            refusal(config(Standard::G, 20, 2, false)),
            "802.11g has no channel with this number of spatial streams: use 1"
        );
        assert_eq!(
            refusal(config(Standard::B, 20, 1, true)),
            "802.11b has no channel with a short guard interval: use the long guard interval"
        );
        let in_2_ghz = WifiConfig { band: Some(Band::Ghz2), ..config(Standard::Ac, 80, 1, false) };
        assert_eq!(refusal(in_2_ghz), "802.11ac has no channel in this band: use 5 GHz");
    }
}
