//! Rate control of a sender: a fixed rate, or a rate that depends on the signal or on
//! acknowledgements.
//!
//! For each rate, Minstrel averages the share of acknowledged packets over intervals of 100 ms,
//! with a weight of a quarter for the newest interval. It uses the rate with the highest product
//! of share and speed. One frame in ten tries another rate with a single packet, to keep the
//! average of that rate up to date (documentation of Linux's mac80211, "minstrel"). After two
//! consecutive frames without a response, the sender uses the most reliable rate.

use cwndlab_units::{Duration, Stream, Time};

use super::config::{RateControlConfig, Standard, WifiError};
use super::phy::Phy;
use super::radio;

/// The rate control of transmissions from one node to another.
#[derive(Clone, Debug)]
pub(crate) enum RateControl {
    Fixed(u8),
    Minstrel(Box<Minstrel>),
}

/// The transmission rate of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Choice {
    pub(crate) index: u8,
    /// Whether the frame tries another rate, with only one packet.
    pub(crate) is_probe: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Minstrel {
    rates: Vec<Rate>,
    best: usize,
    surest: usize,
    /// Time of the next update of the averages.
    due: Time,
    /// Number of consecutive frames without a response.
    failures: u32,
    random: Stream,
}

#[derive(Clone, Debug)]
struct Rate {
    index: u8,
    bits_per_sec: f64,
    /// Average share of acknowledged packets; `None` before the first sample.
    share: Option<f64>,
    sent: u32,
    acknowledged: u32,
}

impl RateControl {
    /// Creates the rate control of a lane; `bit_error_rates` has an entry for each rate.
    ///
    /// # Errors
    /// Returns an error if the channel does not have the rate that the configuration requests.
    pub(crate) fn new(
        config: RateControlConfig,
        standard: Standard,
        phy: &Phy,
        bit_error_rates: &[f64],
        random: Stream,
    ) -> Result<Self, WifiError> {
        let there_are = || (0..phy.modes()).filter(|&index| phy.mode(index).is_some());
        match config {
            RateControlConfig::Fixed { index } if phy.mode(index).is_some() => {
                Ok(Self::Fixed(index))
            }
            RateControlConfig::Fixed { index } => {
                let there_are = there_are().map(|index| index.to_string()).collect::<Vec<_>>();
                Err(WifiError::NoSuchRate { standard, index, there_are: there_are.join(", ") })
            }
            RateControlConfig::Ideal {} => {
                let is_good = |&index: &u8| {
                    radio::success(bit_error_rates[usize::from(index)], IDEAL_BYTES) > IDEAL_SUCCESS
                };
                let slowest = there_are().next().unwrap_or(0);
                Ok(Self::Fixed(there_are().rfind(is_good).unwrap_or(slowest)))
            }
            RateControlConfig::Minstrel {} => {
                let rate = |index| {
                    let bits_per_sec = phy.mode(index)?.bits_per_sec() as f64;
                    Some(Rate { index, bits_per_sec, share: None, sent: 0, acknowledged: 0 })
                };
                Ok(Self::Minstrel(Box::new(Minstrel {
                    rates: there_are().filter_map(rate).collect(),
                    best: 0,
                    surest: 0,
                    due: Time::ZERO + INTERVAL,
                    failures: 0,
                    random,
                })))
            }
        }
    }

    /// Index of the rate that most frames use.
    pub(crate) fn usual(&self) -> u8 {
        match self {
            Self::Fixed(index) => *index,
            Self::Minstrel(minstrel) => minstrel.rates[minstrel.best].index,
        }
    }

    /// Selects the rate for the frame that is sent at `now`.
    pub(crate) fn choose(&mut self, now: Time) -> Choice {
        match self {
            Self::Fixed(index) => Choice { index: *index, is_probe: false },
            Self::Minstrel(minstrel) => minstrel.choose(now),
        }
    }

    /// Handles the result of a frame: the numbers of packets sent and acknowledged.
    pub(crate) fn handle_result(&mut self, index: u8, sent: u32, acknowledged: u32) {
        if let Self::Minstrel(minstrel) = self {
            minstrel.handle_result(index, sent, acknowledged);
        }
    }
}

impl Minstrel {
    fn choose(&mut self, now: Time) -> Choice {
        if now >= self.due {
            self.renew();
            let late = now.saturating_since(self.due).as_nanos() / INTERVAL.as_nanos();
            self.due += INTERVAL * (late + 1);
        }
        if self.failures >= 2 {
            return Choice { index: self.rates[self.surest].index, is_probe: false };
        }
        if self.random.below(PROBE_EVERY) == 0 {
            let other = self.random.below(self.rates.len() as u64) as usize;
            let rate = &self.rates[other];
            // A rate that could not be faster even without losses is not worth a probe.
            let best = &self.rates[self.best];
            if other != self.best && rate.bits_per_sec > best.throughput() {
                return Choice { index: rate.index, is_probe: true };
            }
        }
        Choice { index: self.rates[self.best].index, is_probe: false }
    }

    fn handle_result(&mut self, index: u8, sent: u32, acknowledged: u32) {
        self.failures = if acknowledged == 0 { self.failures + 1 } else { 0 };
        if let Some(rate) = self.rates.iter_mut().find(|rate| rate.index == index) {
            rate.sent += sent;
            rate.acknowledged += acknowledged;
        }
    }

    /// Updates the averages. While no rate has had an acknowledged packet, the slowest is used.
    fn renew(&mut self) {
        for rate in self.rates.iter_mut().filter(|rate| rate.sent > 0) {
            let share = f64::from(rate.acknowledged) / f64::from(rate.sent);
            rate.share = Some(rate.share.map_or(share, |old| old + (share - old) * WEIGHT));
            (rate.sent, rate.acknowledged) = (0, 0);
        }
        let most = |value: &dyn Fn(&Rate) -> f64| {
            let rates = self.rates.iter().enumerate().filter(|(_, rate)| value(rate) > 0.0);
            rates.max_by(|(_, a), (_, b)| value(a).total_cmp(&value(b))).map_or(0, |(at, _)| at)
        };
        (self.best, self.surest) = (most(&Rate::throughput), most(&Rate::sureness));
    }
}

impl Rate {
    fn throughput(&self) -> f64 {
        self.bits_per_sec * self.sureness()
    }

    fn sureness(&self) -> f64 {
        self.share.unwrap_or(0.0)
    }
}

/// Interval between updates of the averages.
const INTERVAL: Duration = Duration::from_millis(100);
/// Weight of the newest interval.
const WEIGHT: f64 = 0.25;
/// One frame in this many tries another rate.
const PROBE_EVERY: u64 = 10;
/// Size of the frames for which the ideal rate is selected.
const IDEAL_BYTES: u64 = 1500;
const IDEAL_SUCCESS: f64 = 0.9;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wifi::config::WifiConfig;
    use crate::wifi::radio::Radio;

    fn control(config: RateControlConfig, snr_db: f64) -> Result<RateControl, WifiError> {
        let mut channel = WifiConfig::new(Standard::N, 1);
        channel.stations[0].x_mm = 10_000;
        let phy = Phy::new(&channel).expect("a channel");
        let radio = Radio::new(&channel, radio::tests::SETTINGS, 1, "wifi").expect("a radio");
        let snr = radio::from_db(snr_db);
        let rates = (0..phy.modes())
            .map(|index| phy.mode(index).map_or(1.0, |mode| radio.bit_error_rate(mode, snr)));
        let random = Stream::new(1, "rates");
        RateControl::new(config, Standard::N, &phy, &rates.collect::<Vec<_>>(), random)
    }

    /// The rate in use after ten seconds in which the packets of each frame arrive with the
    /// probability of its rate, and the share of frames that tried another rate.
    fn converged(control: &mut RateControl, arrives: impl Fn(u8) -> f64) -> (u8, f64) {
        let mut random = Stream::new(2, "frames");
        let (mut probes, mut last) = (0_u32, 0);
        for frame in 0..5_000 {
            let choice = control.choose(Time::from_millis(2 * frame));
            let packets = if choice.is_probe { 1 } else { 20 };
            probes += u32::from(choice.is_probe);
            if !choice.is_probe {
                last = choice.index;
            }
            let good = (0..packets).filter(|_| random.unit() < arrives(choice.index)).count();
            control.handle_result(choice.index, packets, good as u32);
        }
        (last, f64::from(probes) / 5_000.0)
    }

    #[test]
    fn the_ideal_rate_is_the_fastest_that_the_signal_carries() {
        let index = |snr_db| match control(RateControlConfig::Ideal {}, snr_db) {
            Ok(RateControl::Fixed(index)) => index,
            other => panic!("{other:?}"),
        };
        assert_eq!(index(-5.0), 0);
        assert_eq!(index(15.0), 3);
        assert_eq!(index(50.0), 7);
    }

    #[test]
    fn a_rate_that_there_is_not_is_refused() {
        let error = control(RateControlConfig::Fixed { index: 8 }, 30.0).expect_err("eight rates");
        assert_eq!(
            error.to_string(),
            "802.11n has no rate with index 8 on this channel: use 0, 1, 2, 3, 4, 5, 6, 7"
        );
    }

    #[test]
    fn minstrel_finds_the_best_rate_and_leaves_it_when_it_gets_worse() {
        let mut control = control(RateControlConfig::Minstrel {}, 30.0).expect("a control");
        // Rate 5 loses few packets, 6 loses half, 7 all.
        let good = [1.0, 1.0, 1.0, 1.0, 1.0, 0.95, 0.5, 0.0];
        let (rate, probes) = converged(&mut control, |index| good[usize::from(index)]);
        assert_eq!(rate, 5);
        assert!(probes < 0.1, "{probes}");
        let RateControl::Minstrel(minstrel) = &mut control else { panic!("no Minstrel") };
        minstrel.due = Time::ZERO;
        let worse = [1.0, 1.0, 0.9, 0.1, 0.0, 0.0, 0.0, 0.0];
        assert_eq!(converged(&mut control, |index| worse[usize::from(index)]).0, 2);
    }

    #[test]
    fn without_an_acknowledged_packet_minstrel_uses_the_slowest_rate() {
        let mut control = control(RateControlConfig::Minstrel {}, 30.0).expect("a control");
        // The first frame is sent long after the first update of the averages.
        for frame in 1..20_u64 {
            let choice = control.choose(Time::from_millis(300 * frame));
            assert_eq!(choice, Choice { index: 0, is_probe: false });
            control.handle_result(0, 1, 0);
        }
        control.handle_result(0, 1, 1);
        assert_eq!(converged(&mut control, |index| if index < 2 { 1.0 } else { 0.0 }).0, 1);
    }

    #[test]
    fn silence_makes_minstrel_send_at_the_surest_rate() {
        let mut control = control(RateControlConfig::Minstrel {}, 30.0).expect("a control");
        let (best, _) = converged(&mut control, |index| if index < 6 { 1.0 } else { 0.9 });
        assert_eq!(best, 7);
        control.handle_result(7, 20, 0);
        control.handle_result(7, 20, 0);
        assert!(control.choose(Time::from_secs(10)).index < 6);
        control.handle_result(5, 20, 20);
        assert_eq!(control.choose(Time::from_millis(10_010)).index, 7);
    }
}
