//! Names of the files that a caller writes next to its results.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Maximum length of a file name in most file systems.
const MAX_BYTES: usize = 255;

/// The name of a file, without a folder.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct FileName(String);

/// The error for a text that is not a file name, for example because it contains a folder.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error(
    "`{0}` is not the name of a file in the folder of the run; write a plain name such as \
    `capture.pcap`"
)]
pub struct FileNameError(String);

impl TryFrom<String> for FileName {
    type Error = FileNameError;

    fn try_from(name: String) -> Result<Self, FileNameError> {
        let is_plain =
            !name.contains(['/', '\\', '\0']) && !matches!(name.as_str(), "" | "." | "..");
        if is_plain && name.len() <= MAX_BYTES { Ok(Self(name)) } else { Err(FileNameError(name)) }
    }
}

impl From<FileName> for String {
    fn from(FileName(name): FileName) -> Self {
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_no_folder_and_stays_as_it_is() {
        let read = |json: &str| serde_json::from_str::<FileName>(json);
        let name = read("\"capture.pcap\"").expect("a name");
        assert_eq!(serde_json::to_string(&name).expect("JSON"), "\"capture.pcap\"");
        for json in ["\"\"", "\"..\"", "\"a/b\"", "\"/a\"", "\"a\\\\b\"", "7"] {
            assert!(read(json).is_err(), "{json}");
        }
        let error = FileName::try_from("a/b".to_owned()).expect_err("a folder");
        assert!(error.to_string().starts_with("`a/b` is not the name of a file"));
    }
}
