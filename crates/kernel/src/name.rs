//! Names of cwndlab's algorithms in the kernel.

use std::fmt;

use serde::{Deserialize, Serialize};

/// `cl_` and eight hexadecimal digits from a hash of source and parameters. Studies that load
/// different versions of an algorithm therefore never use the same name, and no name equals that
/// of an algorithm of the kernel.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct KernelName(String);

/// The error for a text that is not the name of an algorithm loaded by cwndlab.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "\"{0}\" is not the name of an algorithm loaded by cwndlab: such names are cl_ and eight \
    characters of 0-9a-f"
)]
pub struct KernelNameError(String);

impl KernelName {
    /// The name as a string.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for KernelName {
    type Error = KernelNameError;

    fn try_from(text: String) -> Result<Self, KernelNameError> {
        let digits = text.strip_prefix("cl_").unwrap_or_default();
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if digits.len() == 8 && digits.bytes().all(is_digit) {
            Ok(Self(text))
        } else {
            Err(KernelNameError(text))
        }
    }
}

impl From<KernelName> for String {
    fn from(name: KernelName) -> Self {
        name.0
    }
}

impl fmt::Display for KernelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_names_are_taken() {
        for good in ["cl_01234567", "cl_89abcdef"] {
            assert_eq!(
                KernelName::try_from(good.to_owned()).map(String::from).as_deref(),
                Ok(good)
            );
        }
        for bad in ["", "cubic", "cl_", "cl_0123456", "cl_012345678", "cl_0123456G", "CL_01234567"]
        {
            assert!(KernelName::try_from(bad.to_owned()).is_err(), "{bad}");
        }
    }
}
