//! Requests and answers of the helper: one JSON object per line, one answer per request, in order.
//!
//! The helper ends when its standard input ends.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::KernelName;

/// A request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// Verify an object and register its algorithm.
    Load {
        /// Path of the object, compiled for BPF.
        object: PathBuf,
        /// The name under which the kernel will know the algorithm.
        name: KernelName,
        /// Values of parameters that differ from the defaults.
        #[serde(default)]
        parameters: BTreeMap<String, u32>,
        /// Random seed of an object compiled with `-DCC_RECORD`; the kernel draws one if it is
        /// missing or 0.
        #[serde(default)]
        seed: Option<u64>,
        /// Keep the algorithm after the helper ends, pinned under this entry of the folder of pins.
        #[serde(default)]
        pin: Option<String>,
    },
    /// Unload an algorithm that this helper loaded: new sockets no longer find it.
    Unload {
        /// The algorithm.
        name: KernelName,
    },
    /// Remove a pin, and with it an algorithm that no helper holds.
    Unpin {
        /// The entry of the folder of pins.
        pin: String,
    },
    /// Start writing the calls of a loaded algorithm's hooks to a file.
    Record {
        /// The algorithm, whose object was compiled with `-DCC_RECORD`.
        name: KernelName,
        /// The file to create.
        file: PathBuf,
    },
    /// End the recording of an algorithm.
    StopRecording {
        /// The algorithm.
        name: KernelName,
    },
    /// Attach the tracing programs of an object and write their records to a file.
    Trace {
        /// Path of the object, compiled for BPF.
        object: PathBuf,
        /// The file to create.
        file: PathBuf,
    },
    /// End tracing.
    StopTracing,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    /// The request succeeded.
    Done,
    /// The recording or trace ended.
    Recorded {
        /// Number of records in its file.
        calls: u64,
    },
    /// The request failed.
    Refused(Refusal),
}

/// The reason why a request failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The kind, for programs.
    pub kind: RefusalKind,
    /// One sentence, for people.
    pub message: String,
    /// Last lines printed by the kernel and libbpf; often empty.
    pub log: Vec<String>,
}

/// Kinds of refusals, one for each remedy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusalKind {
    /// The request is invalid.
    Request,
    /// The file is not the object of an algorithm.
    Object,
    /// A parameter is unknown.
    Parameter,
    /// The process may not load BPF programs.
    Permission,
    /// The kernel lacks a required feature.
    Kernel,
    /// The licence is not one that the kernel accepts.
    Licence,
    /// A program exceeds the verifier's limits, or its state exceeds the socket's space.
    TooLarge,
    /// The verifier rejects the program for another reason.
    Verifier,
    /// A hook is missing that the kernel requires.
    MissingHook,
    /// An algorithm of this name already exists.
    NameTaken,
    /// A file or pin cannot be created or does not exist.
    File,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_one_line_of_json() {
        let line =
            r#"{"do":"load","object":"/x.o","name":"cl_00000001","parameters":{"beta":717}}"#;
        let request: Request = serde_json::from_str(line).expect("a request");
        let Request::Load { object, name, parameters, seed, pin } = request else {
            panic!("a load")
        };
        assert_eq!((object.to_str(), name.as_str()), (Some("/x.o"), "cl_00000001"));
        assert_eq!((parameters.get("beta"), seed, pin), (Some(&717), None, None));
    }

    #[test]
    fn what_is_unknown_is_an_error() {
        for line in [
            r#"{"do":"load","object":"/x.o","name":"cubic"}"#,
            r#"{"do":"load","object":"/x.o","name":"cl_00000001","pinned":true}"#,
            r#"{"do":"reload","name":"cl_00000001"}"#,
            r#"{"name":"cl_00000001"}"#,
        ] {
            assert!(serde_json::from_str::<Request>(line).is_err(), "{line}");
        }
    }

    #[test]
    fn an_answer_says_what_kind_it_is() {
        let refusal = Refusal {
            kind: RefusalKind::NameTaken,
            message: "there is one".to_owned(),
            log: Vec::new(),
        };
        assert_eq!(
            serde_json::to_string(&Answer::Refused(refusal)).expect("JSON"),
            r#"{"answer":"refused","kind":"name_taken","message":"there is one","log":[]}"#
        );
        assert_eq!(
            serde_json::to_string(&Answer::Recorded { calls: 3 }).expect("JSON"),
            r#"{"answer":"recorded","calls":3}"#
        );
    }
}
