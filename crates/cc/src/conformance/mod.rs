//! Conformance suite: passes random legal sequences of ACKs, losses, timeouts, congestion marks
//! and idle times to an algorithm with random parameters, and checks the rules that every
//! algorithm must keep.
//!
//! `cargo test` runs the suite on the built-in algorithms. `cwndlab algorithm check` runs it on a
//! user's file, in a separate process, because an algorithm may crash or loop forever.

mod model;
mod operation;

use std::fmt;

use cwndlab_units::Stream;

use crate::algorithm::Algorithm;
use crate::guard;

pub use model::Rule;
pub use operation::Example;

/// Maximum number of operations in a sequence; the first examples have one operation, so that the
/// first failure is short.
const LONGEST: usize = 60;

/// A rule that an algorithm broke, with the shortest example that was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// The hook that broke the rule.
    pub hook: &'static str,
    /// The rule.
    pub rule: Rule,
    /// A sequence of operations in which the hook breaks the rule.
    pub example: Example,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.hook, self.rule, self.example)
    }
}

/// Settings of a conformance check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Suite {
    /// Number of examples to run.
    pub examples: usize,
    /// Seed of the examples.
    pub seed: u64,
    /// Whether the algorithm is a module of the kernel. If so, its parameters have no bounds, so
    /// only their defaults are tried. It may also limit its window (`snd_cwnd_clamp`), which a BPF
    /// program may not.
    pub is_module: bool,
}

impl Default for Suite {
    fn default() -> Self {
        Self { examples: 250, seed: 1, is_module: false }
    }
}

/// Runs the conformance suite on an algorithm.
///
/// # Errors
/// Returns the first rule that the algorithm broke.
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

/// Removes the parts of an example without which the same hook still breaks the same rule.
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
        // The example's window is below that of `fixed`, or `fixed` did not call its `init`.
        assert!(violation.example.operations.len() <= 2, "{violation}");
    }

    #[test]
    fn the_same_seed_gives_the_same_answer() {
        let fixed = Algorithm::by_name("fixed").expect("fixed is there");
        let suite = Suite { seed: 3, ..Suite::default() };
        assert_eq!(check(fixed, suite), check(fixed, suite));
    }
}
