//! A video in chunks; the client selects the encoding rate of each chunk by the playing time in
//! its buffer.
//!
//! The client is BBA-0 of Huang, Johari, McKeown, Trunnell and Watson, A Buffer-Based Approach to
//! Rate Adaptation, SIGCOMM 2014, Algorithm 1. If the buffer level is below a reservoir, the
//! client selects the lowest rate; above the cushion, it selects the highest rate. In between, a
//! straight line from buffer level to rate applies, and the rate changes only when the line has
//! crossed the next rate. The client requests one chunk at a time over one connection, plays from
//! the first chunk on, and stalls with an empty buffer until the next chunk arrives. The model
//! leaves out chunks of variable size, audio, and the end of the video.

use cwndlab_units::{Duration, Time};

use super::connection::{Connection, HTTP_ANSWER_BYTES, HTTP_REQUEST_BYTES, write_up_to};
use super::requests::Requests;

/// The reservoir as a share of the buffer: 90 s of 240 s (section 4 of the BBA paper).
const RESERVOIR: (u64, u64) = (3, 8);
/// End of the cushion as a share of the buffer: 90 s + 126 s of 240 s.
const CUSHION_END: (u64, u64) = (9, 10);

/// A video client and its server.
#[derive(Debug)]
pub(super) struct Video {
    /// Encoding rates of the video, in ascending order.
    rungs_bits_per_sec: Vec<u64>,
    chunk: Duration,
    buffer: Duration,
    /// Requests that the server has received.
    requests: Requests,
    /// Size of the response to a request.
    answer_bytes: u64,
    /// Bytes of the response that the server has not written yet.
    answer_to_write: u64,
    /// Index of the encoding rate of the chunk that the client is reading or has read last.
    rung: usize,
    request_to_write: u64,
    /// Bytes of this chunk that the client has not read yet.
    chunk_to_read: u64,
    has_stopped: bool,
    player: Player,
    /// Chunks that have arrived: time of arrival and encoding rate.
    chunks: Vec<(Time, u64)>,
}

/// Playback and stalls.
#[derive(Clone, Copy, Debug, Default)]
struct Player {
    connected_at: Time,
    /// Time from the establishment of the connection to the first chunk.
    startup: Option<Duration>,
    /// End of the time that the totals of playing and stalling cover.
    until: Time,
    buffered: Duration,
    played: Duration,
    stalled: Duration,
}

/// A video's results from its user's point of view.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub(super) bitrate_mbit_s: Option<f64>,
    pub(super) rebuffering_pct: Option<f64>,
    pub(super) began_at: Option<Time>,
}

impl Video {
    pub(super) fn new(rungs_bits_per_sec: Vec<u64>, chunk: Duration, buffer: Duration) -> Self {
        Self {
            rungs_bits_per_sec,
            chunk,
            buffer,
            requests: Requests::new(HTTP_REQUEST_BYTES),
            answer_bytes: 0,
            answer_to_write: 0,
            rung: 0,
            request_to_write: 0,
            chunk_to_read: 0,
            has_stopped: false,
            player: Player::default(),
            chunks: Vec::new(),
        }
    }

    /// Requests the first chunk, at the lowest encoding rate, after the client has connected.
    pub(super) fn begin(&mut self, now: Time) {
        self.player.connected_at = now;
        self.ask();
    }

    /// Requests the next chunk when the client's buffer has room for it.
    pub(super) fn handle_room(&mut self, now: Time) {
        self.player.advance(now);
        self.rung = self.next_rung();
        self.ask();
    }

    /// Handles requests that the server has read. Returns whether the server has written all
    /// responses.
    pub(super) fn act_at_sender<C: Connection>(
        &mut self,
        now: Time,
        read: u64,
        sender: &mut C,
    ) -> bool {
        self.answer_to_write += self.requests.read(read) * self.answer_bytes;
        write_up_to(now, sender, &mut self.answer_to_write);
        self.answer_to_write == 0
    }

    /// Handles data that the client has read. Returns the time at which the client next acts
    /// without input, if any.
    pub(super) fn act_at_receiver<C: Connection>(
        &mut self,
        now: Time,
        read: u64,
        receiver: &mut C,
    ) -> Option<Time> {
        let mut wake = None;
        if read > 0 && self.chunk_to_read > 0 {
            self.chunk_to_read -= read.min(self.chunk_to_read);
            if self.chunk_to_read == 0 {
                wake = self.handle_chunk(now);
            }
        }
        write_up_to(now, receiver, &mut self.request_to_write);
        wake
    }

    /// Handles a complete chunk; the client requests the next chunk when its buffer has room for
    /// it.
    fn handle_chunk(&mut self, now: Time) -> Option<Time> {
        self.player.handle_chunk(now, self.chunk);
        self.chunks.push((now, self.rungs_bits_per_sec[self.rung]));
        let wanted = self.player.buffered + self.chunk;
        if wanted > self.buffer {
            return Some(now + (wanted - self.buffer));
        }
        self.handle_room(now);
        None
    }

    fn ask(&mut self) {
        if self.has_stopped {
            return;
        }
        let bits =
            u128::from(self.rungs_bits_per_sec[self.rung]) * u128::from(self.chunk.as_nanos());
        let body_bytes = u64::try_from(bits.div_ceil(8_000_000_000)).unwrap_or(u64::MAX / 2);
        self.answer_bytes = HTTP_ANSWER_BYTES + body_bytes;
        self.chunk_to_read = self.answer_bytes;
        self.request_to_write += HTTP_REQUEST_BYTES;
    }

    /// Index of the encoding rate of the next chunk: Algorithm 1 of the BBA paper.
    fn next_rung(&self) -> usize {
        let rungs = &self.rungs_bits_per_sec;
        let last = rungs.len() - 1;
        let allowed = self.allowed_bits_per_sec();
        let up = rungs[(self.rung + 1).min(last)] as f64;
        let down = rungs[self.rung.saturating_sub(1)] as f64;
        let is_below = |rung: &u64| (*rung as f64) < allowed;
        if allowed <= rungs[0] as f64 {
            0
        } else if allowed >= rungs[last] as f64 {
            last
        } else if allowed >= up {
            rungs.iter().rposition(is_below).unwrap_or(0)
        } else if allowed <= down {
            rungs.iter().position(|rung| *rung as f64 > allowed).unwrap_or(last)
        } else {
            self.rung
        }
    }

    /// Encoding rate given by the straight line from buffer level to rate.
    fn allowed_bits_per_sec(&self) -> f64 {
        let share = |(over, under): (u64, u64)| (self.buffer.as_nanos() / under * over) as f64;
        let (begin, end) = (share(RESERVOIR), share(CUSHION_END));
        let lowest = self.rungs_bits_per_sec[0] as f64;
        let highest = self.rungs_bits_per_sec[self.rungs_bits_per_sec.len() - 1] as f64;
        let height = (self.player.buffered.as_nanos() as f64 - begin) / (end - begin);
        lowest + height.clamp(0.0, 1.0) * (highest - lowest)
    }

    /// The client stops requesting chunks, and the server stops writing them.
    pub(super) fn stop(&mut self) {
        self.has_stopped = true;
        self.answer_to_write = 0;
    }

    /// Encoding rates of the chunks that arrived in the window, and stalls until the end of the
    /// window.
    pub(super) fn seen(&self, from: Time, until: Time) -> Seen {
        let mut player = self.player;
        player.advance(until);
        let inside: Vec<u64> = self
            .chunks
            .iter()
            .filter(|(at, _)| from < *at && *at <= until)
            .map(|&(_, bits_per_sec)| bits_per_sec)
            .collect();
        let sum: u64 = inside.iter().sum();
        let watched = player.played + player.stalled;
        Seen {
            bitrate_mbit_s: (!inside.is_empty()).then(|| sum as f64 / inside.len() as f64 / 1e6),
            rebuffering_pct: (watched > Duration::ZERO)
                .then(|| 100.0 * player.stalled.as_nanos() as f64 / watched.as_nanos() as f64),
            began_at: player.startup.map(|startup| player.connected_at + startup),
        }
    }
}

impl Player {
    /// Plays until `now`.
    fn advance(&mut self, now: Time) {
        let passed = now.saturating_since(self.until);
        self.until = self.until.max(now);
        if self.startup.is_some() {
            let played = passed.min(self.buffered);
            self.buffered = self.buffered - played;
            self.played += played;
            self.stalled += passed - played;
        }
    }

    fn handle_chunk(&mut self, now: Time, chunk: Duration) {
        self.advance(now);
        self.buffered += chunk;
        if self.startup.is_none() {
            self.startup = Some(now - self.connected_at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHUNK: Duration = Duration::from_secs(4);

    /// The client in the BBA paper: 240 s of buffer, with a reservoir of 90 s and a cushion of 126
    /// s.
    fn client(rung: usize, buffered_s: u64) -> Video {
        let rungs = vec![1_000_000, 2_000_000, 4_000_000];
        let mut video = Video::new(rungs, CHUNK, Duration::from_secs(240));
        video.rung = rung;
        video.player.buffered = Duration::from_secs(buffered_s);
        video
    }

    #[test]
    fn the_rate_follows_the_line_from_buffer_to_rate() {
        for (buffered_s, bits_per_sec) in
            [(0, 1e6), (90, 1e6), (153, 2.5e6), (216, 4e6), (240, 4e6)]
        {
            let allowed = client(0, buffered_s).allowed_bits_per_sec();
            assert!((allowed - bits_per_sec).abs() < 1.0, "{allowed} at {buffered_s} s");
        }
    }

    #[test]
    fn a_rate_is_kept_until_the_line_crosses_the_next() {
        // The line reaches 2 Mbit/s at 132 s: the rate rises above that, and falls only at 1
        // Mbit/s.
        assert_eq!(client(0, 131).next_rung(), 0);
        assert_eq!(client(0, 133).next_rung(), 1);
        assert_eq!(client(1, 95).next_rung(), 1);
        assert_eq!(client(1, 90).next_rung(), 0);
        assert_eq!(client(1, 215).next_rung(), 1);
        assert_eq!(client(1, 216).next_rung(), 2);
        assert_eq!(client(2, 133).next_rung(), 2);
        assert_eq!(client(2, 131).next_rung(), 1, "the lowest rate above the line");
    }

    #[test]
    fn the_player_stands_still_where_it_has_nothing_to_play() {
        let mut player = Player { connected_at: Time::from_secs(1), ..Player::default() };
        player.handle_chunk(Time::from_secs(3), CHUNK);
        player.handle_chunk(Time::from_secs(10), CHUNK);
        player.advance(Time::from_secs(12));
        assert_eq!(player.startup, Some(Duration::from_secs(2)));
        assert_eq!(player.played, Duration::from_secs(6));
        assert_eq!(player.stalled, Duration::from_secs(3));
        assert_eq!(player.buffered, Duration::from_secs(2));
    }
}
