//! A host as the scenario's JSON says it.

use cwndlab_units::{Bytes, Rate};
use serde::{Deserialize, Serialize};

/// What stands between a machine's sockets and the link.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostConfig {
    /// Limit of the device's queue, `txqueuelen`.
    pub queue_packets: u32,
    /// Room of the device's own buffer; it always takes one packet.
    #[serde(rename = "buffer_bytes", default)]
    pub buffer: Bytes,
    /// How fast the device sends. Without one it is the link that empties the device's buffer: a
    /// modem without any other memory, which sends when it is granted to.
    #[serde(rename = "bits_per_sec", default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
}
