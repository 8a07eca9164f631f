//! Applications, which produce and consume the data of a flow; each is a small state machine
//! without a clock.
//!
//! An application acts at both ends of its flow: at the *sender* and at the *receiver* of the
//! data. It acts after its end of the connection has received a segment, and at the times that it
//! requested. Both ends immediately read all data that have arrived. Only the amount of data is
//! modelled, not their content. The connection can be an endpoint of the simulator or a socket of
//! the kernel.

use cwndlab_units::{Duration, Stream, Time};

mod config;
mod connection;
mod datagrams;
mod outcome;
mod probe;
mod request_response;
mod requests;
mod sftp;
mod times;
mod video;
mod web;

pub use config::{ApplicationConfig, Distribution};
pub use connection::Connection;
use connection::{BLOCK_BYTES, HTTP_ANSWER_BYTES, HTTP_REQUEST_BYTES, write_up_to};
pub use datagrams::Datagram;
use datagrams::Datagrams;
pub use outcome::Outcome;
use probe::{Probe, Schedule};
use request_response::RequestResponse;
use sftp::{Download, Upload};
use times::{Times, geometric_mean, percentile};
use video::Video;
use web::{Page, Web};

/// Shape of the Pareto-distributed on and off times: finite mean, infinite variance, as in ns-2.
const PARETO_SHAPE: f64 = 1.5;

/// A running application.
#[derive(Debug)]
pub struct Application {
    kind: Kind,
    /// Time at which the application next acts without input.
    wake: Time,
    /// Whether the transfer is complete, which means that the receiver has read the last byte.
    is_complete: bool,
    /// Whether the application has closed the sender's side.
    has_closed: bool,
    /// Whether the application has closed the receiver's side.
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
        bulk_for: Duration,
        began: Time,
        writes: u64,
        to_write: u64,
    },
    Probe(Probe),
    Upload(Upload),
    Download(Download),
    Web(Web),
    Video(Video),
    Datagrams(Datagrams),
}

impl Application {
    /// Creates the application of a flow with its own stream of random numbers.
    pub fn new(config: &ApplicationConfig, stream: Stream) -> Self {
        let kind = match *config {
            ApplicationConfig::Bulk {} => Kind::Bulk { block_left: BLOCK_BYTES },
            ApplicationConfig::Sized { bytes } => Kind::Sized { to_write: bytes, to_read: bytes },
            ApplicationConfig::OnOff { on, off, distribution } => {
                Kind::OnOff { on, off, distribution, stream, is_on: false, block_left: BLOCK_BYTES }
            }
            ApplicationConfig::RequestResponse { request_bytes, response_bytes, think, count } => {
                let exchange = RequestResponse::new(request_bytes, response_bytes, think, count);
                Kind::RequestResponse(exchange)
            }
            ApplicationConfig::Paced { bits_per_sec, write_bytes, bulk_for } => {
                let began = Time::NEVER;
                Kind::Paced { bits_per_sec, write_bytes, bulk_for, began, writes: 0, to_write: 0 }
            }
            ApplicationConfig::Probe { bulk_for, pause, bits_per_sec, doubling } => {
                let schedule = Schedule { bits_per_sec, doubling, bulk_for, pause };
                Kind::Probe(Probe::new(schedule))
            }
            ApplicationConfig::WindowedFile { request_bytes, outstanding, total_bytes } => {
                let file_bytes = total_bytes.unwrap_or(u64::MAX);
                let reply_bytes = sftp::STATUS_BYTES;
                Kind::Upload(Upload::new(file_bytes, request_bytes, outstanding, reply_bytes))
            }
            ApplicationConfig::Http { bytes, chunk_bytes, is_upload: true } => {
                let chunk_bytes = chunk_bytes.unwrap_or(bytes);
                Kind::Upload(Upload::new(bytes, chunk_bytes, 1, HTTP_ANSWER_BYTES))
            }
            ApplicationConfig::Http { bytes, is_upload: false, .. } => {
                let answer_bytes = HTTP_ANSWER_BYTES + bytes;
                Kind::RequestResponse(RequestResponse::new(
                    HTTP_REQUEST_BYTES,
                    answer_bytes,
                    Duration::ZERO,
                    Some(1),
                ))
            }
            ApplicationConfig::Sftp { bytes, request_bytes, outstanding, is_upload: true } => {
                let reply_bytes = sftp::STATUS_BYTES;
                Kind::Upload(Upload::new(bytes, request_bytes, outstanding, reply_bytes))
            }
            ApplicationConfig::Sftp { bytes, request_bytes, outstanding, is_upload: false } => {
                Kind::Download(Download::new(bytes, request_bytes, outstanding))
            }
            ApplicationConfig::Web {
                document_bytes,
                objects,
                object_bytes,
                parse,
                think,
                count,
            } => {
                let page = Page { document_bytes, objects, object_bytes, parse, think };
                Kind::Web(Web::new(page, count))
            }
            ApplicationConfig::Video { ref rungs_bits_per_sec, chunk, buffer } => {
                Kind::Video(Video::new(rungs_bits_per_sec.clone(), chunk, buffer))
            }
            ApplicationConfig::Datagrams { bytes, interval } => {
                Kind::Datagrams(Datagrams::new(bytes, interval))
            }
        };
        // Datagrams have no connection to close.
        let is_unconnected = matches!(kind, Kind::Datagrams(_));
        Self {
            kind,
            wake: Time::NEVER,
            is_complete: false,
            has_closed: is_unconnected,
            has_closed_receiver: is_unconnected,
        }
    }

    /// Time at which the application next acts without input.
    #[inline]
    pub fn wake_time(&self) -> Time {
        self.wake
    }

    /// Whether the transfer is complete, which means that the receiver has read the last byte.
    #[inline]
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Whether the receiver of the data opens the connection.
    pub fn is_opened_by_receiver(&self) -> bool {
        matches!(
            self.kind,
            Kind::RequestResponse(_) | Kind::Download(_) | Kind::Web(_) | Kind::Video(_)
        )
    }

    /// Whether the application at the receiver only reads until the sender has closed the
    /// connection.
    #[inline]
    pub fn only_reads(&self) -> bool {
        matches!(
            self.kind,
            Kind::Bulk { .. } | Kind::OnOff { .. } | Kind::Paced { .. } | Kind::Probe(_)
        )
    }

    /// Whether the application sends datagrams without a connection.
    pub fn is_of_datagrams(&self) -> bool {
        matches!(self.kind, Kind::Datagrams(_))
    }

    /// Removes and returns the datagram that is due now.
    pub fn take_datagram(&mut self) -> Option<Datagram> {
        match &mut self.kind {
            Kind::Datagrams(call) => call.take(),
            _ => None,
        }
    }

    /// Handles the arrival of the datagram with this number at the receiver.
    pub fn handle_datagram(&mut self, now: Time, number: u32) {
        if let Kind::Datagrams(call) = &mut self.kind {
            call.handle_arrival(now, number);
        }
    }

    /// The application's results from the user's point of view, in the window from `from` to
    /// `until`, for a flow that started at `start`.
    pub fn outcome(&self, start: Time, from: Time, until: Time) -> Outcome {
        match &self.kind {
            Kind::RequestResponse(exchange) => outcome_of(&exchange.responses, from, until),
            Kind::Web(web) => outcome_of(&web.pages, from, until),
            Kind::Video(video) => {
                let seen = video.seen(from, until);
                Outcome {
                    video_bitrate_mbit_s: seen.bitrate_mbit_s,
                    video_rebuffering_pct: seen.rebuffering_pct,
                    video_startup_ms: seen.began_at.map(|at| (at - start).as_millis_f64()),
                    ..Outcome::default()
                }
            }
            Kind::Datagrams(call) => {
                let (loss_pct, delay_p95_ms) = call.loss_pct_and_delay_p95_ms(from, until);
                Outcome {
                    datagram_loss_pct: loss_pct,
                    datagram_delay_p95_ms: delay_p95_ms,
                    ..Outcome::default()
                }
            }
            _ => Outcome::default(),
        }
    }

    /// Handles the event that the sender's connection is established.
    pub fn handle_sender_established(&mut self, now: Time) {
        match &mut self.kind {
            Kind::OnOff { on, distribution, stream, is_on, .. } => {
                *is_on = true;
                self.wake = now + draw(*on, *distribution, stream);
            }
            Kind::Paced { bulk_for, began, to_write, .. } => {
                *began = now + *bulk_for;
                *to_write = if *bulk_for > Duration::ZERO { u64::MAX } else { 0 };
                self.wake = *began;
            }
            Kind::Probe(probe) => {
                probe.begin(now);
                self.wake = now;
            }
            Kind::Datagrams(call) => {
                call.begin(now);
                self.wake = now;
            }
            _ => {}
        }
    }

    /// Handles the event that the receiver's connection is established.
    pub fn handle_receiver_established(&mut self, now: Time) {
        match &mut self.kind {
            Kind::RequestResponse(exchange) => exchange.begin_request(now),
            Kind::Download(file) => file.begin(),
            Kind::Web(web) => web.ask(now),
            Kind::Video(video) => video.begin(now),
            _ => {}
        }
    }

    /// Handles the passing of a time that the application requested.
    pub fn handle_wake(&mut self, now: Time) {
        self.wake = Time::NEVER;
        match &mut self.kind {
            Kind::OnOff { on, off, distribution, stream, is_on, .. } => {
                *is_on = !*is_on;
                let mean = if *is_on { *on } else { *off };
                self.wake = now + draw(mean, *distribution, stream);
            }
            Kind::Paced { bits_per_sec, write_bytes, began, writes, to_write, bulk_for: _ } => {
                // unwritten data of the bulk phase are discarded
                *to_write = if *writes == 0 { *write_bytes } else { *to_write + *write_bytes };
                *writes += 1;
                let bits = u128::from(*writes) * u128::from(*write_bytes) * 8;
                let nanos = (bits * 1_000_000_000).div_ceil(u128::from(*bits_per_sec));
                let after = Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
                self.wake = (*began + after).max(now + Duration::from_nanos(1));
            }
            Kind::Probe(probe) => self.wake = probe.handle_wake(now),
            Kind::RequestResponse(exchange) => exchange.begin_request(now),
            Kind::Web(web) => web.ask(now),
            Kind::Video(video) => video.handle_room(now),
            Kind::Datagrams(call) => self.wake = call.handle_wake(),
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
            Kind::Bulk { .. } | Kind::Datagrams(_) => {}
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
            Kind::Probe(probe) => {
                write_up_to(now, sender, &mut probe.to_write);
            }
            Kind::RequestResponse(exchange) => {
                exchange.handle_request_bytes(read);
                write_up_to(now, sender, &mut exchange.response_to_write);
                wants_close = sender.peer_has_finished() && exchange.response_to_write == 0;
            }
            Kind::Upload(file) => wants_close = file.act_at_sender(now, read, sender),
            Kind::Download(file) => wants_close = file.act_at_sender(now, read, sender),
            Kind::Web(web) => {
                let has_answered = web.act_at_sender(now, read, sender);
                wants_close = has_answered && sender.peer_has_finished();
            }
            Kind::Video(video) => {
                let has_answered = video.act_at_sender(now, read, sender);
                wants_close = has_answered && sender.peer_has_finished();
            }
        }
        if wants_close && !self.has_closed {
            self.has_closed = true;
            sender.close(now);
        }
    }

    /// Reads and writes at the receiver of the data, and returns the number of bytes read.
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

    /// Handles data that the receiver has read, possibly 0 bytes.
    fn handle_read<C: Connection>(&mut self, now: Time, read: u64, receiver: &mut C) {
        match &mut self.kind {
            Kind::Bulk { .. }
            | Kind::OnOff { .. }
            | Kind::Paced { .. }
            | Kind::Probe(_)
            | Kind::Datagrams(_) => {}
            Kind::Sized { to_read, .. } => {
                *to_read -= read.min(*to_read);
                self.is_complete = *to_read == 0;
            }
            Kind::RequestResponse(exchange) => {
                if exchange.handle_response_bytes(now, read) {
                    if exchange.requests_left == Some(0) {
                        self.is_complete = true;
                    } else if exchange.think == Duration::ZERO {
                        exchange.begin_request(now);
                    } else {
                        self.wake = now + exchange.think;
                    }
                }
                write_up_to(now, receiver, &mut exchange.request_to_write);
            }
            Kind::Upload(file) => self.is_complete = file.act_at_receiver(now, read, receiver),
            Kind::Download(file) => self.is_complete = file.act_at_receiver(now, read, receiver),
            Kind::Web(web) => {
                self.wake = web.act_at_receiver(now, read, receiver).unwrap_or(self.wake);
                self.is_complete = web.is_complete();
            }
            Kind::Video(video) => {
                self.wake = video.act_at_receiver(now, read, receiver).unwrap_or(self.wake);
            }
        }
    }

    /// Ends the application: the sender writes no more data and closes the connection.
    pub fn stop<C: Connection>(&mut self, now: Time, sender: &mut C) {
        self.wake = Time::NEVER;
        match &mut self.kind {
            Kind::OnOff { is_on, .. } => *is_on = false,
            Kind::Sized { to_write, .. } | Kind::Paced { to_write, .. } => *to_write = 0,
            Kind::Probe(probe) => probe.to_write = 0,
            Kind::RequestResponse(exchange) => {
                exchange.requests_left = Some(0);
                exchange.response_to_write = 0;
            }
            Kind::Upload(file) => file.stop(),
            Kind::Download(file) => file.stop(),
            Kind::Web(web) => web.stop(),
            Kind::Video(video) => video.stop(),
            Kind::Bulk { .. } | Kind::Datagrams(_) => {}
        }
        if !self.has_closed {
            self.has_closed = true;
            sender.close(now);
        }
    }
}

/// Results of an application that sends requests.
fn outcome_of(times: &Times, from: Time, until: Time) -> Outcome {
    let sorted_ms = times.sorted_ms(from, until);
    Outcome {
        responses: Some(sorted_ms.len() as u64),
        response_p50_ms: percentile(&sorted_ms, 50.0),
        response_p95_ms: percentile(&sorted_ms, 95.0),
        response_p99_ms: percentile(&sorted_ms, 99.0),
        response_geometric_mean_ms: geometric_mean(&sorted_ms),
        ..Outcome::default()
    }
}

/// Writes whole blocks until the socket has no more room.
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

/// Draws a time with the given mean, at least one nanosecond.
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
