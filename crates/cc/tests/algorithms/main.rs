//! Every algorithm compared with the formulas of its papers and with the kernel's rules.

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
mod illinois;
mod legal_sequences;
mod lp;
mod nv;
mod path;
mod replay;
mod response_functions;
mod scalable;
mod vegas;
mod veno;
mod vivace;
mod westwood;
mod westwood_2001;
mod yeah;
