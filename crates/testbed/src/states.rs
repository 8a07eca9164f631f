//! Records of the `TCP_INFO` of both ends of every flow, as the kernel returned it.

use std::io;

use cwndlab_units::Time;

use crate::socket::Socket;
use crate::tcp_info;

/// Consecutive records; each contains the nanoseconds since the start of the run (8 bytes), flow
/// number (4), end, which is 0 for the sender (2), length of the kernel's structure (2), and the
/// structure.
#[derive(Debug, Default)]
pub(crate) struct States {
    records: Vec<u8>,
}

impl States {
    /// Adds a record with the `TCP_INFO` of a socket.
    pub(crate) fn take(
        &mut self,
        at: Time,
        flow: u32,
        end: u16,
        socket: &Socket,
    ) -> io::Result<()> {
        let mut buffer = tcp_info::buffer();
        let state = socket.state(&mut buffer)?;
        self.records.extend(at.as_nanos().to_le_bytes());
        self.records.extend(flow.to_le_bytes());
        self.records.extend(end.to_le_bytes());
        self.records.extend((state.len() as u16).to_le_bytes());
        self.records.extend(state);
        Ok(())
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.records
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_tells_when_and_of_which_end_it_is() {
        let socket = Socket::new("reno").expect("a socket");
        let mut states = States::default();
        states.take(Time::from_nanos(7), 3, 1, &socket).expect("told");
        let bytes = states.into_bytes();
        assert_eq!(bytes[..14], [7, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 1, 0]);
        let length = usize::from(u16::from_le_bytes([bytes[14], bytes[15]]));
        assert!(length > 200, "every kernel of the last ten years tells more");
        assert_eq!(bytes.len(), 16 + length);
        assert_eq!(bytes[16], 7, "TCP_CLOSE");
    }
}
