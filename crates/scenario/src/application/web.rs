//! Web pages over one connection: a document, then all its objects at once.
//!
//! Like a browser with HTTP/2 (RFC 9113): the client requests the document, reads all of it, takes
//! some time to parse it, and requests all its objects together; the server responds in order. The
//! page is complete with the last byte. Left out: other hosts and connections, objects that refer
//! to further objects, priorities, header compression.

use cwndlab_units::{Duration, Time};

use super::connection::{Connection, HTTP_ANSWER_BYTES, HTTP_REQUEST_BYTES, write_up_to};
use super::requests::Requests;
use super::times::Times;

/// A page's parts, each without its response header.
#[derive(Clone, Copy, Debug)]
pub(super) struct Page {
    pub(super) document_bytes: u64,
    pub(super) objects: u64,
    pub(super) object_bytes: u64,
    /// Time from the document's last byte to the requests for its objects.
    pub(super) parse: Duration,
    /// Time from a page's last byte to the next page.
    pub(super) think: Duration,
}

/// A browser and its server.
#[derive(Debug)]
pub(super) struct Web {
    page: Page,
    pages_left: Option<u64>,
    /// At the server: requests, objects to be requested before the next document, and bytes of
    /// responses not yet written.
    requests: Requests,
    objects_to_answer: u64,
    answers_to_write: u64,
    /// At the client: bytes of requests not yet written, and the part that it is reading.
    requests_to_write: u64,
    waits_for: Part,
    part_to_read: u64,
    page_began: Time,
    /// Times from each page's first request to its last byte.
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

    /// Requests a new page's document, or the objects of the current document.
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

    /// Handles requests that the server has read. Returns whether it has written all responses.
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

    /// Handles data that the client has read. Returns when it next acts by itself, if it does.
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

    /// Handles a complete document or complete objects.
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

    /// Whether every page has been read.
    pub(super) fn is_complete(&self) -> bool {
        self.pages_left == Some(0) && self.waits_for == Part::Objects && self.part_to_read == 0
    }

    /// Stops requesting and writing.
    pub(super) fn stop(&mut self) {
        self.pages_left = Some(0);
        self.answers_to_write = 0;
    }
}
