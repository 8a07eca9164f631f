//! What the helper is asked and what it answers: one JSON object a line, one answer a request, in
//! order. When its standard input ends, the helper does.

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
        /// The object, compiled for BPF.
        object: PathBuf,
        /// The algorithm's name from now on.
        name: KernelName,
        /// Values of its parameters that are not the defaults.
        #[serde(default)]
        parameters: BTreeMap<String, u32>,
        /// Where the random numbers of an object that was compiled with `-DCC_RECORD` begin; the
        /// kernel draws it if it is missing or 0.
        #[serde(default)]
        seed: Option<u64>,
        /// Keep it beyond the helper's life, as this entry of the folder of pins.
        #[serde(default)]
        pin: Option<String>,
    },
    /// Take back what this helper loaded: new sockets no longer find it.
    Unload {
        /// The algorithm.
        name: KernelName,
    },
    /// Remove a pin, and with it an algorithm that no helper holds.
    Unpin {
        /// The entry of the folder of pins.
        pin: String,
    },
    /// Write the calls of a loaded algorithm's hooks to a file, from now on.
    Record {
        /// The algorithm, whose object was compiled with `-DCC_RECORD`.
        name: KernelName,
        /// The file, which is created.
        file: PathBuf,
    },
    /// End that recording.
    StopRecording {
        /// The algorithm.
        name: KernelName,
    },
    /// Attach the tracing programs of an object, and write their records to a file.
    Trace {
        /// The object, compiled for BPF.
        object: PathBuf,
        /// The file, which is created.
        file: PathBuf,
    },
    /// End that.
    StopTracing,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    /// It is done.
    Done,
    /// The recording ended.
    Recorded {
        /// How many calls are in its file.
        calls: u64,
    },
    /// It cannot be done.
    Refused(Refusal),
}

/// Why something cannot be done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The kind, for programs.
    pub kind: RefusalKind,
    /// One sentence, for people.
    pub message: String,
    /// The end of what kernel and loader said; often empty.
    pub log: Vec<String>,
}

/// Kinds of refusals: what has to be done about them differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusalKind {
    /// The request makes no sense.
    Request,
    /// The file is not the object of an algorithm.
    Object,
    /// A parameter is unknown.
    Parameter,
    /// The process may not load programs.
    Permission,
    /// The kernel cannot do such a thing.
    Kernel,
    /// The licence is not one that the kernel accepts.
    Licence,
    /// A program is too large for the verifier, or its state for the socket.
    TooLarge,
    /// The verifier finds something else.
    Verifier,
    /// A hook is missing without which the kernel takes no algorithm.
    MissingHook,
    /// There is an algorithm of this name.
    NameTaken,
    /// A file or pin cannot be made, or is not there.
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
