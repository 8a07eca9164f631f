//! An application that sends one request after the other on one connection.

use cwndlab_units::{Duration, Time};

use super::requests::Requests;
use super::times::Times;

/// An application with one outstanding request at a time; all responses have the same size.
#[derive(Debug)]
pub(super) struct RequestResponse {
    pub(super) request_bytes: u64,
    pub(super) response_bytes: u64,
    pub(super) think: Duration,
    pub(super) requests_left: Option<u64>,
    pub(super) request_to_write: u64,
    requests: Requests,
    pub(super) response_to_write: u64,
    pub(super) response_to_read: u64,
    asked_at: Time,
    /// For each request, the time until the last byte of its response.
    pub(super) responses: Times,
}

impl RequestResponse {
    pub(super) fn new(
        request_bytes: u64,
        response_bytes: u64,
        think: Duration,
        requests_left: Option<u64>,
    ) -> Self {
        Self {
            request_bytes,
            response_bytes,
            think,
            requests_left,
            request_to_write: 0,
            requests: Requests::new(request_bytes),
            response_to_write: 0,
            response_to_read: 0,
            asked_at: Time::ZERO,
            responses: Times::default(),
        }
    }

    pub(super) fn begin_request(&mut self, now: Time) {
        if let Some(left) = &mut self.requests_left {
            if *left == 0 {
                return;
            }
            *left -= 1;
        }
        self.request_to_write += self.request_bytes;
        self.response_to_read = self.response_bytes;
        self.asked_at = now;
    }

    pub(super) fn handle_request_bytes(&mut self, read: u64) {
        self.response_to_write += self.requests.read(read) * self.response_bytes;
    }

    /// Counts received bytes of a response, and returns whether the response is complete.
    pub(super) fn handle_response_bytes(&mut self, now: Time, read: u64) -> bool {
        if read == 0 || self.response_to_read == 0 {
            return false;
        }
        self.response_to_read -= read.min(self.response_to_read);
        if self.response_to_read == 0 {
            self.responses.push(now, now - self.asked_at);
        }
        self.response_to_read == 0
    }
}
