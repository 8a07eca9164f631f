//! Timed packet scripts, in the spirit of packetdrill (Cardwell et al., USENIX ATC 2013): a script
//! specifies what the application and the network do to one endpoint, and how the endpoint must
//! answer, to the microsecond of virtual time. `docs/explanation/tcp-by-example.md` describes the
//! language.

mod fact;
mod notation;
mod parse;
mod quantity;
mod run;

use cwndlab_units::{Duration, Time};

use fact::Claim;
use notation::Template;
pub(crate) use parse::parse;
pub(crate) use run::run;

/// A script, ready to run.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    /// Path of the file, as shown in failures.
    pub(crate) file: String,
    /// First comment: the behaviour in one sentence.
    pub(crate) title: String,
    /// Sources of the expectations.
    pub(crate) sources: Vec<String>,
    pub(crate) setup: Setup,
    pub(crate) steps: Vec<Step>,
}

/// The endpoint under test and the origins of numbers.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) stack: String,
    pub(crate) algorithm: String,
    pub(crate) settings: toml::Table,
    pub(crate) parameters: toml::Table,
    /// Sequence numbers of the two SYNs; scripts count from them.
    pub(crate) sequence: u32,
    pub(crate) peer_sequence: u32,
    /// Value of the endpoint's timestamp clock when the script starts.
    pub(crate) clock: u32,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            stack: "linux-6.1".to_owned(),
            algorithm: "reno".to_owned(),
            settings: toml::Table::new(),
            parameters: toml::Table::new(),
            sequence: 1_000_000,
            peer_sequence: 2_000_000,
            clock: 1_000,
        }
    }
}

/// One line of a script.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) line: usize,
    /// The line without time and comment.
    pub(crate) text: String,
    pub(crate) when: When,
    pub(crate) action: Action,
}

/// When a step happens; an expected segment may have a range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum When {
    /// Relative to the step before.
    After(Duration, Duration),
    /// Relative to the start of the script.
    At(Time, Time),
}

/// Action of a step.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    Connect,
    Listen,
    /// The application writes bytes, and so many of them are accepted.
    Write(u64, u64),
    /// The application reads at most so many bytes, and gets so many.
    Read(u64, u64),
    Close,
    /// Attaches a host below TCP that accepts bursts of so many segments.
    Host(u32),
    /// Sets how many packets the host accepts from now on.
    Room(u32),
    /// So many data packets leave the host.
    Depart(u32),
    /// `<`: the network delivers segments.
    Arrive(Template),
    /// `>`: the endpoint sends segments.
    Leave(Template),
    /// Checks facts about the endpoint.
    Expect(Vec<Claim>),
}

/// Why a script failed: the line, and an explanation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Failure {
    pub(crate) line: usize,
    pub(crate) problem: String,
}
