//! Random numbers: each component of a run has a stream with its own name.
//!
//! A stream is xoshiro256++ (Blackman and Vigna 2021, "Scrambled linear pseudorandom number
//! generators"), seeded by SplitMix64 as its authors advise, from SipHash-2-4 (Aumasson and
//! Bernstein 2012) of the component's name under the run's seed. The random numbers of one
//! component therefore do not depend on any other component, and two algorithms with the same seed
//! have the same channel. The streams are not meant to be cryptographically secure.

/// A stream of random numbers that belongs to one component of one run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stream {
    state: [u64; 4],
}

impl Stream {
    /// Creates the stream of `component`, such as `forward.0.loss`, in the run with this seed.
    pub fn new(run_seed: u64, component: &str) -> Self {
        let seed = sip_hash(run_seed, STREAM_KEY, component.as_bytes());
        Self { state: [1, 2, 3, 4].map(|index| split_mix_64(seed, index)) }
    }

    /// Returns 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let [a, b, c, d] = self.state;
        let result = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let c = c ^ a;
        let d = d ^ b;
        self.state = [a ^ d, b ^ c, c ^ (b << 17), d.rotate_left(45)];
        result
    }

    /// Returns a whole number below `limit`; all are equally likely (Lemire 2019, without bias).
    ///
    /// # Panics
    /// Panics if `limit` is 0.
    #[inline]
    pub fn below(&mut self, limit: u64) -> u64 {
        assert!(limit > 0, "the limit must be greater than 0");
        let mut product = u128::from(self.next_u64()) * u128::from(limit);
        if (product as u64) < limit {
            // Among the fractions, the lowest 2^64 mod `limit` are in excess and would bias some
            // results.
            let surplus = limit.wrapping_neg() % limit;
            while (product as u64) < surplus {
                product = u128::from(self.next_u64()) * u128::from(limit);
            }
        }
        (product >> 64) as u64
    }

    /// Returns a number from 0 up to but not including 1, a multiple of 2^-53.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// Returns an exponentially distributed number with the given mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * libm::log(1.0 - self.unit())
    }

    /// Returns a normally distributed number with mean 0 and standard deviation 1 (Box and Muller
    /// 1958).
    ///
    /// Always uses two random numbers of the stream.
    pub fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.unit()));
        radius * libm::cos(core::f64::consts::TAU * self.unit())
    }
}

/// The second half of the hash's key: "cwndlab." in ASCII, so that streams differ from those of
/// other programs that use the same method.
const STREAM_KEY: u64 = u64::from_be_bytes(*b"cwndlab.");

/// Returns element `index` of the SplitMix64 sequence of a seed (Steele, Lea and Flood 2014, "Fast
/// splittable pseudorandom number generators"); the first element has index 1.
///
/// Any element can be computed directly, because the state of the generator is only a counter.
#[inline]
pub const fn split_mix_64(seed: u64, index: u64) -> u64 {
    let z = seed.wrapping_add(index.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// SipHash-2-4 of a message under the key (`k0`, `k1`).
fn sip_hash(k0: u64, k1: u64, message: &[u8]) -> u64 {
    // The constants are "somepseudorandomlygeneratedbytes", section 2.1 of the paper.
    let mut v = [
        k0 ^ 0x736f_6d65_7073_6575,
        k1 ^ 0x646f_7261_6e64_6f6d,
        k0 ^ 0x6c79_6765_6e65_7261,
        k1 ^ 0x7465_6462_7974_6573,
    ];
    let mut absorb = |word: u64| {
        v[3] ^= word;
        sip_round(&mut v);
        sip_round(&mut v);
        v[0] ^= word;
    };
    let mut chunks = message.chunks_exact(8);
    for chunk in &mut chunks {
        absorb(u64::from_le_bytes(chunk.try_into().expect("a chunk has 8 bytes")));
    }
    let mut last = [0; 8];
    last[..chunks.remainder().len()].copy_from_slice(chunks.remainder());
    last[7] = message.len() as u8;
    absorb(u64::from_le_bytes(last));
    v[2] ^= 0xff;
    for _ in 0..4 {
        sip_round(&mut v);
    }
    v[0] ^ v[1] ^ v[2] ^ v[3]
}

fn sip_round(v: &mut [u64; 4]) {
    v[0] = v[0].wrapping_add(v[1]);
    v[2] = v[2].wrapping_add(v[3]);
    v[1] = v[1].rotate_left(13) ^ v[0];
    v[3] = v[3].rotate_left(16) ^ v[2];
    v[0] = v[0].rotate_left(32);
    v[2] = v[2].wrapping_add(v[1]);
    v[0] = v[0].wrapping_add(v[3]);
    v[1] = v[1].rotate_left(17) ^ v[2];
    v[3] = v[3].rotate_left(21) ^ v[0];
    v[2] = v[2].rotate_left(32);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn xoshiro_gives_the_published_sequence() {
        // State 1, 2, 3, 4: generated with the authors' xoshiro256plusplus.c, as listed by
        // rand_xoshiro.
        let mut stream = Stream { state: [1, 2, 3, 4] };
        let expected = [
            41_943_041,
            58_720_359,
            3_588_806_011_781_223,
            3_591_011_842_654_386,
            9_228_616_714_210_784_205,
            9_973_669_472_204_895_162,
            14_011_001_112_246_962_877,
            12_406_186_145_184_390_807,
            15_849_039_046_786_891_736,
            10_450_023_813_501_588_000,
        ];
        assert_eq!(expected.map(|_| stream.next_u64()), expected);
        // State 0, 0, 0, 1: from the tests of xoshiro-fortran.
        let mut stream = Stream { state: [0, 0, 0, 1] };
        let expected = [
            0x0000_0000_0080_0000,
            0x0000_0000_0080_0011,
            0x0002_2000_0080_0011,
            0x0002_2000_4400_0020,
            0x0002_2000_4480_08a1,
            0x0110_2100_8022_08a0,
            0x0114_0022_8420_0880,
            0x0402_8966_44a6_4095,
            0x8a14_a0a2_44ac_c891,
            0x8c88_ba46_80b2_0495,
        ];
        assert_eq!(expected.map(|_| stream.next_u64()), expected);
    }

    #[test]
    fn splitmix_gives_the_published_sequence() {
        // Rosetta Code, "Pseudo-random numbers/Splitmix64".
        let expected = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        assert_eq!([1, 2, 3, 4, 5].map(|index| split_mix_64(1_234_567, index)), expected);
    }

    #[test]
    fn sip_hash_gives_the_published_vectors() {
        // Aumasson and Bernstein 2012, appendix A (15 bytes), and the vectors of their reference
        // implementation for 0 and 8 bytes.
        let key = |from: u8| u64::from_le_bytes(core::array::from_fn(|i| from + i as u8));
        let message: [u8; 15] = core::array::from_fn(|i| i as u8);
        let hash = |length: usize| sip_hash(key(0), key(8), &message[..length]);
        assert_eq!(hash(15), 0xa129_ca61_49be_45e5);
        assert_eq!(hash(0), 0x726f_db47_dd0e_0e31);
        assert_eq!(hash(8), 0x93f5_f579_9a93_2462);
    }

    #[test]
    fn streams_differ_by_component_and_by_run() {
        let first = |seed, component| Stream::new(seed, component).next_u64();
        assert_eq!(first(1, "forward.0.loss"), first(1, "forward.0.loss"));
        let names = ["", "forward.0.loss", "forward.1.loss", "forward.0.jitter", "reverse.0.loss"];
        let mut draws: Vec<u64> =
            names.iter().flat_map(|name| (0..100).map(move |seed| first(seed, name))).collect();
        draws.sort_unstable();
        draws.dedup();
        assert_eq!(draws.len(), names.len() * 100);
    }

    #[test]
    fn streams_of_neighbouring_seeds_are_uncorrelated() {
        let mut one = Stream::new(1, "x");
        let mut two = Stream::new(2, "x");
        let n = 100_000;
        let sum: f64 = (0..n).map(|_| (one.unit() - 0.5) * (two.unit() - 0.5)).sum();
        // Each product has variance 1/144: five standard deviations of the sum.
        assert!(sum.abs() < 5.0 * f64::from(n).sqrt() / 12.0, "{sum}");
    }

    #[test]
    fn below_has_no_bias() {
        // 3/4 of 2^64: multiplication without rejection would return every third number twice as
        // often.
        let limit = 3 << 62;
        let mut stream = Stream::new(7, "below");
        let n = 300_000_u32;
        let thirds = (0..n).filter(|_| stream.below(limit) % 3 == 0).count() as f64;
        let sigma = (f64::from(n) * 2.0 / 9.0).sqrt();
        assert!((thirds - f64::from(n) / 3.0).abs() < 5.0 * sigma, "{thirds}");
    }

    #[test]
    fn distributions_have_their_moments() {
        let n = 1_000_000;
        let mut stream = Stream::new(11, "moments");
        let moments = |draw: &mut dyn FnMut() -> f64| {
            let (mut sum, mut squares) = (0.0, 0.0);
            for _ in 0..n {
                let x = draw();
                sum += x;
                squares += x * x;
            }
            let mean = sum / f64::from(n);
            (mean, squares / f64::from(n) - mean * mean)
        };
        let (mean, variance) = moments(&mut || stream.unit());
        assert!((mean - 0.5).abs() < 0.002 && (variance - 1.0 / 12.0).abs() < 0.001);
        let (mean, variance) = moments(&mut || stream.exponential(3.0));
        assert!((mean - 3.0).abs() < 0.02 && (variance - 9.0).abs() < 0.2);
        let (mean, variance) = moments(&mut || stream.normal());
        assert!(mean.abs() < 0.005 && (variance - 1.0).abs() < 0.01);
    }

    proptest! {
        #[test]
        fn draws_stay_in_their_range(seed: u64, limit in 1_u64..) {
            let mut stream = Stream::new(seed, "range");
            prop_assert!(stream.below(limit) < limit);
            let unit = stream.unit();
            prop_assert!((0.0..1.0).contains(&unit));
            prop_assert!(stream.exponential(1.0) >= 0.0);
            prop_assert!(stream.normal().abs() < 9.0);
        }
    }
}
