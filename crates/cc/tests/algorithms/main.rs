//! Every algorithm against the papers' formulas and against the rules that the kernel enforces.

mod bic;
mod cubic;
mod flow;
mod highspeed;
mod hybla;
mod legal_sequences;
mod replay;
mod response_functions;
mod scalable;
