//! Requests and answers of the helper process: one JSON object per line, one answer per request,
//! in order.
//!
//! The helper process ends when its standard input ends.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::KernelName;

/// A request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// Verify a compiled object and register its algorithm in the kernel.
    Load {
        /// Path of the object, compiled for BPF.
        object: PathBuf,
        /// The name under which the kernel will list the algorithm.
        name: KernelName,
        /// Values of parameters that differ from the defaults.
        #[serde(default)]
        parameters: BTreeMap<String, u32>,
        /// Random seed of an object compiled with `-DCC_RECORD`; the kernel draws a seed if the
        /// value is missing or 0.
        #[serde(default)]
        seed: Option<u64>,
        /// Keep the algorithm in the kernel after the helper ends: the file name of the pin in
        /// cwndlab's folder of the BPF file system.
        #[serde(default)]
        pin: Option<String>,
    },
    /// Unload an algorithm that this helper loaded: new sockets can no longer use it.
    Unload {
        /// The algorithm.
        name: KernelName,
    },
    /// Remove a pin. The kernel unloads its algorithm unless a helper still holds it.
    Unpin {
        /// The file name of the pin in cwndlab's folder of the BPF file system.
        pin: String,
    },
    /// Start to record the calls of a loaded algorithm's hooks to a file.
    Record {
        /// The algorithm to record; its object was compiled with `-DCC_RECORD`.
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
    /// The recording or the trace has ended.
    Recorded {
        /// Number of records in the file.
        calls: u64,
    },
    /// The request failed.
    Refused(Refusal),
}

/// The reason why a request failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The kind of refusal, for programs.
    pub kind: RefusalKind,
    /// One sentence that explains the refusal to people.
    pub message: String,
    /// Last lines that the kernel and libbpf printed; often empty.
    pub log: Vec<String>,
}

/// Kinds of refusals; each needs a different remedy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusalKind {
    /// The request to the helper is invalid.
    Request,
    /// The file is not the compiled object of an algorithm.
    Object,
    /// The algorithm does not have this parameter.
    Parameter,
    /// The process may not load BPF programs.
    Permission,
    /// The kernel lacks a required feature.
    Kernel,
    /// The kernel does not accept the algorithm's licence.
    Licence,
    /// The algorithm exceeds the verifier's limits, or its state exceeds the space in the socket.
    TooLarge,
    /// The verifier rejects the algorithm for another reason.
    Verifier,
    /// The algorithm lacks a hook that the kernel requires.
    MissingHook,
    /// The kernel already has an algorithm of this name.
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
