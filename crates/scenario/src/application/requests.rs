//! Requests of equal size that a server reads from a byte stream.

/// A server's position in a sequence of requests.
#[derive(Debug)]
pub(super) struct Requests {
    each_bytes: u64,
    /// Bytes of the current request that have not arrived yet.
    missing_bytes: u64,
}

impl Requests {
    /// Creates a sequence of requests of this size.
    pub(super) fn new(each_bytes: u64) -> Self {
        Self { each_bytes, missing_bytes: each_bytes }
    }

    /// Counts the requests that these bytes complete.
    pub(super) fn read(&mut self, mut bytes: u64) -> u64 {
        let mut complete = 0;
        while bytes >= self.missing_bytes {
            bytes -= self.missing_bytes;
            self.missing_bytes = self.each_bytes;
            complete += 1;
        }
        self.missing_bytes -= bytes;
        complete
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_complete_with_its_last_byte() {
        let mut requests = Requests::new(100);
        assert_eq!([99, 1, 250, 49, 1].map(|bytes| requests.read(bytes)), [0, 1, 2, 0, 1]);
    }
}
