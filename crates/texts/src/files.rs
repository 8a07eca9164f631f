//! What a link is made of beside its text: the files of presets, and recordings.

/// Where presets and recordings come from. Whoever implements it opens the files.
pub trait Files {
    /// The file of a preset; a name that ends in `.toml` is a file of the user's.
    ///
    /// # Errors
    /// There is no such preset, or it cannot be read; says why.
    fn preset(&self, name: &str) -> Result<PresetFile, String>;

    /// A recorded link; of a folder, that of one direction.
    ///
    /// # Errors
    /// It cannot be read, or is no recording; says why.
    fn recording(&self, told: &Told, way: Way) -> Result<Recording, String>;
}

/// The file of a preset.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PresetFile {
    /// What errors call it.
    pub name: String,
    /// What paths in it are relative to.
    pub folder: String,
    /// What it says.
    pub text: String,
}

/// Which recording is meant, and what its file does not say itself.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Told {
    /// The file or folder.
    pub path: String,
    /// The rate's column.
    pub column: Option<String>,
    /// The rate's unit.
    pub unit: Option<String>,
    /// The times' column.
    pub time_column: Option<String>,
    /// The times' unit.
    pub time_unit: Option<String>,
}

/// A direction of a recorded network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// To the user.
    Down,
    /// From the user.
    Up,
}

/// A recorded link.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Recording {
    /// By which scenarios call it: the hash of its content.
    pub name: String,
    /// Whether it is a Mahimahi trace; else it is a log of rates.
    pub is_mahimahi: bool,
    /// Mean rate over one lap, at least 1.
    pub mean_bits_per_sec: u64,
    /// Whether it is one of the two directions of a folder.
    pub is_of_folder: bool,
    /// Delay without load, if the folder has it.
    pub delay_ns: Option<u64>,
}
