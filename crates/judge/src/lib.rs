//! Statistics of the decision: which algorithms are good on a link, and with what confidence.
//!
//! Every function of this crate is a pure function of numbers, without files, clocks or texts. The
//! *utility* of a run is a natural logarithm, so a difference of 0.03 is 3 %.
//!
//! ```text
//! runs -> Utilities -> choose() -> Choice: scores, the set, its order
//!                        |
//!                        +-> repeat::predict(): would other random draws agree?
//! lines (gain, cost)  -> trade_off: at which price of delay does each algorithm lead?
//! flows of a run      -> measures: the figures of a run;  all combined: decision::decide()
//! draws of networks   -> population: is the choice good on networks like this one?
//! looks at growing n  -> sequence: may we stop?
//! ```
//!
//! The methods are those of ranking and selection: subset selection by paired differences with
//! common random numbers (Gupta 1965; Nelson and Matejcik 1995), an indifference zone (Bechhofer
//! 1954), and confidence sequences, which stay valid if the runs are evaluated repeatedly while
//! more are made (Lai 1976; Wang and Ramdas 2024).

pub mod decision;
pub mod measures;
pub mod paired;
pub mod population;
pub mod repeat;
pub mod select;
pub mod sequence;
pub mod student;
pub mod trade_off;
pub mod utilities;

pub use decision::{Bounds, Decision, decide, relative_change};
pub use measures::{FlowFigures, RunFigures, logarithms};
pub use paired::Difference;
pub use select::{Choice, Rule, Score, Thresholds, choose};
pub use trade_off::{Line, Span};
pub use utilities::Utilities;

/// Minimum number of paired runs for predicting the outcome of a new experiment.
pub const LEAST_PAIRS: usize = 6;
