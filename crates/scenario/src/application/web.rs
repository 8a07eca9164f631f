//! Web pages over one connection: the client loads a document and then all objects of the document
//! at once.
//!
//! The client acts like a browser with HTTP/2 (RFC 9113): it requests the document, reads all of
//! it, takes some time to parse it, and requests all its objects together. The server responds in
//! order, and the page is complete with the last byte. The model leaves out other hosts and
//! connections, objects that refer to further objects, priorities, and header compression.

use cwndlab_units::{Duration, Time};

use super::connection::{Connection, HTTP_ANSWER_BYTES, HTTP_REQUEST_BYTES, write_up_to};
use super::requests::Requests;
use super::times::Times;

/// Sizes of the parts of a web page, without their response headers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Page {
    pub(super) document_bytes: u64,
    pub(super) objects: u64,
    pub(super) object_bytes: u64,
    /// Time from the last byte of the document to the requests for its objects.
    pub(super) parse: Duration,
    /// Time from the last byte of a page to the request for the next page.
    pub(super) think: Duration,
}

/// A browser and its server.
#[derive(Debug)]
pub(super) struct Web {
    page: Page,
    pages_left: Option<u64>,
    /// Requests that the server has received.
    requests: Requests,
    /// Number of objects that the client will request before the next document.
    objects_to_answer: u64,
    /// Bytes of responses that the server has not written yet.
    answers_to_write: u64,
    /// Bytes of requests that the client has not written yet.
    requests_to_write: u64,
    /// The part of a page that the client is reading.
    waits_for: Part,
    part_to_read: u64,
    page_began: Time,
    /// For each page, the time from its first request to its last byte.
    pub(super) pages: Times,
}

/// The part of a page that the client is reading or has read last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Part {
    Document,
    Objects,
}

impl Web {
    pub(super) fn new(page: Page, pages: Option<u64>) -> Self {
        Self {
            page,
            pages_left: pages,
            requests: Requests::new(HTTP_REQUEST_BYTES),
            objects_to_answer: 0,
            answers_to_write: 0,
            requests_to_write: 0,
            waits_for: Part::Objects,
            part_to_read: 0,
            page_began: Time::ZERO,
            pages: Times::default(),
        }
    }

    /// Requests the document of a new page, or the objects of the current document.
    pub(super) fn ask(&mut self, now: Time) {
        let Page { document_bytes, objects, object_bytes, .. } = self.page;
        if self.waits_for == Part::Document {
            self.waits_for = Part::Objects;
            self.requests_to_write += objects * HTTP_REQUEST_BYTES;
            self.part_to_read = objects * (HTTP_ANSWER_BYTES + object_bytes);
            return;
        }
        if let Some(left) = &mut self.pages_left {
            if *left == 0 {
                return;
            }
            *left -= 1;
        }
        self.waits_for = Part::Document;
        self.requests_to_write += HTTP_REQUEST_BYTES;
        self.part_to_read = HTTP_ANSWER_BYTES + document_bytes;
        self.page_began = now;
    }

    /// Handles requests that the server has read. Returns whether the server has written all
    /// responses.
    pub(super) fn act_at_sender<C: Connection>(
        &mut self,
        now: Time,
        read: u64,
        sender: &mut C,
    ) -> bool {
        for _ in 0..self.requests.read(read) {
            let body_bytes = if self.objects_to_answer == 0 {
                self.objects_to_answer = self.page.objects;
                self.page.document_bytes
            } else {
                self.objects_to_answer -= 1;
                self.page.object_bytes
            };
            self.answers_to_write += HTTP_ANSWER_BYTES + body_bytes;
        }
        write_up_to(now, sender, &mut self.answers_to_write);
        self.answers_to_write == 0
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
        if read > 0 && self.part_to_read > 0 {
            self.part_to_read -= read.min(self.part_to_read);
            if self.part_to_read == 0 {
                wake = self.handle_part(now);
            }
        }
        write_up_to(now, receiver, &mut self.requests_to_write);
        wake
    }

    /// Handles a complete document, or complete objects of a page.
    fn handle_part(&mut self, now: Time) -> Option<Time> {
        let has_more = self.waits_for == Part::Document && self.page.objects > 0;
        let pause = if has_more { self.page.parse } else { self.page.think };
        if !has_more {
            self.waits_for = Part::Objects;
            self.pages.push(now, now - self.page_began);
            if self.is_complete() {
                return None;
            }
        }
        if pause > Duration::ZERO {
            return Some(now + pause);
        }
        self.ask(now);
        None
    }

    /// Whether the client has read every page.
    pub(super) fn is_complete(&self) -> bool {
        self.pages_left == Some(0) && self.waits_for == Part::Objects && self.part_to_read == 0
    }

    /// The client stops sending requests, and the server stops writing.
    pub(super) fn stop(&mut self) {
        self.pages_left = Some(0);
        self.answers_to_write = 0;
    }
}
