//! Files to which links refer, in the memory of the page: presets, and recordings that the user
//! dropped on the page.

use std::cell::RefCell;
use std::collections::BTreeMap;

use cwndlab_texts::{Files, PacketTrains, PresetFile, Recording, Told, Way};
use cwndlab_trace::{ReadOptions, Reading, TraceKind};
use sha2::{Digest, Sha256};

/// Files by the names that links use.
#[derive(Default)]
pub(crate) struct PageFiles {
    /// The text of each preset, by name.
    pub(crate) presets: BTreeMap<String, String>,
    /// The content of each recording, by name.
    pub(crate) recordings: BTreeMap<String, Vec<u8>>,
    /// Recordings that were read while a link was converted.
    read: RefCell<Vec<ReadTrace>>,
}

/// A recording under its name in scenarios.
pub(crate) struct ReadTrace {
    /// Name of the recording: `sha256:` and the hash of its content.
    pub(crate) name: String,
    /// Content of the recording in the simulator's format.
    pub(crate) content: Vec<u8>,
    /// Duration of one repetition of the recording.
    pub(crate) duration_s: f64,
    /// Mean rate of the recording; `None` for packet trains.
    pub(crate) mean_bits_per_sec: Option<u64>,
}

impl PageFiles {
    fn dropped(&self, path: &str) -> Result<&[u8], String> {
        let file = self.recordings.get(path).map(Vec::as_slice);
        file.ok_or_else(|| format!("{path}: this recording is missing; drop the file on the page"))
    }

    /// Returns the recordings that were read since the last call.
    pub(crate) fn take_read(&self) -> Vec<ReadTrace> {
        self.read.take()
    }
}

impl Files for PageFiles {
    fn preset(&self, name: &str) -> Result<PresetFile, String> {
        let text = self.presets.get(name).cloned().ok_or_else(|| {
            let known = self.presets.keys().map(String::as_str);
            match cwndlab_texts::nearest(name, known) {
                Some(near) => format!("unknown link \"{name}\"; did you mean \"{near}\"?"),
                None => format!("unknown link \"{name}\""),
            }
        })?;
        Ok(PresetFile { name: name.to_owned(), folder: String::new(), text })
    }

    fn recording(&self, told: &Told, _: Way) -> Result<Recording, String> {
        let Told { path, column, unit, time_column, time_unit } = told.clone();
        let file = self.dropped(&path)?;
        let options = ReadOptions { column, unit, time_column, time_unit };
        let reading =
            cwndlab_trace::read(file, &options).map_err(|error| format!("{path}: {error}"))?;
        let recording = recorded(&reading);
        self.read.borrow_mut().push(ReadTrace {
            name: recording.name.clone(),
            duration_s: reading.trace.period().as_secs_f64(),
            mean_bits_per_sec: Some(recording.mean_bits_per_sec),
            content: reading.content,
        });
        Ok(recording)
    }

    fn packet_trains(&self, path: &str) -> Result<PacketTrains, String> {
        let reading = cwndlab_trace::read_light(self.dropped(path)?);
        let reading = reading.map_err(|error| format!("{path}: {error}"))?;
        let name = content_name(&reading.content);
        let shortest_delay_ns = reading.trace.shortest_delay().as_nanos();
        self.read.borrow_mut().push(ReadTrace {
            name: name.clone(),
            duration_s: reading.trace.period().as_secs_f64(),
            mean_bits_per_sec: None,
            content: reading.content,
        });
        Ok(PacketTrains { name, shortest_delay_ns })
    }
}

fn content_name(content: &[u8]) -> String {
    let digest = Sha256::digest(content);
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

fn recorded(reading: &Reading) -> Recording {
    let mean_mbit_s = reading.trace.mean_rate().as_mbit_per_sec_f64();
    Recording {
        name: content_name(&reading.content),
        is_mahimahi: reading.kind() == TraceKind::Mahimahi,
        mean_bits_per_sec: ((mean_mbit_s * 1e6).round_ties_even() as u64).max(1),
        is_of_folder: false,
        light: None,
    }
}
