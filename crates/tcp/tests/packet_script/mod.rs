//! Timed packet scripts, in the spirit of packetdrill (Cardwell et al., USENIX ATC 2013): a script
//! says what the application and the network do to one endpoint, and what the endpoint must answer,
//! to the microsecond of virtual time. `docs/explanation/tcp-by-example.md` describes the language.

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
    /// Path of the file, as failures name it.
    pub(crate) file: String,
    /// First comment: the behaviour in one sentence.
    pub(crate) title: String,
    /// Where the expectations come from.
    pub(crate) sources: Vec<String>,
    pub(crate) setup: Setup,
    pub(crate) steps: Vec<Step>,
}

/// The endpoint under test and where counting begins.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) stack: String,
    pub(crate) algorithm: String,
    pub(crate) settings: toml::Table,
    pub(crate) parameters: toml::Table,
    /// Sequence numbers of the two SYNs; scripts count from them.
    pub(crate) sequence: u32,
    pub(crate) peer_sequence: u32,
    /// What the endpoint's timestamp clock shows when the script begins.
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

/// When a step happens; a segment that is expected may have a range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum When {
    /// Since the step before.
    After(Duration, Duration),
    /// Since the script began.
    At(Time, Time),
}

/// What a step is.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    Connect,
    Listen,
    /// The application writes, and so much of it is taken.
    Write(u64, u64),
    /// The application reads up to so much, and gets so much.
    Read(u64, u64),
    Close,
    /// There is a host below, which takes bursts of so many segments.
    Host(u32),
    /// It says how many packets it takes from now on.
    Room(u32),
    /// So many packets with data have left it.
    Depart(u32),
    /// `<`: the network brings segments.
    Arrive(Template),
    /// `>`: the endpoint sends segments.
    Leave(Template),
    /// What the endpoint shows of itself.
    Expect(Vec<Claim>),
}

/// Why a script failed: the place, and what to read to understand it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Failure {
    pub(crate) line: usize,
    pub(crate) problem: String,
}
