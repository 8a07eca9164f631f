//! The registry of algorithms: the descriptions in the compiled C files.

use std::ffi::{CStr, c_char};
use std::fmt;
use std::sync::OnceLock;

use crate::ffi::{ABI, Description, ECT_1_NEGOTIATION, NEEDS_ACCECN, NEEDS_ECN, Ops};
use crate::sock::TcpSock;

/// An entry of the generated registry.
pub(crate) struct Source {
    description: *const Description,
    file: &'static str,
    sha256: &'static str,
    text: &'static str,
}

// SAFETY: `description` points to a constant of a C file, which lives as long as the program.
unsafe impl Sync for Source {}

include!(concat!(env!("OUT_DIR"), "/registry.rs"));

/// An algorithm as described by its C file. If the algorithm was loaded at run time, its library
/// is never unloaded.
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
    text: &'static str,
}

/// A parameter of a congestion control algorithm.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParameterInfo {
    /// Name of the parameter in studies and in the C file.
    pub name: &'static str,
    /// Unit of the parameter; empty for a plain number.
    pub unit: &'static str,
    /// Value of the parameter if a study does not set it.
    pub default: i64,
    /// Lowest valid value.
    pub min: i64,
    /// Highest valid value.
    pub max: i64,
    /// Purpose of the parameter, in one line.
    pub doc: &'static str,
}

/// The reason why the description of an algorithm is rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ContractError {
    /// The file was compiled with another version of the header cc.h.
    #[error("{file}: this algorithm was compiled with another version of cc.h; compile it again")]
    OtherVersion {
        /// The source.
        file: &'static str,
    },
    /// The kernel would not accept the name of the algorithm.
    #[error(
        "{file}: the name \"{name}\" in CC_OPS is invalid; a name has 1 to 15 characters and \
        no spaces"
    )]
    Name {
        /// The source.
        file: &'static str,
        /// The name.
        name: &'static str,
    },
    /// The table of hooks lacks a required hook.
    #[error(
        "{file}: the hook {hook} is missing; CC_OPS needs .ssthresh, .undo_cwnd, and either \
         .cong_avoid or .cong_control"
    )]
    MissingHook {
        /// The source.
        file: &'static str,
        /// The missing hook.
        hook: &'static str,
    },
}

/// A handle to a congestion control algorithm.
#[derive(Clone, Copy)]
pub struct Algorithm(pub(crate) &'static Loaded);

impl Algorithm {
    /// Returns the algorithm with this name or alias (`hstcp` is an alias of `highspeed`).
    pub fn by_name(name: &str) -> Option<Self> {
        Self::all().find(|a| a.name() == name || a.0.aliases.contains(&name))
    }

    /// All built-in algorithms, sorted by name.
    pub fn all() -> impl ExactSizeIterator<Item = Self> + Clone {
        registry().iter().map(Self)
    }

    /// Name of the algorithm in the kernel.
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// Other names that [`Algorithm::by_name`] accepts.
    pub fn aliases(self) -> &'static [&'static str] {
        &self.0.aliases
    }

    /// Summary of the algorithm, in one line.
    pub fn description(self) -> &'static str {
        self.0.description
    }

    /// Parameters of the algorithm, in the order of the C file.
    pub fn parameters(self) -> &'static [ParameterInfo] {
        &self.0.parameters
    }

    /// Names of the values of [`TcpSock::cc_phase`]; the first name is "none".
    pub fn phases(self) -> &'static [&'static str] {
        &self.0.phases
    }

    /// Name of the algorithm's file in `algorithms/`.
    pub fn source_file(self) -> &'static str {
        self.0.file
    }

    /// Text of the algorithm's C file; empty if the algorithm was loaded at run time.
    pub fn source_text(self) -> &'static str {
        self.0.text
    }

    /// SHA-256 of the source and the headers that it may include, in hexadecimal; empty if the
    /// algorithm was loaded at run time.
    pub fn source_sha256(self) -> &'static str {
        self.0.sha256
    }

    /// Names of the implemented hooks, in the order of `struct tcp_congestion_ops`.
    pub fn hooks(self) -> Vec<&'static str> {
        self.0.ops.hooks()
    }

    /// Whether connections should negotiate ECN (`TCP_CONG_NEEDS_ECN`).
    pub fn needs_ecn(self) -> bool {
        self.0.ops.flags & NEEDS_ECN != 0
    }

    /// Whether connections should negotiate accurate ECN (RFC 9768).
    pub fn needs_accurate_ecn(self) -> bool {
        self.0.ops.flags & NEEDS_ACCECN != 0
    }

    /// Whether packets carry the L4S codepoint ECT(1) once ECN is negotiated (RFC 9331 section
    /// 4.1).
    pub fn sends_ect1(self) -> bool {
        self.0.ops.flags & ECT_1_NEGOTIATION != 0
    }
}

/// Path below `algorithms/` and text of each file that is needed to compile an algorithm at run
/// time.
pub fn contract_files() -> &'static [(&'static str, &'static str)] {
    &CONTRACT
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
            .map(|source| unsafe { (read(&*source.description, source.file), source) })
            .map(|(read, source)| Loaded {
                sha256: source.sha256,
                text: source.text,
                ..read.unwrap_or_else(|error| panic!("{error}"))
            })
            .collect();
        all.sort_by_key(|a| a.name);
        all
    })
}

/// Reads a description.
///
/// # Safety
/// `description` must be defined with `CC_DESCRIBE`: its pointers are null or point to constants
/// that live as long as the program, and its counts are the lengths of the arrays.
///
/// # Errors
/// Returns an error if the file was compiled with another version of the headers, its name is
/// invalid, or a required hook is missing.
pub(crate) unsafe fn read(
    description: &'static Description,
    file: &'static str,
) -> Result<Loaded, ContractError> {
    if description.abi != ABI || description.tcp_sock_bytes as usize != size_of::<TcpSock>() {
        return Err(ContractError::OtherVersion { file });
    }
    // SAFETY: the table of hooks lives as long as the program, see above.
    let ops = unsafe { &*description.ops };
    let required = [
        ("ssthresh", ops.ssthresh.is_some()),
        ("undo_cwnd", ops.undo_cwnd.is_some()),
        ("cong_avoid", ops.cong_avoid.is_some() || ops.cong_control.is_some()),
    ];
    if let Some(&(hook, _)) = required.iter().find(|(_, is_there)| !is_there) {
        return Err(ContractError::MissingHook { file, hook });
    }
    let has_end = ops.name.contains(&0);
    // SAFETY: the string has a final NUL, as checked above.
    let name = if has_end { unsafe { text(ops.name.as_ptr()) } } else { "without a final NUL" };
    if !has_end || name.is_empty() || name.contains(char::is_whitespace) {
        return Err(ContractError::Name { file, name });
    }
    // SAFETY: each pointer is null or a string, each count that of its array, see above.
    Ok(unsafe {
        Loaded {
            ops,
            name,
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
            sha256: "",
            text: "",
        }
    })
}

/// # Safety
/// `pointer` must be null or point to a NUL-terminated string that lives as long as the program.
unsafe fn text(pointer: *const c_char) -> &'static str {
    if pointer.is_null() {
        return "";
    }
    // SAFETY: see above.
    let bytes: &'static CStr = unsafe { CStr::from_ptr(pointer) };
    bytes.to_str().unwrap_or_else(|_| bytes.to_string_lossy().into_owned().leak())
}

/// # Safety
/// `pointer` must be null or point to `count` values that live as long as the program.
unsafe fn slice<T>(pointer: *const T, count: u32) -> &'static [T] {
    if pointer.is_null() {
        return &[];
    }
    // SAFETY: see above.
    unsafe { std::slice::from_raw_parts(pointer, count as usize) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_or_an_alias_finds_an_algorithm() {
        assert_eq!(Algorithm::by_name("hstcp"), Algorithm::by_name("highspeed"));
        assert_eq!(Algorithm::by_name("cubic").map(Algorithm::name), Some("cubic"));
        assert_eq!(Algorithm::by_name("Cubic"), None);
        assert_eq!(Algorithm::by_name(""), None);
    }

    #[test]
    fn names_and_aliases_are_unique_and_fit_the_kernel() {
        let mut names: Vec<&str> = Algorithm::all()
            .flat_map(|a| std::iter::once(a.name()).chain(a.aliases().iter().copied()))
            .collect();
        for name in Algorithm::all().map(Algorithm::name) {
            assert!((1..16).contains(&name.len()) && name.is_ascii(), "{name}");
            assert!(!name.contains(char::is_whitespace), "{name}");
        }
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn every_algorithm_describes_itself() {
        for algorithm in Algorithm::all() {
            let name = algorithm.name();
            assert_eq!(algorithm.source_file(), format!("{name}.c"));
            assert!(!algorithm.description().is_empty(), "{name}");
            assert_eq!(algorithm.source_sha256().len(), 64, "{name}");
            for parameter in algorithm.parameters() {
                assert!(!parameter.doc.is_empty(), "{name}: {}", parameter.name);
                assert!((parameter.min..=parameter.max).contains(&parameter.default), "{name}");
            }
            if let Some(first) = algorithm.phases().first() {
                assert_eq!(*first, "none", "{name}");
            }
        }
    }

    #[test]
    fn digests_differ_between_sources() {
        let mut digests: Vec<&str> = Algorithm::all().map(Algorithm::source_sha256).collect();
        digests.sort_unstable();
        digests.dedup();
        assert_eq!(digests.len(), Algorithm::all().len());
    }

    #[test]
    fn cubic_has_the_parameters_and_hooks_of_the_kernels() {
        let cubic = Algorithm::by_name("cubic").expect("cubic is there");
        let defaults: Vec<(&str, i64)> =
            cubic.parameters().iter().map(|p| (p.name, p.default)).collect();
        assert_eq!(
            defaults,
            [
                ("fast_convergence", 1),
                ("beta", 717),
                ("initial_ssthresh", 0),
                ("bic_scale", 41),
                ("tcp_friendliness", 1),
                ("max_increment", 0),
                ("hystart", 1),
                ("hystart_detect", 3),
                ("hystart_low_window", 16),
                ("hystart_ack_delta_us", 2000),
                ("slow_start", 1),
                ("saved_cwnd", 0),
                ("saved_rtt", 0),
            ]
        );
        assert_eq!(
            cubic.hooks(),
            [
                "ssthresh",
                "cong_avoid",
                "set_state",
                "cwnd_event",
                "pkts_acked",
                "undo_cwnd",
                "init"
            ]
        );
        assert!(!cubic.needs_ecn());
    }
}
