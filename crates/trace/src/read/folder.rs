//! The folders of CellReplay (Sentosa et al., NSDI 2025).
//!
//! `down-pdo` and `up-pdo` are Mahimahi traces recorded under load. Files such as
//! `down-delay-light-pdo` contain a line for each probe: its time in ms, the one-way base delay in
//! ms, and the later arrival times of the packets of a short train. The opportunities under load
//! give the rate, and the mean base delay gives the delay; the short trains are not replayed.

use cwndlab_units::Duration;

use super::{ReadOptions, Reading, read};
use crate::{TraceError, TraceProblem};

/// A recorded network: both directions with their delays.
#[derive(Clone, PartialEq, Debug)]
pub struct RecordedPath {
    /// From the network to the user.
    pub down: RecordedDirection,
    /// From the user to the network.
    pub up: RecordedDirection,
}

/// One direction of a recorded network.
#[derive(Clone, PartialEq, Debug)]
pub struct RecordedDirection {
    /// Delivery opportunities.
    pub trace: Reading,
    /// Mean delay of packets without load, if it was recorded.
    pub delay: Option<Duration>,
}

/// Reads a folder's files, given with their names.
///
/// # Errors
/// If the folder is not one of CellReplay's, or one of its files is invalid.
pub fn read_folder<C: AsRef<[u8]>>(files: &[(String, C)]) -> Result<RecordedPath, TraceError> {
    Ok(RecordedPath { down: direction(files, "down")?, up: direction(files, "up")? })
}

fn direction<C: AsRef<[u8]>>(
    files: &[(String, C)],
    name: &str,
) -> Result<RecordedDirection, TraceError> {
    let find = |wanted: &str| {
        let named = |file: &&(String, C)| file.0.strip_suffix(".gz").unwrap_or(&file.0) == wanted;
        files.iter().find(named).map(|(_, content)| content.as_ref())
    };
    let content = find(&format!("{name}-pdo")).ok_or_else(|| {
        let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).take(20).collect();
        let there = if names.is_empty() { "no files".to_owned() } else { names.join(", ") };
        TraceError::whole(TraceProblem::NoCellReplay(there))
    })?;
    let mut trace = read(content, &ReadOptions::default())?;
    trace.understood.form = "CellReplay under load";
    let delays = find(&format!("{name}-delay-light-pdo")).map(mean_delay).transpose()?;
    Ok(RecordedDirection { trace, delay: delays })
}

/// The mean of the second number of all lines, in whole milliseconds.
fn mean_delay(content: &[u8]) -> Result<Duration, TraceError> {
    let content = super::text::unpacked(content).map_err(TraceError::whole)?;
    let text = super::text::text(&content);
    let (mut sum_ms, mut count) = (0_u64, 0_u64);
    for (index, line) in text.lines().enumerate() {
        let delay_ms: Option<u64> =
            line.split_ascii_whitespace().nth(1).and_then(|word| word.parse().ok());
        let Some(delay_ms) = delay_ms.filter(|&ms| ms < 100_000) else {
            let wanted = "a time, a base delay and arrivals in ms, such as `100 22 0 1`";
            return Err(TraceError::at(index + 1, TraceProblem::not_a_number(line, wanted)));
        };
        sum_ms += delay_ms;
        count += 1;
    }
    if count == 0 {
        return Err(TraceError::whole(TraceProblem::Empty));
    }
    Ok(Duration::from_millis((sum_ms + count / 2) / count))
}
