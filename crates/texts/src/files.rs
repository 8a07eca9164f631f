//! Files to which a link refers: presets and recordings.

/// Source of presets and recordings; an implementation opens the files.
pub trait Files {
    /// Returns the file of a preset; a name that ends in `.toml` is a user's file.
    ///
    /// # Errors
    /// If the preset does not exist or cannot be read; the text says why.
    fn preset(&self, name: &str) -> Result<PresetFile, String>;

    /// Returns a recorded link; for a folder, that of one direction.
    ///
    /// # Errors
    /// If the file cannot be read or is not a recording; the text says why.
    fn recording(&self, told: &Told, way: Way) -> Result<Recording, String>;

    /// Returns packet trains recorded under light load.
    ///
    /// # Errors
    /// If the file cannot be read or does not contain packet trains; the text says why.
    fn packet_trains(&self, path: &str) -> Result<PacketTrains, String>;
}

/// A preset's file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PresetFile {
    /// Name in error messages.
    pub name: String,
    /// Folder to which paths in the file are relative.
    pub folder: String,
    /// Content.
    pub text: String,
}

/// The reference to a recording, with the options that its file needs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Told {
    /// Path of the file or folder.
    pub path: String,
    /// Column of the rate.
    pub column: Option<String>,
    /// Unit of the rate.
    pub unit: Option<String>,
    /// Column of the times.
    pub time_column: Option<String>,
    /// Unit of the times.
    pub time_unit: Option<String>,
}

/// A direction of a recorded network.
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
    /// Name in scenarios: the hash of its content.
    pub name: String,
    /// Whether it is a Mahimahi trace, not a log of rates.
    pub is_mahimahi: bool,
    /// Mean rate over one period, at least 1.
    pub mean_bits_per_sec: u64,
    /// Whether it is a direction of a folder.
    pub is_of_folder: bool,
    /// Packet trains recorded at the same time under light load, if the folder contains them.
    pub light: Option<PacketTrains>,
}

/// Packet trains recorded under light load.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PacketTrains {
    /// Name in scenarios: the hash of their content.
    pub name: String,
    /// The shortest one-way delay of a train's first packet.
    pub shortest_delay_ns: u64,
}
