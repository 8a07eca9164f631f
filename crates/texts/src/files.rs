//! Files to which the description of a link refers: presets and recordings.

/// Access to the files of presets and recordings; the implementation opens the files.
pub trait Files {
    /// Returns the file of a preset; a name that ends in `.toml` is the path of a user's file.
    ///
    /// # Errors
    /// Returns an error if the preset does not exist or cannot be read; the text contains the
    /// reason.
    fn preset(&self, name: &str) -> Result<PresetFile, String>;

    /// Returns a recorded link; from a folder, returns the given direction.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or is not a recording; the text contains the
    /// reason.
    fn recording(&self, told: &Told, way: Way) -> Result<Recording, String>;

    /// Returns packet trains recorded under light load.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or does not contain packet trains; the text
    /// contains the reason.
    fn packet_trains(&self, path: &str) -> Result<PacketTrains, String>;
}

/// A preset's file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PresetFile {
    /// Name of the preset's file, for error messages.
    pub name: String,
    /// Folder to which paths in the preset are relative.
    pub folder: String,
    /// Content.
    pub text: String,
}

/// The reference to a recording, with the columns and units that a table needs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Told {
    /// Path of the file or folder.
    pub path: String,
    /// Column of the table that contains the rates.
    pub column: Option<String>,
    /// Unit of the rates in the table.
    pub unit: Option<String>,
    /// Column of the table that contains the times.
    pub time_column: Option<String>,
    /// Unit of the times in the table.
    pub time_unit: Option<String>,
}

/// Direction of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// Towards the user.
    Down,
    /// From the user.
    Up,
}

/// A recorded link.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Recording {
    /// Name of the recording in scenarios: the hash of its content.
    pub name: String,
    /// Whether the recording is a Mahimahi trace; if not, it is a log of rates.
    pub is_mahimahi: bool,
    /// Mean rate over one period of the recording, at least 1.
    pub mean_bits_per_sec: u64,
    /// Whether the recording is one direction of a recorded folder.
    pub is_of_folder: bool,
    /// Packet trains recorded at the same time under light load, if the folder contains them.
    pub light: Option<PacketTrains>,
}

/// Packet trains recorded under light load.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PacketTrains {
    /// Name of the packet trains in scenarios: the hash of their content.
    pub name: String,
    /// Minimum over all trains of the one-way delay of a train's first packet.
    pub shortest_delay_ns: u64,
}
