//! Every algorithm against the papers' formulas and against the rules that the kernel enforces.

mod bic;
mod compound;
mod cubic;
mod flow;
mod highspeed;
mod htcp;
mod hybla;
mod legal_sequences;
mod replay;
mod response_functions;
mod scalable;
mod westwood;
mod westwood_2001;
