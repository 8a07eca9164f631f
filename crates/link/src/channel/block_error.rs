//! Block error rates.

/// The error curve of a code block: a logistic function of the SINR in decibels.
///
/// The curve is steep compared with fading: the error rate falls from one half to one tenth within
/// a quarter of a decibel. Short code blocks have flatter curves, by the square root of their
/// length, as theory predicts for random codes (Polyanskiy, Poor and Verdu 2010, eq. 1), and a
/// slightly higher midpoint.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Curve {
    /// SINR in decibels at an error rate of one half.
    pub(crate) half: f64,
    /// SINR in decibels at an error rate of one tenth.
    pub(crate) tenth: f64,
    /// Length of the code block for which `half` and `tenth` are given, in bits.
    pub(crate) bits: u32,
}

/// Shift of a short block's midpoint as a fraction of the additional width of its curve. With 0.4,
/// the curve is within 0.08 of the seven points of ns-3's error model for 256 to 7272 bits.
const SHIFT: f64 = 0.4;

impl Curve {
    /// The error rate of a transport block that is divided into code blocks of at most
    /// `most_bits`.
    #[cfg(test)]
    pub(crate) fn error_rate(&self, decibels: f64, bits: u32, most_bits: u32) -> f64 {
        let (one, code_blocks) = self.error_rate_of_one(decibels, bits, most_bits);
        any_of(one, code_blocks)
    }

    /// Whether the block is decoded, which is the case if `draw`, from 0 to 1, is at least the
    /// error rate.
    pub(crate) fn is_decoded(&self, decibels: f64, bits: u32, most_bits: u32, draw: f64) -> bool {
        let (one, code_blocks) = self.error_rate_of_one(decibels, bits, most_bits);
        // The sum of the code blocks' error rates is an upper bound that avoids computing a power.
        let most = one * f64::from(code_blocks);
        draw > most * (1.0 + 1e-9) + 1e-15 || draw >= any_of(one, code_blocks)
    }

    /// The error rate of each code block of a transport block, and the number of its code blocks.
    fn error_rate_of_one(&self, decibels: f64, bits: u32, most_bits: u32) -> (f64, u32) {
        let code_blocks = bits.div_ceil(most_bits).max(1);
        let length = (bits / code_blocks).max(24);
        let long = self.tenth - self.half;
        let stretch = libm::sqrt(f64::from(self.bits) / f64::from(length)).max(1.0);
        let width = long * stretch;
        let middle = self.half + SHIFT * (width - long);
        let exponent = (decibels - middle) * (LN_9 / width);
        // Rates that rounding makes certain need no exponential.
        if exponent > 30.0 {
            return (0.0, code_blocks);
        }
        if exponent < -30.0 {
            return (1.0, code_blocks);
        }
        (1.0 / (1.0 + libm::exp(exponent)), code_blocks)
    }
}

/// Probability that any of `count` code blocks fails, if each fails with the probability `one`.
fn any_of(one: f64, count: u32) -> f64 {
    if count == 1 || one == 0.0 || one == 1.0 {
        one
    } else {
        1.0 - libm::pow(1.0 - one, f64::from(count))
    }
}

/// Error rates of HSDPA blocks, by the formula of the EURANE simulator.
#[derive(Clone, Debug)]
pub(crate) struct HsdpaErrors {
    /// The value `sqrt(3) - lg(quality)` for each channel quality indicator from 1 on.
    slopes: [f64; 30],
    /// Error rates, computed in advance because powers are slow, at exponents from `LEAST` on in
    /// steps of `1 / STEPS`.
    rates: Vec<f64>,
}

impl HsdpaErrors {
    const LEAST: f64 = -4.0;
    const MOST: f64 = 8.0;
    const STEPS: f64 = 16.0;

    pub(crate) fn new() -> Self {
        let slope = |index: usize| libm::sqrt(3.0) - libm::log10((index + 1) as f64);
        let count = ((Self::MOST - Self::LEAST) * Self::STEPS) as usize + 1;
        let rate = |index: usize| Self::rate_of(Self::LEAST + index as f64 / Self::STEPS);
        Self { slopes: core::array::from_fn(slope), rates: (0..count).map(rate).collect() }
    }

    /// Error rate of a block sent for a channel quality indicator, at an SINR after despreading in
    /// decibels.
    #[cfg(test)]
    pub(crate) fn rate(&self, decibels: f64, quality: u8) -> f64 {
        Self::rate_of(self.exponent(decibels, quality))
    }

    /// Whether the block is decoded, which is the case if `draw`, from 0 to 1, is at least the
    /// error rate.
    pub(crate) fn is_decoded(&self, decibels: f64, quality: u8, draw: f64) -> bool {
        let exponent = self.exponent(decibels, quality);
        // Rates fall with the exponent, so this rate is between its neighbours.
        let place = (exponent - Self::LEAST) * Self::STEPS;
        let next = if place < 0.0 { 0 } else { (place as usize).min(self.rates.len() - 1) + 1 };
        if next > 0 && draw > self.rates[next - 1] * (1.0 + ROUNDING) {
            return true;
        }
        if self.rates.get(next).is_some_and(|least| draw < least * (1.0 - ROUNDING)) {
            return false;
        }
        draw >= Self::rate_of(exponent)
    }

    fn exponent(&self, decibels: f64, quality: u8) -> f64 {
        let slope = self.slopes[usize::from(quality) - 1];
        2.0 * (decibels - 1.03 * f64::from(quality) + 17.3) / slope
    }

    fn rate_of(exponent: f64) -> f64 {
        libm::pow(libm::pow(10.0, exponent) + 1.0, -1.0 / 0.7)
    }
}

/// Upper bound on rounding errors, with a large margin.
const ROUNDING: f64 = 1e-9;

/// The channel quality indicator, before rounding, that an HSDPA user reports at an SINR: the
/// linear function of EURANE. By EURANE's error formula, blocks of the reported quality fail with
/// a probability of 0.07 to 0.18, while the standard requires 0.1; the outer loop corrects this.
pub(crate) fn hsdpa_quality(decibels: f64) -> f64 {
    decibels / 1.02 + 16.62
}

/// The SINR in decibels at which exactly this channel quality indicator is reported.
pub(crate) fn hsdpa_decibels(quality: f64) -> f64 {
    (quality - 16.62) * 1.02
}

/// `ln(9)`: the logit of an error rate of one tenth, relative to one half.
const LN_9: f64 = 2.197_224_577_336_219;

#[cfg(test)]
mod tests {
    use super::super::tables::lte::SCHEMES;
    use super::*;

    #[test]
    fn short_blocks_err_as_in_ns_3() {
        // lte-phy-error-model of ns-3: (scheme, decibels, bits, error rate).
        let points = [
            (2, -5.51, 256, 0.33),
            (2, -5.51, 528, 0.11),
            (2, -5.51, 1088, 0.02),
            (12, 4.43, 4800, 0.30),
            (12, 4.43, 1632, 0.55),
            (16, 8.48, 7272, 0.14),
        ];
        for (scheme, decibels, bits, expected) in points {
            let ours = SCHEMES[scheme].curve.error_rate(decibels, bits, 6144);
            assert!((ours - expected).abs() < 0.1, "scheme {scheme}, {bits} bits: {ours}");
        }
    }

    #[test]
    fn curves_meet_their_points() {
        for scheme in &SCHEMES {
            let curve = scheme.curve;
            assert!((curve.error_rate(curve.half, 6144, 6144) - 0.5).abs() < 1e-9);
            assert!((curve.error_rate(curve.tenth, 6144, 6144) - 0.1).abs() < 1e-9);
            let two = curve.error_rate(curve.tenth, 2 * 6144, 6144);
            assert!((two - 0.19).abs() < 1e-9, "{two}");
            assert!(curve.error_rate(curve.tenth + 10.0, 6144, 6144) < 1e-12);
            assert!(curve.error_rate(curve.half - 10.0, 6144, 6144) > 1.0 - 1e-12);
        }
    }

    #[test]
    fn reported_hsdpa_quality_errs_about_one_time_in_ten() {
        let errors = HsdpaErrors::new();
        for quality in 1..=30_u8 {
            let decibels = hsdpa_decibels(quality.into());
            let rate = errors.rate(decibels, quality);
            assert!((0.07..=0.18).contains(&rate), "{quality}: {rate}");
            assert!((hsdpa_quality(decibels) - f64::from(quality)).abs() < 1e-9);
        }
    }

    #[test]
    fn a_draw_decodes_an_hsdpa_block_if_it_is_at_least_the_error_rate() {
        let errors = HsdpaErrors::new();
        for quality in 1..=30_u8 {
            for tenths in -400..600 {
                let decibels = f64::from(tenths) / 10.0;
                let rate = errors.rate(decibels, quality);
                for draw in [0.0, rate * 0.9, rate, (rate + 1e-12).min(1.0), 0.5, 0.999_999] {
                    let is_decoded = errors.is_decoded(decibels, quality, draw);
                    assert_eq!(is_decoded, draw >= rate, "{quality}, {decibels} dB, {draw}");
                }
            }
        }
    }
}
