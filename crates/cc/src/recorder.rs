//! Records every hook call of algorithms that were loaded at run time, so that algorithms can be
//! compared.

use std::mem::offset_of;
use std::sync::Mutex;

use crate::ffi::HOOKS;
use crate::layout::{self, Field};
use crate::sock::{AckSample, RateSample, TcpSock};

/// `struct cc_call`.
#[repr(C)]
pub(crate) struct Call {
    hook: u32,
    result: u32,
    argument: [u32; 2],
    socket: u64,
    ack: AckSample,
    rate: RateSample,
    before: TcpSock,
    after: TcpSock,
}

/// The bytes of the calls recorded since [`crate::guard::record_calls`]; `None` while calls are
/// not recorded.
static CALLS: Mutex<Option<Vec<u8>>> = Mutex::new(None);

/// A field of a recorded hook call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallField {
    /// Name of the field, such as `hook`, `before.snd_cwnd` or `rate.interval_us`.
    pub name: String,
    /// Offset of the field in the recorded call, in bytes.
    pub offset: usize,
    /// Size in bytes.
    pub bytes: usize,
    /// Whether the field's number is signed.
    pub is_signed: bool,
}

/// Starts to keep the calls that are passed to [`record`].
pub(crate) fn begin() {
    *CALLS.lock().expect("no thread panics while it holds the lock") = Some(Vec::new());
}

/// Stops recording and returns the recorded calls, [`call_bytes`] bytes each.
pub(crate) fn end() -> Vec<u8> {
    CALLS.lock().expect("no thread panics while it holds the lock").take().unwrap_or_default()
}

/// Size of a recorded call in bytes.
pub fn call_bytes() -> usize {
    size_of::<Call>()
}

/// Names of the hooks, indexed by their number in a recorded call.
pub fn hook_names() -> &'static [&'static str] {
    HOOKS
}

/// Returns the fields of a recorded hook call.
pub fn call_fields() -> Vec<CallField> {
    let number = |name: &str, offset, bytes| CallField {
        name: name.to_owned(),
        offset,
        bytes,
        is_signed: SIGNED.contains(&name),
    };
    let mut fields = vec![
        number("hook", offset_of!(Call, hook), 4),
        number("result", offset_of!(Call, result), 4),
        number("argument_0", offset_of!(Call, argument), 4),
        number("argument_1", offset_of!(Call, argument) + 4, 4),
        number("socket", offset_of!(Call, socket), 8),
    ];
    for Field { name, offset, bytes } in layout::fields() {
        let Some((of, field)) = name.split_once('.') else { continue };
        let (offset, bytes) = (offset as usize, bytes as usize);
        if !matches!(bytes, 1 | 2 | 4 | 8) {
            continue;
        }
        match of {
            "ack_sample" => {
                fields.push(number(&format!("ack.{field}"), offset_of!(Call, ack) + offset, bytes));
            }
            "rate_sample" => {
                fields.push(number(
                    &format!("rate.{field}"),
                    offset_of!(Call, rate) + offset,
                    bytes,
                ));
            }
            "sock" | "inet_connection_sock" | "tcp_sock" => {
                for (side, base) in
                    [("before", offset_of!(Call, before)), ("after", offset_of!(Call, after))]
                {
                    fields.push(number(&format!("{side}.{field}"), base + offset, bytes));
                }
            }
            _ => {}
        }
    }
    fields
}

/// Appends a call to the recording; the guard calls this after each hook.
pub(crate) extern "C" fn record(call: *const Call) {
    if let Some(calls) = CALLS.lock().expect("no thread panics while it holds the lock").as_mut() {
        // SAFETY: the guard passes a whole call, which it zeroed before it filled it.
        calls.extend_from_slice(unsafe {
            std::slice::from_raw_parts(call.cast::<u8>(), size_of::<Call>())
        });
    }
}

const SIGNED: [&str; 6] = [
    "ack.rtt_us",
    "rate.delivered",
    "rate.delivered_ce",
    "rate.interval_us",
    "rate.rtt_us",
    "rate.losses",
];
