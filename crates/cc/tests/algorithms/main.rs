//! Every algorithm against the papers' formulas and against the rules that the kernel enforces.

mod bic;
mod compound;
mod cubic;
mod flow;
mod highspeed;
mod htcp;
mod hybla;
mod illinois;
mod legal_sequences;
mod lp;
mod path;
mod replay;
mod response_functions;
mod scalable;
mod vegas;
mod veno;
mod westwood;
mod westwood_2001;
mod yeah;
