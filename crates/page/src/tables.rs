//! A run's tables as bytes that JavaScript reads without a copy.
//!
//! First the length of a header (32 bits, little-endian), then the header, JSON, then, from the
//! next multiple of 8, the columns that the header places. In the header each table is a list of pairs,
//! a column's name and its values: a list, `null` where undefined, or, where all are numbers of one
//! type, `{"type": "f64", "offset": 16, "length": 300}`, with the offset in bytes from the first
//! column, a multiple of 8, and `NaN` where undefined. A capture is a column of bytes, `pcap`, beside
//! the tables, and so is what the decision takes of the run, `figures`.

use cwndlab_scenario::{
    Acks, Column, Events, FlowSummary, LinkSummary, RunOutput, Samples, Values,
};
use serde_json::{Map, Value, json};

use crate::decision::figures_of;

const ALIGNMENT: usize = 8;

/// The bytes of everything that a run answers.
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

/// Appends a column; where it is.
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
