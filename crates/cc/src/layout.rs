//! Layout of the socket, read from the table in `algorithms/port/layout.h`.

use std::ffi::{CStr, c_char};
use std::mem::{MaybeUninit, offset_of};

use crate::sock::{CA_PRIV_BYTES, InetConnectionSock, TcpSock};

/// Offset of the end of an algorithm's private state in the socket.
pub(crate) const PRIVATE_STATE_END: u64 =
    (offset_of!(InetConnectionSock, icsk_ca_priv) + CA_PRIV_BYTES) as u64;

/// `struct cc_layout`: either a field of a struct with its offset, or a struct with its size.
#[repr(C)]
struct Row {
    name: *const c_char,
    offset_or_size: u64,
    bytes: u32,
    access: u32,
}

unsafe extern "C" {
    safe static cc_layout: *const Row;
    safe static cc_layout_count: u64;
    fn cc_native_forbidden_write(
        before: *const MaybeUninit<TcpSock>,
        after: *const TcpSock,
    ) -> *const Row;
}

/// A field with its name in C and its offset, or a struct with its size in `offset`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) offset: u64,
    pub(crate) bytes: u32,
}

impl From<&Row> for Field {
    fn from(row: &Row) -> Self {
        // SAFETY: a name is a string literal.
        let name = unsafe { CStr::from_ptr(row.name) };
        Self { name: name.to_str().expect("ASCII"), offset: row.offset_or_size, bytes: row.bytes }
    }
}

/// All fields and structs that the interface to algorithms defines.
pub(crate) fn fields() -> impl Iterator<Item = Field> {
    // SAFETY: the table is constant and has as many rows as the count beside it.
    let rows = unsafe { std::slice::from_raw_parts(cc_layout, cc_layout_count as usize) };
    rows.iter().map(Field::from)
}

/// Calls a hook and returns the first field that the hook wrote without permission.
pub(crate) fn call_checked<R>(
    sk: &mut TcpSock,
    call: impl FnOnce(&mut TcpSock) -> R,
) -> (R, Option<Field>) {
    // Byte by byte, because a copy of the struct need not copy the padding.
    let mut before = MaybeUninit::<TcpSock>::uninit();
    // SAFETY: both are of this size, and `MaybeUninit` holds any byte.
    unsafe {
        std::ptr::copy_nonoverlapping(
            std::ptr::from_ref(sk).cast::<MaybeUninit<u8>>(),
            before.as_mut_ptr().cast::<MaybeUninit<u8>>(),
            size_of::<TcpSock>(),
        );
    }
    let answer = call(sk);
    // `Congestion` itself sets the parameters' address.
    // SAFETY: the field lies in the copy.
    unsafe { (&raw mut (*before.as_mut_ptr()).cc_params).write(sk.cc_params) };
    // SAFETY: both pointers lead to whole sockets; the answer is a row of the table, or null.
    let row = unsafe { cc_native_forbidden_write(&raw const before, sk).as_ref() };
    (answer, row.map(Field::from))
}

#[cfg(test)]
mod tests {
    use super::*;

    type Write = fn(&mut TcpSock);

    #[test]
    fn what_an_algorithm_may_write_is_its_own() {
        let own: [Write; 8] = [
            |sk| sk.snd_cwnd += 1,
            |sk| sk.snd_ssthresh -= 1,
            |sk| sk.snd_cwnd_cnt += 1,
            |sk| sk.ecn_flags ^= 4,
            |sk| sk.app_limited += 1,
            |sk| sk.inet_conn.icsk_ca_priv[12] = u64::MAX,
            |sk| sk.cc_state[31] = u64::MAX,
            |sk| sk.inet_conn.icsk_inet.sk.sk_pacing_rate = 7,
        ];
        for write in own {
            assert_eq!(call_checked(&mut TcpSock::default(), write).1, None);
        }
    }

    #[test]
    fn what_it_may_not_write_is_told_by_name() {
        let forbidden: [(Write, &str); 6] = [
            (|sk| sk.snd_cwnd_clamp -= 1, "tcp_sock.snd_cwnd_clamp"),
            (|sk| sk.prior_cwnd += 1, "tcp_sock.prior_cwnd"),
            (|sk| sk.rx_opt.rcv_tsval += 1, "tcp_sock.rx_opt"),
            (|sk| sk.inet_conn.icsk_ca_state = 3, "inet_connection_sock.icsk_ca_state"),
            (|sk| sk.inet_conn.icsk_inet.sk.sk_pacing_shift = 3, "sock.sk_pacing_shift"),
            (|sk| sk.tcp_mstamp += 1, "tcp_sock.tcp_mstamp"),
        ];
        for (write, name) in forbidden {
            let field = call_checked(&mut TcpSock::default(), write).1.expect("forbidden");
            assert_eq!(field.name, name);
        }
    }

    #[test]
    fn the_clock_lies_behind_the_private_state() {
        assert_eq!(offset_of!(TcpSock, tcp_mstamp) as u64, PRIVATE_STATE_END);
    }
}
