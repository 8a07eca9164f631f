//! Segments as scripts write them: `P. 1:1001 ack 1 win 65535 <sack 2001:3001> [ce]`.

use std::fmt::Write as _;

use cwndlab_packet::{EcnOption, Flags, SackBlock, SackBlocks, Segment, SynOptions};
use cwndlab_units::Ecn;

const FLAGS: [(char, u16); 8] = [
    ('S', Flags::SYN),
    ('F', Flags::FIN),
    ('R', Flags::RST),
    ('E', Flags::ECE),
    ('W', Flags::CWR),
    ('A', Flags::AE),
    ('P', Flags::PSH),
    ('.', Flags::ACK),
];

/// A run of segments as a script writes it. Numbers count from the SYN of their sender.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Template {
    pub(crate) flags: u16,
    /// Range of the sequence space, including SYN and FIN; `None` is the sender's current position.
    pub(crate) range: Option<(u32, u32)>,
    /// Payload of each segment of a run, if there are several.
    pub(crate) each: Option<u32>,
    /// First and last acknowledgement number of a train, and the step between them.
    pub(crate) acks: (u32, u32, u32),
    /// Number of times that the whole template is repeated.
    pub(crate) times: u32,
    pub(crate) window: Option<u32>,
    pub(crate) options: Option<Options>,
    pub(crate) ecn: Option<Ecn>,
}

/// One segment of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Piece {
    pub(crate) range: (u32, u32),
    pub(crate) ack: u32,
    pub(crate) is_last: bool,
}

/// The part between `<` and `>`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Options {
    pub(crate) mss: Option<u16>,
    pub(crate) window_scale: Option<u8>,
    pub(crate) is_sack_permitted: bool,
    /// Value and echo; a bare `ts` only indicates that there are timestamps.
    pub(crate) timestamps: Option<Option<(u32, u32)>>,
    pub(crate) sacks: Vec<(u32, u32)>,
    /// `ecn e0b 1 ceb 0 e1b 1`, or the reverse order, or the first counters of either order.
    pub(crate) ecn_option: Option<EcnOption>,
}

/// Parses a number of a script: decimal digits, with `_` allowed between them.
pub(crate) fn number(text: &str) -> Result<u32, String> {
    text.replace('_', "").parse().map_err(|_| format!("`{text}` is not a number"))
}

/// Parses a number that is not 0.
fn step(text: &str) -> Result<u32, String> {
    number(text).and_then(|step| if step == 0 { Err("a step of 0".to_owned()) } else { Ok(step) })
}

/// Parses `1001`, or `1001..5001/1000` for a train.
fn acks(text: &str) -> Result<(u32, u32, u32), String> {
    let Some((first, rest)) = text.split_once("..") else {
        let ack = number(text)?;
        return Ok((ack, ack, 1));
    };
    let (last, each) = rest.split_once('/').ok_or("a train of ACKs is `FIRST..LAST/STEP`")?;
    Ok((number(first)?, number(last)?, step(each)?))
}

fn range(text: &str) -> Result<(u32, u32), String> {
    let (start, end) = text.split_once(':').unwrap_or((text, text));
    Ok((number(start)?, number(end)?))
}

impl Template {
    /// Parses the text after the arrow.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (text, options) = match text.split_once('<') {
            Some((before, rest)) => {
                let (inside, after) = rest.split_once('>').ok_or("options end with `>`")?;
                (format!("{before} {after}"), Some(Options::parse(inside)?))
            }
            None => (text.to_owned(), None),
        };
        let mut words = text.split_whitespace().peekable();
        let mut template = Self {
            flags: flags(words.next().ok_or("a segment begins with its flags")?)?,
            range: None,
            each: None,
            acks: (0, 0, 1),
            times: 1,
            window: None,
            options,
            ecn: None,
        };
        if let Some(word) = words.next_if(|word| word.starts_with(|c: char| c.is_ascii_digit())) {
            let (word, each) = match word.split_once('/') {
                Some((word, each)) => (word, Some(step(each)?)),
                None => (word, None),
            };
            template.range = Some(range(word)?);
            template.each = each;
        }
        let mut has_ack = false;
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("`{word}` needs a number"));
            match word {
                "ack" => (has_ack, template.acks) = (true, acks(value()?)?),
                "win" => template.window = Some(number(value()?)?),
                _ if word.starts_with('x') => template.times = step(&word[1..])?,
                "[ce]" => template.ecn = Some(Ecn::Ce),
                "[ect0]" => template.ecn = Some(Ecn::Ect0),
                "[ect1]" => template.ecn = Some(Ecn::Ect1),
                "[noecn]" => template.ecn = Some(Ecn::NotEct),
                _ => return Err(format!("`{word}` in a segment")),
            }
        }
        if has_ack != (template.flags & Flags::ACK != 0) {
            return Err("`ack N` and the flag `.` belong together".to_owned());
        }
        if template.each.is_some() && template.acks.0 != template.acks.1 {
            return Err("a run of data and a train of ACKs at once".to_owned());
        }
        Ok(template)
    }

    /// The segments of the run; without a range, they start at the sender's current position.
    pub(crate) fn pieces(&self, next: u32) -> Vec<Piece> {
        let (start, end) = self.range.unwrap_or((next, next));
        let (length, (first, last, step)) = (end.wrapping_sub(start), self.acks);
        let mut pieces: Vec<Piece> = match self.each.filter(|_| length > 0) {
            Some(each) => (0..length)
                .step_by(each as usize)
                .map(|from| (start.wrapping_add(from), length.min(from + each)))
                .map(|(from, to)| Piece {
                    range: (from, start.wrapping_add(to)),
                    ack: last,
                    is_last: false,
                })
                .collect(),
            None => (0..=last.wrapping_sub(first))
                .step_by(step as usize)
                .map(|more| Piece {
                    range: (start, end),
                    ack: first.wrapping_add(more),
                    is_last: false,
                })
                .collect(),
        };
        pieces.last_mut().expect("a run has a segment").is_last = true;
        pieces.repeat(self.times as usize)
    }
}

impl Options {
    fn parse(text: &str) -> Result<Self, String> {
        let mut options = Self::default();
        for option in text.split(',') {
            let words: Vec<&str> = option.split_whitespace().collect();
            match words[..] {
                ["mss", value] => options.mss = Some(number(value)? as u16),
                ["wscale", value] => options.window_scale = Some(number(value)? as u8),
                ["sackOK"] => options.is_sack_permitted = true,
                ["ts"] => options.timestamps = Some(None),
                ["ts", value, "ecr", echo] => {
                    options.timestamps = Some(Some((number(value)?, number(echo)?)));
                }
                ["sack", ref blocks @ ..] if !blocks.is_empty() => {
                    options.sacks =
                        blocks.iter().map(|block| range(block)).collect::<Result<_, _>>()?;
                }
                ["ecn", ref counters @ ..] => options.ecn_option = Some(ecn_option(counters)?),
                _ => return Err(format!("option `{}`", option.trim())),
            }
        }
        Ok(options)
    }

    pub(crate) fn syn(&self) -> SynOptions {
        SynOptions {
            mss: self.mss.unwrap_or(0),
            window_scale: self.window_scale,
            is_sack_permitted: self.is_sack_permitted,
        }
    }
}

/// The names of the option's counters, as in packetdrill.
const COUNTERS: [&str; 3] = ["e0b", "ceb", "e1b"];

fn ecn_option(words: &[&str]) -> Result<EcnOption, String> {
    let is_order_1 = words.first() == Some(&"e1b");
    let mut values = [0; 3];
    for (place, pair) in words.chunks(2).enumerate() {
        let counter = if is_order_1 { 2_usize.wrapping_sub(place) } else { place };
        match (COUNTERS.get(counter), pair) {
            (Some(name), [word, value]) if name == word => values[counter] = number(value)?,
            _ => return Err(format!("counters {}", words.join(" "))),
        }
    }
    Ok(EcnOption::new(is_order_1, words.len() / 2, values))
}

fn rendered(option: &EcnOption) -> String {
    let mut pairs: Vec<String> = COUNTERS
        .iter()
        .zip(option.counters())
        .filter_map(|(name, counter)| counter.map(|counter| format!(" {name} {counter}")))
        .collect();
    if option.kind() == EcnOption::KIND_1 {
        pairs.reverse();
    }
    format!("ecn{}", pairs.concat())
}

fn flags(text: &str) -> Result<u16, String> {
    let mut bits = 0;
    for letter in text.chars() {
        let flag = FLAGS.iter().find(|(known, _)| *known == letter);
        bits |= flag.ok_or(format!("`{text}` are not flags of SFREWAP."))?.1;
    }
    Ok(bits)
}

/// Origins of the numbers in either direction, and the scale of windows.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Origin {
    pub(crate) first: u32,
    pub(crate) peer_first: u32,
    pub(crate) window_shift: u8,
}

impl Origin {
    /// The window in bytes.
    pub(crate) fn window(&self, segment: &Segment) -> u32 {
        let shift = if segment.flags.has(Flags::SYN) { 0 } else { self.window_shift };
        u32::from(segment.window) << shift
    }

    pub(crate) fn range(&self, segment: &Segment) -> (u32, u32) {
        let start = segment.seq.wrapping_sub(self.first);
        (start, segment.end_seq().wrapping_sub(self.first))
    }

    pub(crate) fn ack(&self, segment: &Segment) -> u32 {
        segment.ack.wrapping_sub(self.peer_first)
    }

    pub(crate) fn sacks(&self, segment: &Segment) -> Vec<(u32, u32)> {
        let relative = |number: u32| number.wrapping_sub(self.peer_first);
        let blocks = segment.sacks.as_slice().iter();
        blocks.map(|block| (relative(block.start), relative(block.end))).collect()
    }

    /// Converts blocks of a script to wire sequence numbers.
    pub(crate) fn wire_sacks(&self, blocks: &[(u32, u32)]) -> Result<SackBlocks, String> {
        let mut sacks = SackBlocks::default();
        for (start, end) in blocks {
            let start = start.wrapping_add(self.peer_first);
            let end = end.wrapping_add(self.peer_first);
            if !sacks.push(SackBlock { start, end }) {
                return Err("a segment has room for four SACK blocks".to_owned());
            }
        }
        Ok(sacks)
    }

    /// Formats the segment in the notation of scripts.
    pub(crate) fn render(&self, segment: &Segment) -> String {
        let mut text: String =
            FLAGS.iter().filter(|(_, bit)| segment.flags.has(*bit)).map(|(c, _)| *c).collect();
        let (start, end) = self.range(segment);
        write!(text, " {start}:{end}").expect("a string takes everything");
        if segment.flags.has(Flags::ACK) {
            write!(text, " ack {}", self.ack(segment)).expect("a string takes everything");
        }
        write!(text, " win {}", self.window(segment)).expect("a string takes everything");
        let mut options = Vec::new();
        if let Some(syn) = segment.syn {
            options.push(format!("mss {}", syn.mss));
            options.extend(syn.is_sack_permitted.then(|| "sackOK".to_owned()));
        }
        options.extend(segment.timestamps.map(|(value, echo)| format!("ts {value} ecr {echo}")));
        if let Some(shift) = segment.syn.and_then(|syn| syn.window_scale) {
            options.push(format!("wscale {shift}"));
        }
        options.extend(segment.ecn_option().as_ref().map(rendered));
        let sacks = self.sacks(segment);
        if !sacks.is_empty() {
            let blocks: Vec<_> =
                sacks.iter().map(|(start, end)| format!("{start}:{end}")).collect();
            options.push(format!("sack {}", blocks.join(" ")));
        }
        if !options.is_empty() {
            write!(text, " <{}>", options.join(", ")).expect("a string takes everything");
        }
        match segment.ecn {
            Ecn::NotEct => {}
            Ecn::Ect0 => text.push_str(" [ect0]"),
            Ecn::Ect1 => text.push_str(" [ect1]"),
            Ecn::Ce => text.push_str(" [ce]"),
        }
        text
    }

    /// Describes how a sent segment differs from the expected one, if it does.
    pub(crate) fn difference(
        &self,
        wanted: &Template,
        piece: Piece,
        got: &Segment,
    ) -> Option<String> {
        let shown = |bits: u16| -> String {
            FLAGS.iter().filter(|(_, bit)| bits & bit != 0).map(|(letter, _)| *letter).collect()
        };
        let Piece { range: (start, end), ack, is_last } = piece;
        // Inside a run, PSH depends on how the application divided its writes.
        let ignored = if is_last { 0 } else { Flags::PSH | Flags::FIN };
        let (flags, got_flags) = (wanted.flags & !ignored, got.flags.0 & !ignored);
        if flags != got_flags {
            return Some(format!("flags {}, got {}", shown(flags), shown(got_flags)));
        }
        if (start, end) != self.range(got) {
            let (got_start, got_end) = self.range(got);
            return Some(format!("range {start}:{end}, got {got_start}:{got_end}"));
        }
        if flags & Flags::ACK != 0 && ack != self.ack(got) {
            return Some(format!("ack {ack}, got {}", self.ack(got)));
        }
        if let Some(window) = wanted.window.filter(|w| is_last && *w != self.window(got)) {
            return Some(format!("win {window}, got {}", self.window(got)));
        }
        if let Some(ecn) = wanted.ecn.filter(|ecn| *ecn != got.ecn) {
            return Some(format!("IP header {ecn:?}, got {:?}", got.ecn));
        }
        self.options_difference(wanted.options.as_ref(), got)
    }

    fn options_difference(&self, wanted: Option<&Options>, got: &Segment) -> Option<String> {
        let got_sacks = self.sacks(got);
        let sacks = wanted.map_or(&[][..], |options| &options.sacks);
        if sacks != got_sacks {
            return Some(format!("SACK blocks {sacks:?}, got {got_sacks:?}"));
        }
        let ecn_option = wanted.and_then(|options| options.ecn_option);
        if ecn_option != got.ecn_option() {
            let shown = [&ecn_option, &got.ecn_option()]
                .map(|option| option.as_ref().map_or("none".to_owned(), rendered));
            return Some(format!("counts of bytes {}, got {}", shown[0], shown[1]));
        }
        let wanted = wanted?;
        if let Some(Some(stamps)) =
            wanted.timestamps.filter(|s| s.is_some() && *s != got.timestamps)
        {
            return Some(format!("timestamps {stamps:?}, got {:?}", got.timestamps));
        }
        if wanted.timestamps.is_some() && got.timestamps.is_none() {
            return Some("timestamps, got none".to_owned());
        }
        let syn = got.syn?;
        if wanted.syn() != syn {
            return Some(format!("{:?}, got {syn:?}", wanted.syn()));
        }
        (wanted.timestamps.is_some() != got.timestamps.is_some())
            .then(|| "no timestamps, got some".to_owned())
    }
}
