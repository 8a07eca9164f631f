//! The configuration of an application in a scenario.

use cwndlab_units::Duration;
use serde::{Deserialize, Serialize};

use crate::error::ScenarioError;

/// The application that produces a flow's data.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum ApplicationConfig {
    /// The sender writes as much data as the connection accepts, until the end of the flow.
    Bulk {},
    /// The sender writes the given amount of data once and then closes the connection.
    Sized {
        /// Size of the transfer.
        bytes: u64,
    },
    /// The sender alternates between writing as much as possible and silence.
    OnOff {
        /// Duration of a writing period; its mean if the duration is random.
        #[serde(rename = "on_ns")]
        on: Duration,
        /// Duration of a silent period; its mean if the duration is random.
        #[serde(rename = "off_ns")]
        off: Duration,
        /// Distribution of the durations of writing and silence.
        #[serde(default)]
        distribution: Distribution,
    },
    /// The receiver of the data connects and sends requests; the sender of the data responds.
    RequestResponse {
        /// Size of a request.
        request_bytes: u64,
        /// Size of a response.
        response_bytes: u64,
        /// Time from the last byte of a response to the next request.
        #[serde(rename = "think_ns", default)]
        think: Duration,
        /// Number of requests before the connection is closed; if absent, the number is unlimited.
        #[serde(default)]
        count: Option<u64>,
    },
    /// The sender writes the same amount of data at regular intervals, after a phase in which it
    /// writes as much as possible.
    Paced {
        /// Rate at which data are written after the bulk phase.
        bits_per_sec: u64,
        /// Number of bytes in each write.
        write_bytes: u64,
        /// Duration of the bulk phase, in which the sender writes as much as possible.
        #[serde(rename = "bulk_for_ns", default)]
        bulk_for: Duration,
    },
    /// The sender writes as much as possible, pauses, and then writes data at a rate that doubles
    /// again and again until the end of the flow.
    Probe {
        /// Duration of the bulk phase before the pause.
        #[serde(rename = "bulk_for_ns")]
        bulk_for: Duration,
        /// Duration of the pause.
        #[serde(rename = "pause_ns")]
        pause: Duration,
        /// Rate of the first step of the ramp.
        bits_per_sec: u64,
        /// Duration of a step, after which the rate doubles.
        #[serde(rename = "doubling_ns")]
        doubling: Duration,
    },
    /// The sender writes blocks of a file, as SFTP clients do. The receiver acknowledges each
    /// block with an application message, and the number of unacknowledged blocks is limited.
    WindowedFile {
        /// Size of a block.
        request_bytes: u64,
        /// Maximum number of unacknowledged blocks.
        outstanding: u64,
        /// Size of the file; if absent, the file is unlimited.
        #[serde(default)]
        total_bytes: Option<u64>,
    },
    /// One file over HTTP: either requested and downloaded, or uploaded as a whole or in chunks.
    /// Each chunk waits for the response to the previous chunk.
    Http {
        /// Size of the file.
        bytes: u64,
        /// Size of a chunk of an upload; if absent, the whole file is one chunk.
        #[serde(default)]
        chunk_bytes: Option<u64>,
        /// Whether the client uploads the file; otherwise, the client opens the connection and
        /// requests the file.
        is_upload: bool,
    },
    /// One file over SFTP: the client may write or request a limited number of blocks before it
    /// receives the responses.
    Sftp {
        /// Size of the file.
        bytes: u64,
        /// Size of a block.
        request_bytes: u64,
        /// Maximum number of blocks that wait for a response.
        outstanding: u64,
        /// Whether the client uploads the file; otherwise, the client opens the connection and
        /// requests the file.
        is_upload: bool,
    },
    /// Web pages over one connection: the client loads a document and then all objects of the
    /// document at once.
    Web {
        /// Size of the document.
        document_bytes: u64,
        /// Number of objects in the document.
        objects: u64,
        /// Size of each object.
        object_bytes: u64,
        /// Time from the last byte of the document to the requests for its objects.
        #[serde(rename = "parse_ns", default)]
        parse: Duration,
        /// Time from the last byte of a page to the request for the next page.
        #[serde(rename = "think_ns", default)]
        think: Duration,
        /// Number of pages before the connection is closed; if absent, the number is unlimited.
        #[serde(default)]
        count: Option<u64>,
    },
    /// A video in chunks; the client selects the encoding rate of each chunk by the playing time
    /// in its buffer.
    Video {
        /// Encoding rates of the video, in ascending order.
        rungs_bits_per_sec: Vec<u64>,
        /// Playing time of a chunk.
        #[serde(rename = "chunk_ns")]
        chunk: Duration,
        /// Maximum playing time that the client buffers.
        #[serde(rename = "buffer_ns")]
        buffer: Duration,
    },
    /// Datagrams of equal size at equal intervals, without a connection, as in a call.
    Datagrams {
        /// Payload of each datagram.
        bytes: u32,
        /// Time from one datagram to the next.
        #[serde(rename = "interval_ns")]
        interval: Duration,
    },
}

impl Default for ApplicationConfig {
    fn default() -> Self {
        Self::Bulk {}
    }
}

/// Distribution of the duration of a period.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Distribution {
    /// Always the mean.
    #[default]
    Fixed,
    /// Exponential.
    Exponential,
    /// Pareto distribution with shape 1.5.
    Pareto,
}

impl ApplicationConfig {
    /// The distribution's name in scenarios and results.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Bulk {} => "bulk",
            Self::Sized { .. } => "sized",
            Self::OnOff { .. } => "on_off",
            Self::RequestResponse { .. } => "request_response",
            Self::Paced { .. } => "paced",
            Self::Probe { .. } => "probe",
            Self::WindowedFile { .. } => "windowed_file",
            Self::Http { .. } => "http",
            Self::Sftp { .. } => "sftp",
            Self::Web { .. } => "web",
            Self::Video { .. } => "video",
            Self::Datagrams { .. } => "datagrams",
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
            Self::Paced { bits_per_sec, write_bytes, bulk_for: _ } => {
                positive("bits_per_sec", bits_per_sec).and(positive("write_bytes", write_bytes))
            }
            Self::Probe { bits_per_sec, doubling, .. } => positive("bits_per_sec", bits_per_sec)
                .and(positive("doubling_ns", doubling.as_nanos())),
            Self::WindowedFile { request_bytes, outstanding, total_bytes } => {
                positive("request_bytes", request_bytes)
                    .and(positive("outstanding", outstanding))
                    .and(positive("total_bytes", total_bytes.unwrap_or(1)))
            }
            Self::Http { bytes, chunk_bytes, .. } => {
                positive("bytes", bytes).and(positive("chunk_bytes", chunk_bytes.unwrap_or(1)))
            }
            Self::Sftp { bytes, request_bytes, outstanding, .. } => positive("bytes", bytes)
                .and(positive("request_bytes", request_bytes))
                .and(positive("outstanding", outstanding)),
            Self::Web { document_bytes, object_bytes, count, .. } => {
                positive("document_bytes", document_bytes)
                    .and(positive("object_bytes", object_bytes))
                    .and(positive("count", count.unwrap_or(1)))
            }
            Self::Video { ref rungs_bits_per_sec, chunk, buffer } => {
                positive("chunk_ns", chunk.as_nanos())
                    .and_then(|()| check_video(path, rungs_bits_per_sec, chunk, buffer))
            }
            Self::Datagrams { bytes, interval } => positive("bytes", u64::from(bytes))
                .and(positive("interval_ns", interval.as_nanos()))
                .and_then(|()| check_datagrams(path, bytes)),
        }
    }
}

fn check_video(
    path: &str,
    rungs: &[u64],
    chunk: Duration,
    buffer: Duration,
) -> Result<(), ScenarioError> {
    let is_ladder = rungs.first().is_some_and(|&lowest| lowest > 0) && rungs.is_sorted();
    if !is_ladder {
        let place = format!("{path}.rungs_bits_per_sec");
        let message = "needs at least one rate; each must be above 0, in ascending order";
        return Err(ScenarioError::new(place, message));
    }
    // The cushion ends at nine tenths of the buffer, and a chunk must fit above it.
    if buffer.as_nanos() / 10 < chunk.as_nanos() {
        let message = format!("{buffer:?} is less than ten chunks of {chunk:?}");
        return Err(ScenarioError::new(format!("{path}.buffer_ns"), message));
    }
    Ok(())
}

/// Maximum UDP payload in an Ethernet frame with IPv4.
const MAX_DATAGRAM_BYTES: u32 = 1_472;

fn check_datagrams(path: &str, bytes: u32) -> Result<(), ScenarioError> {
    if bytes > MAX_DATAGRAM_BYTES {
        let message = format!(
            "{bytes} bytes do not fit in a packet; use at most \
            {MAX_DATAGRAM_BYTES}"
        );
        return Err(ScenarioError::new(format!("{path}.bytes"), message));
    }
    Ok(())
}
