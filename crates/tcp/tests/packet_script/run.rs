//! Plays a script against an endpoint, in virtual time.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use std::sync::Arc;

use cwndlab_cc::{Algorithm, Congestion};
use cwndlab_packet::{Flags, Segment};
use cwndlab_tcp::{Endpoint, EndpointConfig, HostTraits, Profile, TcpOutput};
use cwndlab_units::{Duration, Ecn, Time};

use super::notation::{Origin, Piece, Template};
use super::{Action, Failure, Script, Setup, Step};

/// Plays a script to its end. A failure states what was expected, what happened, and the history.
pub(crate) fn run(script: &Script) -> Result<(), Failure> {
    let first_line = |problem| Failure { line: 1, problem };
    let mut player = Player::new(&script.setup).map_err(first_line)?;
    for step in &script.steps {
        player.play(step).map_err(|what| player.failure(step, &what))?;
    }
    let Some(last) = script.steps.last() else { return Ok(()) };
    player.refuse_rest().map_err(|what| player.failure(last, &what))
}

struct Player {
    endpoint: Endpoint,
    now: Time,
    /// When the last step happened.
    before: Time,
    wake: Time,
    /// Segments sent by the endpoint that no step has consumed yet.
    left: VecDeque<(Time, Segment)>,
    peer: Peer,
    history: Vec<Note>,
}

/// A line of the history.
struct Note {
    at: Time,
    kind: &'static str,
    text: String,
    /// The segments of the line, joined, and their number.
    segments: Option<(Segment, u32)>,
    cwnd_pkts: u32,
}

/// State of the script's side of the connection.
#[derive(Clone, Copy, Debug, Default)]
struct Peer {
    /// Sequence numbers of the SYNs: the endpoint's, once it was seen, and the script's.
    endpoint_first: Option<u32>,
    first: u32,
    /// Next sequence number and last window of the script's side, from its SYN on.
    next: u32,
    window: u32,
    /// Offers of the two SYNs.
    shift: Option<u8>,
    endpoint_shift: Option<u8>,
    has_timestamps: bool,
    endpoint_has_timestamps: bool,
    /// Start of the endpoint's next new segment.
    endpoint_next: u32,
}

impl Peer {
    fn has_scaling(&self) -> bool {
        self.shift.is_some() && self.endpoint_shift.is_some()
    }

    /// Origin of segments sent by the endpoint.
    fn outward(&self) -> Origin {
        Origin {
            first: self.endpoint_first.unwrap_or_default(),
            peer_first: self.first,
            window_shift: self.endpoint_shift.filter(|_| self.has_scaling()).unwrap_or(0),
        }
    }

    /// Origin of segments sent by the script.
    fn inward(&self) -> Origin {
        Origin {
            first: self.first,
            peer_first: self.endpoint_first.unwrap_or_default(),
            window_shift: self.shift.filter(|_| self.has_scaling()).unwrap_or(0),
        }
    }

    fn note_sent_by_endpoint(&mut self, segment: &Segment) {
        if segment.flags.has(Flags::SYN) {
            self.endpoint_first = Some(segment.seq);
            self.endpoint_shift = segment.syn.and_then(|syn| syn.window_scale);
            self.endpoint_has_timestamps = segment.timestamps.is_some();
        }
        let end = self.outward().range(segment).1;
        if (end.wrapping_sub(self.endpoint_next) as i32) > 0 {
            self.endpoint_next = end;
        }
    }

    /// The segments of a step, as sent on the wire.
    fn segments(&mut self, template: &Template) -> Result<Vec<Segment>, String> {
        let options = template.options.clone().unwrap_or_default();
        let is_syn = template.flags & Flags::SYN != 0;
        if is_syn {
            self.shift = options.window_scale;
            self.has_timestamps = options.timestamps.is_some();
        }
        let origin = self.inward();
        let window = template.window.unwrap_or(self.window);
        let shift = if is_syn { 0 } else { origin.window_shift };
        let Ok(window_field) = u16::try_from(window >> shift) else {
            return Err(format!("the window field cannot hold {window}"));
        };
        if template.window.is_some_and(|window| window % (1 << shift) != 0) {
            return Err(format!("the window {window} is not a multiple of {}", 1 << shift));
        }
        self.window = window;
        let timestamps = match options.timestamps {
            Some(None) => return Err("timestamps that arrive have a value and an echo".to_owned()),
            Some(stamps) => stamps,
            None => None,
        };
        let must_have = !is_syn && self.has_timestamps && self.endpoint_has_timestamps;
        if must_have && timestamps.is_none() && template.flags & Flags::RST == 0 {
            return Err("both SYNs had timestamps: add `<ts VALUE ecr ECHO>`".to_owned());
        }
        let sacks = origin.wire_sacks(&options.sacks)?;
        let segments = template.pieces(self.next).into_iter().map(|piece| {
            let Piece { range: (start, end), ack, is_last } = piece;
            let ignored = if is_last { 0 } else { Flags::PSH | Flags::FIN };
            let flags = Flags(template.flags & !ignored);
            let control = u32::from(flags.has(Flags::SYN)) + u32::from(flags.has(Flags::FIN));
            let mut segment = Segment {
                flow: 0,
                user: 1,
                seq: start.wrapping_add(self.first),
                ack: ack.wrapping_add(origin.peer_first),
                payload: end.wrapping_sub(start).saturating_sub(control),
                window: window_field,
                flags,
                ecn: template.ecn.unwrap_or(Ecn::NotEct),
                timestamps,
                sacks,
                syn: is_syn.then(|| options.syn()),
                header_bytes: 40,
            };
            options.ecn_option.into_iter().for_each(|option| segment.set_ecn_option(option));
            segment
        });
        let segments: Vec<Segment> = segments.collect();
        let end = origin.range(segments.last().expect("a run has a segment")).1;
        if (end.wrapping_sub(self.next) as i32) > 0 {
            self.next = end;
        }
        Ok(segments)
    }
}

impl Player {
    fn new(setup: &Setup) -> Result<Self, String> {
        let profile =
            Profile::by_name(&setup.stack).ok_or(format!("no stack `{}`", setup.stack))?;
        let settings: BTreeMap<String, toml::Value> = setup.settings.clone().into_iter().collect();
        let profile = profile.with_overrides(&settings).map_err(|error| error.to_string())?;
        let algorithm = Algorithm::by_name(&setup.algorithm)
            .ok_or(format!("no algorithm `{}`", setup.algorithm))?;
        let mut parameters = BTreeMap::new();
        for (name, value) in &setup.parameters {
            let value =
                value.as_integer().ok_or(format!("parameter `{name}` is not an integer"))?;
            parameters.insert(name.clone(), value);
        }
        let congestion =
            Congestion::new(algorithm, &parameters).map_err(|error| error.to_string())?;
        // An endpoint derives its initial sequence number and its clock's offset from the seed.
        let seed = u64::from(setup.sequence) << 32 | u64::from(setup.clock);
        let endpoint = Endpoint::new(EndpointConfig {
            flow: 0,
            user: 1,
            profile: Arc::new(profile),
            congestion,
            seed,
            jiffies_phase: Duration::ZERO,
        });
        let peer = Peer { first: setup.peer_sequence, window: 65_535, ..Peer::default() };
        Ok(Self {
            endpoint,
            now: Time::ZERO,
            before: Time::ZERO,
            wake: Time::NEVER,
            left: VecDeque::new(),
            peer,
            history: Vec::new(),
        })
    }

    fn play(&mut self, step: &Step) -> Result<(), String> {
        let (earliest, latest) = step.when.bounds(self.before);
        if earliest < self.now && !matches!(step.action, Action::Leave(_)) {
            return Err(format!("the step before was at {}", show(self.now)));
        }
        if let Action::Leave(template) = &step.action {
            return self.expect_segments(template, earliest, latest);
        }
        self.advance(earliest);
        self.refuse_rest()?;
        self.before = earliest;
        self.act(&step.action)
    }

    fn act(&mut self, action: &Action) -> Result<(), String> {
        let now = self.now;
        match action {
            Action::Connect => self.endpoint.connect(now),
            Action::Listen => self.endpoint.listen(),
            Action::Close => self.endpoint.close(now),
            Action::Host(burst_pkts) => self.endpoint.attach_host(HostTraits {
                burst_pkts: *burst_pkts,
                is_pacing: false,
                is_orphaning: false,
                has_separate_buffers: false,
            }),
            Action::Room(packets) => self.endpoint.set_room(*packets),
            Action::Depart(packets) => {
                for _ in 0..*packets {
                    self.endpoint.handle_departure(now);
                }
            }
            Action::Write(asked, taken) => {
                let got = self.endpoint.write(now, *asked);
                self.note("write", got.to_string());
                if got != *taken {
                    return Err(format!("{got} bytes were taken"));
                }
            }
            Action::Read(asked, read) => {
                let got = self.endpoint.read(now, *asked);
                self.note("read", got.to_string());
                if got != *read {
                    return Err(format!("{got} bytes were read"));
                }
            }
            Action::Arrive(template) => {
                for segment in self.peer.segments(template)? {
                    let text = self.peer.inward().render(&segment);
                    self.note("<", text);
                    self.endpoint.handle_segment(now, &segment);
                    self.poll();
                }
            }
            Action::Expect(claims) => {
                let differences: Vec<String> =
                    claims.iter().filter_map(|claim| claim.difference(&self.endpoint)).collect();
                if !differences.is_empty() {
                    return Err(differences.join("; "));
                }
            }
            Action::Leave(_) => {}
        }
        self.poll();
        Ok(())
    }

    fn expect_segments(
        &mut self,
        template: &Template,
        earliest: Time,
        latest: Time,
    ) -> Result<(), String> {
        for piece in template.pieces(self.peer.endpoint_next) {
            while self.left.is_empty() && self.wake <= latest {
                self.advance(self.wake);
            }
            let Some((at, segment)) = self.left.pop_front() else {
                return Err(format!("nothing was sent before {}", show(latest)));
            };
            let origin = Origin {
                first: self.peer.endpoint_first.unwrap_or(segment.seq),
                ..self.peer.outward()
            };
            let got = || format!("{}  > {}", show(at), origin.render(&segment));
            if let Some(what) = origin.difference(template, piece, &segment) {
                return Err(format!("{what}\n       got {}", got()));
            }
            if at < earliest || at > latest {
                let due = if earliest == latest {
                    show(earliest)
                } else {
                    format!("{} to {}", show(earliest), show(latest))
                };
                return Err(format!("due at {due}\n       got {}", got()));
            }
            self.peer.note_sent_by_endpoint(&segment);
            self.before = at;
        }
        Ok(())
    }

    /// Fails if the endpoint sent a segment that no step expected.
    fn refuse_rest(&self) -> Result<(), String> {
        match self.left.front() {
            None => Ok(()),
            Some((at, segment)) => {
                let origin = Origin {
                    first: self.peer.endpoint_first.unwrap_or(segment.seq),
                    ..self.peer.outward()
                };
                Err(format!("not expected before it: {}  > {}", show(*at), origin.render(segment)))
            }
        }
    }

    /// Runs the endpoint's timers up to a time.
    fn advance(&mut self, to: Time) {
        while self.wake <= to {
            self.now = self.now.max(self.wake);
            self.poll();
        }
        self.now = self.now.max(to);
    }

    fn poll(&mut self) {
        let polled = self.endpoint.poll(self.now);
        let next = polled.next;
        assert!(next > self.now, "a wait until {} at {}", show(next), show(self.now));
        self.wake = next;
        let outputs = polled.outputs.to_vec();
        for output in outputs {
            match output {
                TcpOutput::Train(train) => {
                    for segment in train.segments() {
                        let mut peer = self.peer;
                        peer.note_sent_by_endpoint(&segment);
                        self.note_sent(&segment, &peer.outward());
                        self.left.push_back((self.now, segment));
                    }
                }
                TcpOutput::Event { event, .. } => {
                    let value = event.value().map_or(String::new(), |value| format!(" {value}"));
                    self.note("*", format!("{}{value}", event.name()));
                }
            }
        }
    }

    fn note(&mut self, kind: &'static str, text: String) {
        let cwnd_pkts = self.endpoint.info().cwnd_pkts;
        self.history.push(Note { at: self.now, kind, text, segments: None, cwnd_pkts });
    }

    /// Records a sent segment; one that continues the last one is added to its line.
    fn note_sent(&mut self, segment: &Segment, origin: &Origin) {
        let now = self.now;
        let run = self.history.last().filter(|note| note.at == now).and_then(|note| note.segments);
        let mut joined = (*segment, 1);
        if let Some((before, count)) = run.filter(|(before, _)| {
            segment.payload > 0 && before.end_seq() == segment.seq && before.ack == segment.ack
        }) {
            joined = (Segment { payload: before.payload + segment.payload, ..before }, count + 1);
            joined.0.flags.0 |= segment.flags.0;
            self.history.pop();
        }
        let mut text = origin.render(&joined.0);
        if joined.1 > 1 {
            write!(text, " ({} segments)", joined.1).expect("a string takes everything");
        }
        self.note(">", text);
        if let Some(note) = self.history.last_mut() {
            note.segments = Some(joined);
        }
    }

    fn failure(&self, step: &Step, what: &str) -> Failure {
        let info = self.endpoint.info();
        let problem = format!(
            "expected {}\n  but {what}\n  with cwnd {}, ssthresh {:?}, {:?}, in flight {}, sacked {}, \
             lost {}, retransmitted {}, rto {}\n  so far\n{}",
            step.text,
            info.cwnd_pkts,
            info.ssthresh_pkts,
            info.ca_state,
            info.in_flight_pkts,
            info.sacked_pkts,
            info.lost_pkts,
            info.retrans_pkts,
            show(Time::ZERO + info.rto),
            self.history.iter().map(Note::show).collect::<String>()
        );
        Failure { line: step.line, problem }
    }
}

impl Note {
    fn show(&self) -> String {
        let Self { kind, text, cwnd_pkts, .. } = self;
        format!("{:>14}  {kind:<5} {text:<54}  cwnd {cwnd_pkts}\n", show(self.at))
    }
}

/// Formats a time in milliseconds.
fn show(at: Time) -> String {
    if at.is_never() { "never".to_owned() } else { format!("{:.3}ms", at.as_nanos() as f64 / 1e6) }
}

#[cfg(test)]
mod tests {
    use super::super::parse::parse;
    use super::*;

    const OPENING: &str = "connect\n> S 0:1\n\
                           +40ms < S. 0:1 ack 1 win 65535 <mss 1000, sackOK, wscale 8>\n\
                           > . 1:1 ack 1\n";

    fn failure_of(rest: &str) -> Failure {
        let script = parse("test.pkt", &format!("{OPENING}{rest}")).expect("a script");
        run(&script).expect_err("does not hold")
    }

    #[test]
    fn a_failure_names_the_line_what_came_and_what_was_before() {
        for (rest, line, part) in [
            ("write 1000\n> P. 1:1002 ack 1", 6, "range 1:1002, got 1:1001"),
            ("write 1000\n> . 1:1001 ack 1", 6, "flags ., got P."),
            ("write 1000\n> P. 1:1001 ack 2", 6, "ack 2, got 1"),
            ("write 1000\n> P. 1:1001 ack 1 win 1", 6, "win 1, got 64512"),
            ("write 1000\n> P. 1:1001 ack 1 [ect0]", 6, "IP header Ect0, got NotEct"),
            ("write 1000\n> P. 1:1001 ack 1 <ts>", 6, "timestamps, got none"),
            ("write 1000\n> P. 1:1001 ack 1 <sack 5:6>", 6, "SACK blocks [(5, 6)], got []"),
            ("write 1000\n+1ms > P. 1:1001 ack 1", 6, "due at 41.000ms"),
            ("write 2000\n> P. 1:2001/500 ack 1", 6, "range 1:501, got 1:1001"),
            ("+5ms > . 1:1 ack 1", 5, "nothing was sent before 45.000ms"),
            ("write 1000\n+1ms write 1", 6, "not expected before it: 40.000ms  > P. 1:1001 ack 1"),
            ("write 1000", 5, "not expected before it: 40.000ms  > P. 1:1001 ack 1"),
            ("expect cwnd 9, state Open, rto 1..2s", 5, "cwnd 9, got 10; rto 1000ms..2000ms, got"),
            ("read 10", 5, "0 bytes were read"),
            ("write 9 = 8", 5, "9 bytes were taken"),
            ("@20ms write 9", 5, "the step before was at 40.000ms"),
            ("< . 1:1 ack 1 win 300", 5, "not a multiple of 256"),
            ("< . 1:1 ack 1 <sack 1:2 3:4 5:6 7:8 9:10>", 5, "room for four"),
        ] {
            let Failure { line: at, problem } = failure_of(rest);
            assert!(at == line && problem.contains(part), "{rest}: line {at}: {problem}");
            let before = "40.000ms  <     S. 0:1 ack 1 win 65535 <mss 1000, sackOK, wscale 8>";
            assert!(problem.contains(before), "{problem}");
        }
    }

    #[test]
    fn a_set_up_that_does_not_exist_is_named() {
        for (text, part) in [
            ("stack linux-7\nconnect", "no stack `linux-7`"),
            ("algorithm tahoma\nconnect", "no algorithm `tahoma`"),
            ("set window = 3\nconnect", "window"),
            ("parameter gain = 3\nconnect", "gain"),
        ] {
            let script = parse("test.pkt", text).expect("a script");
            let problem = run(&script).expect_err("cannot be set up").problem;
            assert!(problem.contains(part), "{text}: {problem}");
        }
    }

    #[test]
    fn runs_of_segments_share_a_line_of_the_history() {
        let problem = failure_of("write 3000\n+1ms write 1").problem;
        assert!(problem.contains("P. 1:3001 ack 1 win 64512 (3 segments)"), "{problem}");
    }
}
