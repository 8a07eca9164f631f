//! The helper as seen by its client.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use cwndlab_kernel::protocol::{Answer, Refusal};
use serde_json::{Value, json};

pub(crate) struct Helper {
    pub(crate) process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Helper {
    pub(crate) fn start() -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_cwndlab-kernel"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("start the helper");
        let input = process.stdin.take();
        let output = BufReader::new(process.stdout.take().expect("a pipe"));
        Self { process, input, output }
    }

    pub(crate) fn ask(&mut self, request: &Value) -> Answer {
        writeln!(self.input.as_ref().expect("it still listens"), "{request}").expect("a request");
        let mut line = String::new();
        self.output.read_line(&mut line).expect("an answer");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    pub(crate) fn do_this(&mut self, request: &Value) {
        assert_eq!(self.ask(request), Answer::Done, "{request}");
    }

    pub(crate) fn refuses(&mut self, request: &Value) -> Refusal {
        match self.ask(request) {
            Answer::Refused(refusal) => refusal,
            other => panic!("{request}: {other:?}"),
        }
    }

    pub(crate) fn end(mut self) {
        drop(self.input.take());
        assert!(self.process.wait().expect("its end").success());
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.process.wait();
    }
}

pub(crate) fn load(object: &Path, name: &str) -> Value {
    json!({"do": "load", "object": object, "name": name})
}
