//! The registry: what each compiled C file says of itself.

use std::ffi::{CStr, c_char};
use std::fmt;
use std::sync::OnceLock;

use crate::ffi::{ABI, Description, NEEDS_ECN, Ops};
use crate::sock::TcpSock;

/// One line of the generated registry.
pub(crate) struct Source {
    description: *const Description,
    file: &'static str,
    sha256: &'static str,
}

// SAFETY: `description` points to a constant of a C file, which lives as long as the program.
unsafe impl Sync for Source {}

include!(concat!(env!("OUT_DIR"), "/registry.rs"));

/// An algorithm as read from its description. One that is loaded at run time becomes another of
/// these, leaked as its library is; nothing else distinguishes it.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) ops: &'static Ops,
    name: &'static str,
    description: &'static str,
    aliases: Vec<&'static str>,
    parameters: Vec<ParameterInfo>,
    phases: Vec<&'static str>,
    file: &'static str,
    sha256: &'static str,
}

/// A parameter of an algorithm.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParameterInfo {
    /// Its name in studies and in the C file.
    pub name: &'static str,
    /// Its unit, empty for a plain number.
    pub unit: &'static str,
    /// Its value where a study does not set it.
    pub default: i64,
    /// The lowest value allowed.
    pub min: i64,
    /// The highest value allowed.
    pub max: i64,
    /// What it does, in one line.
    pub doc: &'static str,
}

/// A handle to a congestion control algorithm.
#[derive(Clone, Copy)]
pub struct Algorithm(pub(crate) &'static Loaded);

impl Algorithm {
    /// The algorithm of this name or alias (`hstcp` is `highspeed`).
    pub fn by_name(name: &str) -> Option<Self> {
        Self::all().find(|a| a.name() == name || a.0.aliases.contains(&name))
    }

    /// Every algorithm, in the order of their names.
    pub fn all() -> impl ExactSizeIterator<Item = Self> + Clone {
        registry().iter().map(Self)
    }

    /// The kernel's name of it.
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// Other names that [`Algorithm::by_name`] takes.
    pub fn aliases(self) -> &'static [&'static str] {
        &self.0.aliases
    }

    /// What it does, in one line.
    pub fn description(self) -> &'static str {
        self.0.description
    }

    /// Its parameters, in the order of the C file.
    pub fn parameters(self) -> &'static [ParameterInfo] {
        &self.0.parameters
    }

    /// Names of what it reports in [`TcpSock::cc_phase`]; the first one is "none".
    pub fn phases(self) -> &'static [&'static str] {
        &self.0.phases
    }

    /// Name of the file in `algorithms/`.
    pub fn source_file(self) -> &'static str {
        self.0.file
    }

    /// SHA-256 of the source and of the headers that it includes, in hexadecimal digits.
    pub fn source_sha256(self) -> &'static str {
        self.0.sha256
    }

    /// Names of the hooks that it has, in the order of `struct tcp_congestion_ops`.
    pub fn hooks(self) -> Vec<&'static str> {
        let ops = self.0.ops;
        [
            ("ssthresh", ops.ssthresh.is_some()),
            ("cong_avoid", ops.cong_avoid.is_some()),
            ("set_state", ops.set_state.is_some()),
            ("cwnd_event", ops.cwnd_event.is_some()),
            ("in_ack_event", ops.in_ack_event.is_some()),
            ("pkts_acked", ops.pkts_acked.is_some()),
            ("min_tso_segs", ops.min_tso_segs.is_some()),
            ("cong_control", ops.cong_control.is_some()),
            ("undo_cwnd", ops.undo_cwnd.is_some()),
            ("sndbuf_expand", ops.sndbuf_expand.is_some()),
            ("init", ops.init.is_some()),
            ("release", ops.release.is_some()),
        ]
        .into_iter()
        .filter_map(|(name, is_there)| is_there.then_some(name))
        .collect()
    }

    /// It wants ECN negotiated on its connections.
    pub fn needs_ecn(self) -> bool {
        self.0.ops.flags & NEEDS_ECN != 0
    }
}

impl fmt::Debug for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Algorithm({})", self.name())
    }
}

impl PartialEq for Algorithm {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for Algorithm {}

fn registry() -> &'static [Loaded] {
    static REGISTRY: OnceLock<Vec<Loaded>> = OnceLock::new();
    REGISTRY.get_or_init(|| {
        let mut all: Vec<Loaded> = SOURCES
            .iter()
            // SAFETY: the build script names descriptions that `CC_DESCRIBE` defined.
            .map(|source| unsafe { read(&*source.description, source.file, source.sha256) })
            .collect();
        all.sort_by_key(|a| a.name);
        all
    })
}

/// Reads a description.
///
/// # Safety
/// `description` must be one that `CC_DESCRIBE` defined: its pointers are null or lead to constants
/// that live as long as the program, its counts are those of the arrays.
///
/// # Panics
/// If it is of another ABI or lacks a required hook; a test of the registry would show it.
unsafe fn read(
    description: &'static Description,
    file: &'static str,
    sha256: &'static str,
) -> Loaded {
    assert_eq!(description.abi, ABI, "{file}: another version of the contract");
    assert_eq!(description.tcp_sock_bytes as usize, size_of::<TcpSock>(), "{file}: another socket");
    // SAFETY: the table of hooks lives as long as the program, see above.
    let ops = unsafe { &*description.ops };
    assert!(
        ops.ssthresh.is_some() && ops.undo_cwnd.is_some(),
        "{file}: a required hook is missing"
    );
    assert!(ops.cong_avoid.is_some() || ops.cong_control.is_some(), "{file}: no window rule");
    // SAFETY: each pointer is null or a string, each count that of its array, see above.
    unsafe {
        Loaded {
            ops,
            name: text(ops.name.as_ptr()),
            description: text(description.summary),
            aliases: text(description.aliases).split_ascii_whitespace().collect(),
            parameters: slice(description.parameters, description.parameter_count)
                .iter()
                .map(|p| ParameterInfo {
                    name: text(p.name),
                    unit: text(p.unit),
                    default: i64::from(p.value),
                    min: i64::from(p.low),
                    max: i64::from(p.high),
                    doc: text(p.doc),
                })
                .collect(),
            phases: slice(description.phases, description.phase_count)
                .iter()
                .map(|&name| text(name))
                .collect(),
            file,
            sha256,
        }
    }
}

/// # Safety
/// `pointer` is null or leads to a string with a NUL that lives as long as the program.
unsafe fn text(pointer: *const c_char) -> &'static str {
    if pointer.is_null() {
        return "";
    }
    // SAFETY: see above.
    let bytes: &'static CStr = unsafe { CStr::from_ptr(pointer) };
    bytes.to_str().expect("algorithm files are UTF-8")
}

/// # Safety
/// `pointer` is null or leads to `count` values that live as long as the program.
unsafe fn slice<T>(pointer: *const T, count: u32) -> &'static [T] {
    if pointer.is_null() {
        return &[];
    }
    // SAFETY: see above.
    unsafe { std::slice::from_raw_parts(pointer, count as usize) }
}
