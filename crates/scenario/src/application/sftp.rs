//! Files in blocks with a response to each block: SFTP clients, and uploads in chunks over HTTP.
//!
//! A client limits the number of outstanding blocks: it writes this many blocks before the
//! server's status messages arrive, or requests this many before the data arrive. Only data are
//! counted; the sizes of messages matter only in the opposite direction. The model leaves out the
//! key exchange before a session, the window of the SSH channel (2 MiB in OpenSSH, as much as its
//! client keeps outstanding), the headers of blocks (0.2 %), and the initial phase of OpenSSH's
//! client, which starts with one request and adds one with every response.

use cwndlab_units::Time;

use super::connection::{Connection, write_up_to};
use super::requests::Requests;

/// Size of the acknowledgement of a block: a status message (draft-ietf-secsh-filexfer-02 section
/// 7) with an empty text, in an SSH packet with cipher and MAC.
pub(super) const STATUS_BYTES: u64 = 52;
/// Size of a request for a block: a read (draft-ietf-secsh-filexfer-02 section 6.4) with a handle
/// of four bytes, in an SSH packet with cipher and MAC.
const READ_BYTES: u64 = 68;

/// A file that the sender writes in blocks; the receiver acknowledges each block.
#[derive(Debug)]
pub(super) struct Upload {
    block_bytes: u64,
    reply_bytes: u64,
    /// Bytes of the file that are not assigned to a block yet; `u64::MAX` for an unlimited file.
    file_left: u64,
    /// Number of further blocks that the client may start.
    credit: u64,
    block_to_write: u64,
    /// Bytes of the whole file that the receiver has not read yet.
    file_to_read: u64,
    /// Bytes of the current block that the receiver has not read yet.
    block_to_read: u64,
    replies_to_write: u64,
    reply_to_read: u64,
}

impl Upload {
    pub(super) fn new(
        file_bytes: u64,
        block_bytes: u64,
        outstanding: u64,
        reply_bytes: u64,
    ) -> Self {
        Self {
            block_bytes,
            reply_bytes,
            file_left: file_bytes,
            credit: outstanding,
            block_to_write: 0,
            file_to_read: file_bytes,
            block_to_read: block_bytes.min(file_bytes),
            replies_to_write: 0,
            reply_to_read: reply_bytes,
        }
    }

    /// Handles acknowledgements that the client has read. Returns whether the client has written
    /// the whole file.
    pub(super) fn act_at_sender<C: Connection>(
        &mut self,
        now: Time,
        read: u64,
        sender: &mut C,
    ) -> bool {
        self.handle_reply_bytes(read);
        self.write(now, sender);
        self.file_left == 0 && self.block_to_write == 0
    }

    /// Handles data that the server has read. Returns whether the file is complete.
    pub(super) fn act_at_receiver<C: Connection>(
        &mut self,
        now: Time,
        read: u64,
        receiver: &mut C,
    ) -> bool {
        self.handle_file_bytes(read);
        write_up_to(now, receiver, &mut self.replies_to_write);
        self.file_to_read == 0
    }

    /// Stops writing.
    pub(super) fn stop(&mut self) {
        self.file_left = 0;
        self.block_to_write = 0;
    }

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
            self.reply_to_read = self.reply_bytes;
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
            self.replies_to_write += self.reply_bytes;
            self.block_to_read = self.block_bytes.min(self.file_to_read.saturating_add(read));
        }
        self.block_to_read -= read;
    }
}

/// A file that the receiver requests in blocks.
#[derive(Debug)]
pub(super) struct Download {
    block_bytes: u64,
    outstanding: u64,
    /// Bytes of the file that the client has not requested yet.
    file_to_ask: u64,
    requests_to_write: u64,
    /// Requests that the server has received.
    requests: Requests,
    /// Bytes of the file that are not assigned to a response yet.
    file_left: u64,
    /// Bytes of responses that the server has not written yet.
    answers_to_write: u64,
    /// Bytes of the whole file that the client has not read yet.
    file_to_read: u64,
    /// Bytes of the current block that the client has not read yet.
    block_to_read: u64,
}

impl Download {
    pub(super) fn new(file_bytes: u64, block_bytes: u64, outstanding: u64) -> Self {
        Self {
            block_bytes,
            outstanding,
            file_to_ask: file_bytes,
            requests_to_write: 0,
            requests: Requests::new(READ_BYTES),
            file_left: file_bytes,
            answers_to_write: 0,
            file_to_read: file_bytes,
            block_to_read: block_bytes.min(file_bytes),
        }
    }

    /// Requests as many blocks as the limit allows, after the client has connected.
    pub(super) fn begin(&mut self) {
        for _ in 0..self.outstanding {
            self.ask();
        }
    }

    /// Handles requests that the server has read. Returns whether the server has written the whole
    /// file.
    pub(super) fn act_at_sender<C: Connection>(
        &mut self,
        now: Time,
        read: u64,
        sender: &mut C,
    ) -> bool {
        for _ in 0..self.requests.read(read) {
            let block = self.block_bytes.min(self.file_left);
            self.file_left -= block;
            self.answers_to_write += block;
        }
        write_up_to(now, sender, &mut self.answers_to_write);
        self.file_left == 0 && self.answers_to_write == 0
    }

    /// Handles data that the client has read. Returns whether the file is complete.
    pub(super) fn act_at_receiver<C: Connection>(
        &mut self,
        now: Time,
        read: u64,
        receiver: &mut C,
    ) -> bool {
        let mut read = read.min(self.file_to_read);
        self.file_to_read -= read;
        while self.block_to_read > 0 && read >= self.block_to_read {
            read -= self.block_to_read;
            self.block_to_read = self.block_bytes.min(self.file_to_read + read);
            self.ask();
        }
        self.block_to_read -= read;
        write_up_to(now, receiver, &mut self.requests_to_write);
        self.file_to_read == 0
    }

    /// Stops writing.
    pub(super) fn stop(&mut self) {
        self.file_left = 0;
        self.answers_to_write = 0;
    }

    fn ask(&mut self) {
        let block = self.block_bytes.min(self.file_to_ask);
        if block > 0 {
            self.file_to_ask -= block;
            self.requests_to_write += READ_BYTES;
        }
    }
}
