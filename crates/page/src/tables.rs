//! Encodes the tables of a run as bytes that JavaScript reads without copying them.
//!
//! The bytes begin with the length of the header (32 bits, little-endian), followed by the header
//! as JSON. The columns follow at the next multiple of 8. In the header, each table is a list of
//! pairs; a pair contains the name and the values of a column. Values are a list, with `null` for
//! undefined values, or for numbers of one type `{"type": "f64", "offset": 16, "length": 300}`.
//! The offset is in bytes from the first column and a multiple of 8; undefined values are `NaN`.
//! In addition to the tables, the header describes a capture (`pcap`) and the input of the
//! decision (`figures`) as columns.

use cwndlab_scenario::{
    Acks, Column, Events, FlowSummary, LinkSummary, RunOutput, Samples, Values,
};
use serde_json::{Map, Value, json};

use crate::decision::figures_of;

const ALIGNMENT: usize = 8;

/// Encodes the complete output of a run.
pub(crate) fn encode(output: RunOutput) -> Vec<u8> {
    let RunOutput { flows, links, samples, events, acks, pcap } = output;
    let mut blobs = Vec::new();
    let figures = figures_of(&flows);
    let mut header = Map::new();
    let mut insert = |name: &str, names: &[Column], values: Vec<Values>| {
        header.insert(name.to_owned(), table(names, values, &mut blobs));
    };
    insert("flows", FlowSummary::COLUMNS, FlowSummary::columns(&flows));
    insert("links", LinkSummary::COLUMNS, LinkSummary::columns(&links));
    if let Some(samples) = samples {
        insert("samples", Samples::COLUMNS, samples.columns());
    }
    if let Some(events) = events {
        insert("events", Events::COLUMNS, events.columns());
    }
    if let Some(acks) = acks {
        insert("acks", Acks::COLUMNS, acks.columns());
    }
    if let Some(pcap) = pcap {
        header.insert("pcap".to_owned(), place("u8", pcap.len(), pcap, &mut blobs));
    }
    header.insert(
        "figures".to_owned(),
        numbers("f64", &figures, |value| value.to_le_bytes(), &mut blobs),
    );
    let mut header = Value::Object(header).to_string().into_bytes();
    let length = header.len() as u32;
    let padded = (size_of::<u32>() + header.len()).next_multiple_of(ALIGNMENT);
    header.resize(padded - size_of::<u32>(), b' ');
    let mut bytes = Vec::with_capacity(padded + blobs.len());
    bytes.extend(length.to_le_bytes());
    bytes.extend(header);
    bytes.extend(blobs);
    bytes
}

fn table(columns: &[Column], values: Vec<Values>, blobs: &mut Vec<u8>) -> Value {
    let columns = columns.iter().zip(values);
    columns.map(|(column, values)| json!([column.name, encoded(values, blobs)])).collect()
}

fn encoded(values: Values, blobs: &mut Vec<u8>) -> Value {
    match values {
        Values::Texts(values) => json!(values),
        Values::Names(values) => json!(values),
        Values::U8(values) => place("u8", values.len(), values, blobs),
        Values::U16(values) => numbers("u16", &values, |value| value.to_le_bytes(), blobs),
        Values::U32(values) => numbers("u32", &values, |value| value.to_le_bytes(), blobs),
        Values::U64(values) => numbers("u64", &values, |value| value.to_le_bytes(), blobs),
        Values::F64(values) => numbers("f64", &values, |value| value.to_le_bytes(), blobs),
        Values::SomeU32(values) => json!(values),
        Values::SomeU64(values) => json!(values),
        Values::SomeF64(values) => {
            let values: Vec<f64> =
                values.into_iter().map(|value| value.unwrap_or(f64::NAN)).collect();
            numbers("f64", &values, |value| value.to_le_bytes(), blobs)
        }
    }
}

fn numbers<T: Copy, const N: usize>(
    name: &str,
    values: &[T],
    bytes: impl Fn(T) -> [u8; N],
    blobs: &mut Vec<u8>,
) -> Value {
    place(name, values.len(), values.iter().flat_map(|&value| bytes(value)), blobs)
}

/// Appends a column and returns a description of its place.
fn place(
    name: &str,
    length: usize,
    bytes: impl IntoIterator<Item = u8>,
    blobs: &mut Vec<u8>,
) -> Value {
    blobs.resize(blobs.len().next_multiple_of(ALIGNMENT), 0);
    let offset = blobs.len();
    blobs.extend(bytes);
    json!({ "type": name, "offset": offset, "length": length })
}
