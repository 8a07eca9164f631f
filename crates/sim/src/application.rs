//! What produces and consumes the data of a flow: small state machines that are given the time.
//!
//! An application acts on both ends of its flow: the *sender* of the data and their *receiver*. It
//! acts when its end of the connection has been given a segment, and at the times it asked for.
//! Both ends read whatever has arrived at once; data are counted, not carried. The connection is
//! whatever does what a socket does: an endpoint of the simulator, a socket of the kernel.

use cwndlab_units::{Duration, Stream, Time};
use serde::{Deserialize, Serialize};

use crate::scenario::ScenarioError;

/// A bulk sender writes blocks of 64 KiB, as iperf does.
const BLOCK_BYTES: u64 = 64 * 1024;
/// What acknowledges a block of a windowed file: an SFTP status message (draft-ietf-secsh-filexfer-02
/// section 7) with an empty text in an SSH packet with cipher and MAC.
const REPLY_BYTES: u64 = 52;
/// Shape of the Pareto on and off times: finite mean, infinite variance, as in ns-2.
const PARETO_SHAPE: f64 = 1.5;

/// What produces a flow's data.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum ApplicationConfig {
    /// As much as the connection takes, until the end.
    Bulk {},
    /// One transfer of a given size, then a close.
    Sized {
        /// Size of the transfer.
        bytes: u64,
    },
    /// Bulk for a time, then silence for a time, in turn.
    OnOff {
        /// Time of writing, its mean if it is drawn.
        #[serde(rename = "on_ns")]
        on: Duration,
        /// Time of silence, its mean if it is drawn.
        #[serde(rename = "off_ns")]
        off: Duration,
        /// How both are drawn.
        #[serde(default)]
        distribution: Distribution,
    },
    /// The receiver of the data asks, the sender answers, the receiver thinks. It connects.
    RequestResponse {
        /// Size of a request.
        request_bytes: u64,
        /// Size of a response.
        response_bytes: u64,
        /// From a response's last byte to the next request.
        #[serde(rename = "think_ns", default)]
        think: Duration,
        /// Requests until the close; without end if absent.
        #[serde(default)]
        count: Option<u64>,
    },
    /// A write of the same size at equal distances.
    Paced {
        /// Rate of what is written.
        bits_per_sec: u64,
        /// Size of a write.
        write_bytes: u64,
    },
    /// Blocks of a file, each acknowledged by a message of the application, a limited number
    /// outstanding: how SFTP clients send.
    WindowedFile {
        /// Size of a block.
        request_bytes: u64,
        /// Blocks that may wait for their acknowledgement.
        outstanding: u64,
        /// Size of the file; without end if absent.
        #[serde(default)]
        total_bytes: Option<u64>,
    },
}

impl Default for ApplicationConfig {
    fn default() -> Self {
        Self::Bulk {}
    }
}

/// How a time is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Distribution {
    /// Always the mean.
    #[default]
    Fixed,
    /// Exponential.
    Exponential,
    /// Pareto with shape 1.5.
    Pareto,
}

impl ApplicationConfig {
    /// The name in scenarios and results.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Bulk {} => "bulk",
            Self::Sized { .. } => "sized",
            Self::OnOff { .. } => "on_off",
            Self::RequestResponse { .. } => "request_response",
            Self::Paced { .. } => "paced",
            Self::WindowedFile { .. } => "windowed_file",
        }
    }

    pub(crate) fn check(&self, path: &str) -> Result<(), ScenarioError> {
        let positive = |name: &str, value: u64| {
            if value > 0 {
                return Ok(());
            }
            Err(ScenarioError::new(format!("{path}.{name}"), "must be more than 0"))
        };
        match *self {
            Self::Bulk {} => Ok(()),
            Self::Sized { bytes } => positive("bytes", bytes),
            Self::OnOff { on, off, .. } => {
                positive("on_ns", on.as_nanos()).and(positive("off_ns", off.as_nanos()))
            }
            Self::RequestResponse { request_bytes, response_bytes, count, .. } => {
                positive("request_bytes", request_bytes)
                    .and(positive("response_bytes", response_bytes))
                    .and(positive("count", count.unwrap_or(1)))
            }
            Self::Paced { bits_per_sec, write_bytes } => {
                positive("bits_per_sec", bits_per_sec).and(positive("write_bytes", write_bytes))
            }
            Self::WindowedFile { request_bytes, outstanding, total_bytes } => {
                positive("request_bytes", request_bytes)
                    .and(positive("outstanding", outstanding))
                    .and(positive("total_bytes", total_bytes.unwrap_or(1)))
            }
        }
    }
}

/// One end of a connection, as an application sees it.
pub trait Connection {
    /// Hands over up to so many bytes. Answers how many were taken; none if there is no room.
    fn write(&mut self, now: Time, bytes: u64) -> u64;

    /// Takes everything that has arrived in order. Answers how many bytes.
    fn read(&mut self, now: Time) -> u64;

    /// Whether the peer has closed its side, and all that it sent has been read.
    fn peer_has_finished(&self) -> bool;

    /// Closes this side: nothing more is written.
    fn close(&mut self, now: Time);
}

/// A running application.
#[derive(Debug)]
pub struct Application {
    kind: Kind,
    /// When it next wants to act without input.
    wake: Time,
    /// Its transfer is complete: the receiver has read the last byte.
    is_complete: bool,
    /// It has closed the sender's side.
    has_closed: bool,
    /// It has closed the receiver's side.
    has_closed_receiver: bool,
}

#[derive(Debug)]
enum Kind {
    Bulk {
        block_left: u64,
    },
    Sized {
        to_write: u64,
        to_read: u64,
    },
    OnOff {
        on: Duration,
        off: Duration,
        distribution: Distribution,
        stream: Stream,
        is_on: bool,
        block_left: u64,
    },
    RequestResponse(RequestResponse),
    Paced {
        bits_per_sec: u64,
        write_bytes: u64,
        began: Time,
        writes: u64,
        to_write: u64,
    },
    WindowedFile(WindowedFile),
}

#[derive(Debug)]
struct RequestResponse {
    request_bytes: u64,
    response_bytes: u64,
    think: Duration,
    requests_left: Option<u64>,
    request_to_write: u64,
    request_to_read: u64,
    response_to_write: u64,
    response_to_read: u64,
}

#[derive(Debug)]
struct WindowedFile {
    block_bytes: u64,
    /// Bytes of the file not yet given to a block.
    file_left: u64,
    /// Blocks that may be started.
    credit: u64,
    block_to_write: u64,
    /// Bytes that the receiver has not read yet, of the whole file and of the current block.
    file_to_read: u64,
    block_to_read: u64,
    replies_to_write: u64,
    reply_to_read: u64,
}

impl Application {
    /// The application of a flow, with its own stream of randomness.
    pub fn new(config: &ApplicationConfig, stream: Stream) -> Self {
        let kind = match *config {
            ApplicationConfig::Bulk {} => Kind::Bulk { block_left: BLOCK_BYTES },
            ApplicationConfig::Sized { bytes } => Kind::Sized { to_write: bytes, to_read: bytes },
            ApplicationConfig::OnOff { on, off, distribution } => {
                Kind::OnOff { on, off, distribution, stream, is_on: false, block_left: BLOCK_BYTES }
            }
            ApplicationConfig::RequestResponse { request_bytes, response_bytes, think, count } => {
                Kind::RequestResponse(RequestResponse {
                    request_bytes,
                    response_bytes,
                    think,
                    requests_left: count,
                    request_to_write: 0,
                    request_to_read: request_bytes,
                    response_to_write: 0,
                    response_to_read: 0,
                })
            }
            ApplicationConfig::Paced { bits_per_sec, write_bytes } => {
                let began = Time::NEVER;
                Kind::Paced { bits_per_sec, write_bytes, began, writes: 0, to_write: 0 }
            }
            ApplicationConfig::WindowedFile { request_bytes, outstanding, total_bytes } => {
                let file_bytes = total_bytes.unwrap_or(u64::MAX);
                Kind::WindowedFile(WindowedFile {
                    block_bytes: request_bytes,
                    file_left: file_bytes,
                    credit: outstanding,
                    block_to_write: 0,
                    file_to_read: file_bytes,
                    block_to_read: request_bytes.min(file_bytes),
                    replies_to_write: 0,
                    reply_to_read: REPLY_BYTES,
                })
            }
        };
        Self {
            kind,
            wake: Time::NEVER,
            is_complete: false,
            has_closed: false,
            has_closed_receiver: false,
        }
    }

    /// When it next wants to act without input.
    #[inline]
    pub fn wake_time(&self) -> Time {
        self.wake
    }

    /// Whether its transfer is complete: the receiver has read the last byte.
    #[inline]
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Whether the receiver of the data opens the connection.
    pub fn is_opened_by_receiver(&self) -> bool {
        matches!(self.kind, Kind::RequestResponse(_))
    }

    /// The sender's connection is established.
    pub fn handle_sender_established(&mut self, now: Time) {
        match &mut self.kind {
            Kind::OnOff { on, distribution, stream, is_on, .. } => {
                *is_on = true;
                self.wake = now + draw(*on, *distribution, stream);
            }
            Kind::Paced { began, .. } => {
                *began = now;
                self.wake = now;
            }
            _ => {}
        }
    }

    /// The receiver's connection is established.
    pub fn handle_receiver_established(&mut self) {
        if let Kind::RequestResponse(exchange) = &mut self.kind {
            exchange.begin_request();
        }
    }

    /// The time that the application asked for has come.
    pub fn handle_wake(&mut self, now: Time) {
        self.wake = Time::NEVER;
        match &mut self.kind {
            Kind::OnOff { on, off, distribution, stream, is_on, .. } => {
                *is_on = !*is_on;
                let mean = if *is_on { *on } else { *off };
                self.wake = now + draw(mean, *distribution, stream);
            }
            Kind::Paced { bits_per_sec, write_bytes, began, writes, to_write } => {
                *to_write += *write_bytes;
                *writes += 1;
                let bits = u128::from(*writes) * u128::from(*write_bytes) * 8;
                let nanos = (bits * 1_000_000_000).div_ceil(u128::from(*bits_per_sec));
                let after = Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
                self.wake = (*began + after).max(now + Duration::from_nanos(1));
            }
            Kind::RequestResponse(exchange) => exchange.begin_request(),
            _ => {}
        }
    }

    /// Reads and writes at the sender of the data.
    #[inline(always)]
    pub fn act_at_sender<C: Connection>(&mut self, now: Time, sender: &mut C) {
        if let Kind::Bulk { block_left } = &mut self.kind {
            if !self.has_closed {
                write_blocks(now, sender, block_left);
            }
            return;
        }
        self.act_at_sender_slow(now, sender);
    }

    #[inline(never)]
    fn act_at_sender_slow<C: Connection>(&mut self, now: Time, sender: &mut C) {
        let read = sender.read(now);
        let mut wants_close = false;
        match &mut self.kind {
            Kind::Bulk { .. } => {}
            Kind::Sized { to_write, .. } => {
                write_up_to(now, sender, to_write);
                wants_close = *to_write == 0;
            }
            Kind::OnOff { is_on, block_left, .. } => {
                if *is_on {
                    write_blocks(now, sender, block_left);
                }
            }
            Kind::Paced { to_write, .. } => {
                write_up_to(now, sender, to_write);
            }
            Kind::RequestResponse(exchange) => {
                exchange.handle_request_bytes(read);
                write_up_to(now, sender, &mut exchange.response_to_write);
                wants_close = sender.peer_has_finished() && exchange.response_to_write == 0;
            }
            Kind::WindowedFile(file) => {
                file.handle_reply_bytes(read);
                file.write(now, sender);
                wants_close = file.file_left == 0 && file.block_to_write == 0;
            }
        }
        if wants_close && !self.has_closed {
            self.has_closed = true;
            sender.close(now);
        }
    }

    /// Reads and writes at the receiver of the data. Answers how many bytes it read.
    #[inline(always)]
    pub fn act_at_receiver<C: Connection>(&mut self, now: Time, receiver: &mut C) -> u64 {
        let read = receiver.read(now);
        if !matches!(self.kind, Kind::Bulk { .. }) {
            self.handle_read(now, read, receiver);
        }
        let is_over = receiver.peer_has_finished() || self.is_complete;
        if is_over && !self.has_closed_receiver {
            self.has_closed_receiver = true;
            receiver.close(now);
        }
        read
    }

    /// The receiver has read some bytes of data, or none.
    fn handle_read<C: Connection>(&mut self, now: Time, read: u64, receiver: &mut C) {
        match &mut self.kind {
            Kind::Bulk { .. } | Kind::OnOff { .. } | Kind::Paced { .. } => {}
            Kind::Sized { to_read, .. } => {
                *to_read -= read.min(*to_read);
                self.is_complete = *to_read == 0;
            }
            Kind::RequestResponse(exchange) => {
                if exchange.handle_response_bytes(read) {
                    if exchange.requests_left == Some(0) {
                        self.is_complete = true;
                    } else if exchange.think == Duration::ZERO {
                        exchange.begin_request();
                    } else {
                        self.wake = now + exchange.think;
                    }
                }
                write_up_to(now, receiver, &mut exchange.request_to_write);
            }
            Kind::WindowedFile(file) => {
                file.handle_file_bytes(read);
                self.is_complete = file.file_to_read == 0;
                write_up_to(now, receiver, &mut file.replies_to_write);
            }
        }
    }

    /// Ends the application: nothing more is written, and the sender closes.
    pub fn stop<C: Connection>(&mut self, now: Time, sender: &mut C) {
        self.wake = Time::NEVER;
        match &mut self.kind {
            Kind::OnOff { is_on, .. } => *is_on = false,
            Kind::Sized { to_write, .. } | Kind::Paced { to_write, .. } => *to_write = 0,
            Kind::RequestResponse(exchange) => {
                exchange.requests_left = Some(0);
                exchange.response_to_write = 0;
            }
            Kind::WindowedFile(file) => {
                file.file_left = 0;
                file.block_to_write = 0;
            }
            Kind::Bulk { .. } => {}
        }
        if !self.has_closed {
            self.has_closed = true;
            sender.close(now);
        }
    }
}

impl RequestResponse {
    fn begin_request(&mut self) {
        if let Some(left) = &mut self.requests_left {
            if *left == 0 {
                return;
            }
            *left -= 1;
        }
        self.request_to_write += self.request_bytes;
        self.response_to_read = self.response_bytes;
    }

    fn handle_request_bytes(&mut self, mut read: u64) {
        while read >= self.request_to_read {
            read -= self.request_to_read;
            self.request_to_read = self.request_bytes;
            self.response_to_write += self.response_bytes;
        }
        self.request_to_read -= read;
    }

    /// Whether a response is complete.
    fn handle_response_bytes(&mut self, read: u64) -> bool {
        if read == 0 || self.response_to_read == 0 {
            return false;
        }
        self.response_to_read -= read.min(self.response_to_read);
        self.response_to_read == 0
    }
}

impl WindowedFile {
    fn write<C: Connection>(&mut self, now: Time, sender: &mut C) {
        loop {
            if self.block_to_write == 0 {
                if self.credit == 0 || self.file_left == 0 {
                    return;
                }
                self.credit -= 1;
                self.block_to_write = self.block_bytes.min(self.file_left);
                if self.file_left != u64::MAX {
                    self.file_left -= self.block_to_write;
                }
            }
            write_up_to(now, sender, &mut self.block_to_write);
            if self.block_to_write > 0 {
                return;
            }
        }
    }

    fn handle_reply_bytes(&mut self, mut read: u64) {
        while read >= self.reply_to_read {
            read -= self.reply_to_read;
            self.reply_to_read = REPLY_BYTES;
            self.credit += 1;
        }
        self.reply_to_read -= read;
    }

    fn handle_file_bytes(&mut self, mut read: u64) {
        if self.file_to_read != u64::MAX {
            read = read.min(self.file_to_read);
            self.file_to_read -= read;
        }
        while self.block_to_read > 0 && read >= self.block_to_read {
            read -= self.block_to_read;
            self.replies_to_write += REPLY_BYTES;
            self.block_to_read = self.block_bytes.min(self.file_to_read.saturating_add(read));
        }
        self.block_to_read -= read;
    }
}

/// Writes whole blocks until the socket takes no more.
#[inline]
fn write_blocks<C: Connection>(now: Time, connection: &mut C, block_left: &mut u64) {
    loop {
        let written = connection.write(now, *block_left);
        if written == 0 {
            break;
        }
        *block_left -= written;
        if *block_left == 0 {
            *block_left = BLOCK_BYTES;
        }
    }
}

/// Writes what the socket takes of a message.
fn write_up_to<C: Connection>(now: Time, connection: &mut C, to_write: &mut u64) {
    while *to_write > 0 {
        let written = connection.write(now, (*to_write).min(BLOCK_BYTES));
        if written == 0 {
            break;
        }
        *to_write -= written;
    }
}

/// A time with the given mean, at least a nanosecond.
fn draw(mean: Duration, distribution: Distribution, stream: &mut Stream) -> Duration {
    let mean_nanos = mean.as_nanos() as f64;
    let nanos = match distribution {
        Distribution::Fixed => return mean,
        Distribution::Exponential => stream.exponential(mean_nanos),
        Distribution::Pareto => {
            let least = mean_nanos * (PARETO_SHAPE - 1.0) / PARETO_SHAPE;
            least / libm::pow(1.0 - stream.unit(), 1.0 / PARETO_SHAPE)
        }
    };
    Duration::from_nanos((nanos as u64).max(1))
}
