//! The conformance suite: any legal sequence of ACKs, losses, timeouts, congestion marks and idle
//! times, with any parameters, and the rules that an algorithm must keep all the while.
//!
//! One implementation for both: `cargo test` runs it over the built-in algorithms, `cwndlab algorithm
//! check` over a user's file, in a process that a crash or a loop without end may end.

mod model;
mod operation;

use std::fmt;

use cwndlab_units::Stream;

use crate::algorithm::Algorithm;
use crate::guard;

pub use model::Rule;
pub use operation::Example;

/// The longest sequence; they begin with a single operation, so that the first one that fails is
/// short.
const LONGEST: usize = 60;

/// A rule that an algorithm broke, and an example of it that is as short as one could find.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// The hook that broke it.
    pub hook: &'static str,
    /// The rule.
    pub rule: Rule,
    /// What has to happen for it.
    pub example: Example,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.hook, self.rule, self.example)
    }
}

/// How an algorithm is checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Suite {
    /// How many examples happen to it.
    pub examples: usize,
    /// The same seed gives the same examples.
    pub seed: u64,
    /// It is a module of a kernel: its parameters have no bounds, so that only their defaults are
    /// tried, and it may bound its window (`snd_cwnd_clamp`), which a BPF program may not.
    pub is_module: bool,
}

impl Default for Suite {
    fn default() -> Self {
        Self { examples: 250, seed: 1, is_module: false }
    }
}

/// Runs the suite over an algorithm.
///
/// # Errors
/// The first rule that it broke.
pub fn check(algorithm: Algorithm, suite: Suite) -> Result<(), Box<Violation>> {
    let mut stream = Stream::new(suite.seed, "conformance");
    guard::leave_rules_to_the_caller(true);
    let outcome = (0..suite.examples).try_for_each(|n| {
        let length = 1 + n * (LONGEST - 1) / suite.examples.max(2);
        let example = Example::draw(algorithm, &mut stream, length, suite.is_module);
        guard::with_context(&example, || model::run(algorithm, &example))
            .map_err(|broken| Box::new(shortest(algorithm, example, broken)))
    });
    guard::leave_rules_to_the_caller(false);
    outcome
}

/// Leaves out of an example what is not needed for the same rule of the same hook to break.
fn shortest(algorithm: Algorithm, mut example: Example, mut broken: model::Broken) -> Violation {
    let is_same = |a: &model::Broken, b: &model::Broken| {
        a.hook == b.hook && std::mem::discriminant(&a.rule) == std::mem::discriminant(&b.rule)
    };
    let mut try_shorter = |shorter: Example, example: &mut Example| {
        let attempt = guard::with_context(&shorter, || model::run(algorithm, &shorter));
        if let Err(other) = attempt
            && is_same(&other, &broken)
        {
            *example = shorter;
            broken = other;
        }
    };
    for at in (0..example.operations.len()).rev() {
        let mut shorter = example.clone();
        shorter.operations.remove(at);
        try_shorter(shorter, &mut example);
    }
    for name in example.parameters.clone().into_keys() {
        let mut shorter = example.clone();
        shorter.parameters.remove(&name);
        try_shorter(shorter, &mut example);
    }
    Violation { hook: broken.hook, rule: broken.rule, example }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_example_is_cut_down_to_what_it_takes() {
        let fixed = Algorithm::by_name("fixed").expect("fixed is there");
        let violation =
            check(fixed, Suite::default()).expect_err("a loss does not lower its window");
        assert_eq!(violation.hook, "ssthresh");
        assert!(matches!(violation.rule, Rule::RaisedThreshold { .. }), "{violation}");
        // The window of the example is below that of `fixed`, or its `init` is not called.
        assert!(violation.example.operations.len() <= 2, "{violation}");
    }

    #[test]
    fn the_same_seed_gives_the_same_answer() {
        let fixed = Algorithm::by_name("fixed").expect("fixed is there");
        let suite = Suite { seed: 3, ..Suite::default() };
        assert_eq!(check(fixed, suite), check(fixed, suite));
    }
}
