//! Every algorithm against the papers' formulas and against the rules that the kernel enforces.

mod cubic;
mod flow;
mod highspeed;
mod legal_sequences;
mod replay;
mod response_functions;
