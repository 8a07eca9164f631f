//! Folders with recordings of CellReplay (Sentosa et al., NSDI 2025).
//!
//! The files `down-heavy-pdo` and `up-heavy-pdo` (`down-pdo` and `up-pdo` in older folders) are
//! Mahimahi traces recorded under load. `down-delay-light-pdo` and `up-delay-light-pdo` contain
//! the packet trains recorded at the same time under light load ([`crate::LightTrace`]).

use super::{LightReading, ReadOptions, Reading, read, read_light};
use crate::{FolderError, TraceProblem};

/// A recorded network: the traces of both directions.
#[derive(Clone, PartialEq, Debug)]
pub struct RecordedPath {
    /// Direction from the network to the user.
    pub down: RecordedDirection,
    /// Direction from the user to the network.
    pub up: RecordedDirection,
}

/// One direction of a recorded network.
#[derive(Clone, PartialEq, Debug)]
pub struct RecordedDirection {
    /// Name of the file with the delivery opportunities.
    pub file: String,
    /// Delivery opportunities under load.
    pub trace: Reading,
    /// Packet trains under light load with the name of their file, if the folder contains them.
    pub light: Option<(String, LightReading)>,
}

/// Reads the files of a folder; the caller passes their names and contents.
///
/// # Errors
/// Returns an error if the folder is not a recording of CellReplay, or one of its files is
/// invalid.
pub fn read_folder<C: AsRef<[u8]>>(files: &[(String, C)]) -> Result<RecordedPath, FolderError> {
    Ok(RecordedPath { down: direction(files, "down")?, up: direction(files, "up")? })
}

fn direction<C: AsRef<[u8]>>(
    files: &[(String, C)],
    name: &str,
) -> Result<RecordedDirection, FolderError> {
    let find = |wanted: String| {
        let named = |file: &&(String, C)| file.0.strip_suffix(".gz").unwrap_or(&file.0) == wanted;
        files.iter().find(named).map(|(name, content)| (name, content.as_ref()))
    };
    let heavy = find(format!("{name}-heavy-pdo")).or_else(|| find(format!("{name}-pdo")));
    let (file, content) = heavy.ok_or_else(|| {
        let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).take(20).collect();
        let there = if names.is_empty() { "no files".to_owned() } else { names.join(", ") };
        FolderError::whole(TraceProblem::NoCellReplay(there))
    })?;
    let mut trace = read(content, &ReadOptions::default())
        .map_err(|error| FolderError::in_file(file, error))?;
    trace.understood.form = "CellReplay under load";
    let light = match find(format!("{name}-delay-light-pdo")) {
        Some((file, content)) => {
            let light = read_light(content).map_err(|error| FolderError::in_file(file, error))?;
            Some((file.clone(), light))
        }
        None => None,
    };
    Ok(RecordedDirection { file: file.clone(), trace, light })
}
