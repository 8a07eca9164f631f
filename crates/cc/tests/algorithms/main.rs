//! Every algorithm against the papers' formulas and against the rules that the kernel enforces.

mod bbr;
mod bic;
mod cdg;
mod chance;
mod compound;
mod cubic;
mod dctcp;
mod flow;
mod highspeed;
mod htcp;
mod hybla;
mod legal_sequences;
mod nv;
mod replay;
mod response_functions;
mod scalable;
mod westwood;
mod westwood_2001;
